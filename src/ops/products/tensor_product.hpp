// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/program_call.hpp"
#include "core/loop/loop.hpp"
#include "core/types/tensor_ref.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Matrix products of tensors of any strides: what the operators of this family and their gradients are.

namespace portops::impl {

/// The operators of this family, by which kernels are labelled.
enum class ProductOperator : std::uint8_t { matmul, matmul_grad, linear, linear_grad };

std::string_view name_of(ProductOperator op);

/// c = Σ a · b, or Σ a · b + bias, with the bias spread over all axes of c but the last.
///
/// What a gradient sums over the batch is an inner axis as any other, and a matrix that many products share makes rows
/// or columns of them: so products are few and large. Axes of extent 1 are left out, and neighbours merged.
struct TensorProduct {
  /// The tensors, as they are numbered.
  enum Tensors : std::uint8_t { a, b, c };
  /// What an axis is to the product.
  enum Kinds : std::uint8_t {
    batch,    ///< of all three tensors
    rows,     ///< of a and c
    columns,  ///< of b and c
    inner     ///< of a and b: what is summed over
  };

  /// The strides of the tensors along the axis, in elements; 0 where one lacks it.
  struct Axis {
    std::int64_t extent = 1;
    std::array<std::int64_t, 3> stride{};
  };
  using Axes = std::vector<Axis>;

  std::array<TensorRef, 3> tensor;
  TensorRef bias;              ///< of one axis, or empty
  Prepared* kept_b = nullptr;  ///< where a program keeps what is made of b; may be null
  std::array<Axes, 4> axes{};

  /// Elements along all axes of a kind.
  std::int64_t extent(Kinds kind) const;
};

/// a is […, M, K], b […, K, N] and c […, M, N]. The axes before those of the matrices broadcast together, aligned at
/// the last one; where they do so to more than c has, c is summed.
TensorProduct make_tensor_product(const TensorRef& a, const TensorRef& b, const TensorRef& c,
                                  const TensorRef& bias = {});

/// Makes one axis of two wherever all strides allow it.
void merge_axes(TensorProduct::Axes& axes);

/// The bytes of workspace that the product needs.
std::size_t tensor_product_workspace(const Context& ctx, const TensorProduct& product);

/// Enqueues the product, with temporaries from the workspace that the context lends, or else from the pool.
void multiply(const Context& ctx, ProductOperator op, const TensorProduct& product);

/// The gradients of a call that are wanted: products, and that of a bias, which is summed.
struct ProductGradients {
  std::vector<TensorProduct> products;
  std::optional<Loop> of_bias;  ///< terms · 1

  /// The bytes of workspace that they need, one after the other.
  std::size_t workspace(const Context& ctx) const;
};

/// Enqueues them. Memory is taken at once for all, so that too small a workspace is refused before anything is
/// enqueued.
void multiply(const Context& ctx, ProductOperator op, const ProductGradients& gradients);

/// The tensor with its last two axes exchanged.
TensorRef transposed(const TensorRef& tensor);

}  // namespace portops::impl
