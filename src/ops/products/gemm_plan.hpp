// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm.hpp"
#include "core/copy/strided_copy.hpp"
#include "core/exec/memory_layout.hpp"
#include "ops/products/tensor_product.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace portops::impl {

/// The labels of an operator's copies and temporaries, made once.
struct ProductLabels {
  explicit ProductLabels(const std::string& op) : copies(op), workspace("portops::" + op + "::workspace") {}

  CopyLabels copies;
  std::string workspace;
};

/// Writes the bias to all of c.
void spread_bias(const Context& ctx, const ProductLabels& labels, const TensorProduct& product);

/// How the matrix products of blas compute one of tensors. They take a tensor as it lies where its matrices have rows
/// or columns without gaps; others are copied, and so are those whose inner axes do not make one. What does not make
/// one axis of rows, columns or batch becomes several batches, one after the other.
class GemmPlan {
 public:
  /// For a product of one element and one term or more.
  GemmPlan(const Context& ctx, const TensorProduct& product);

  std::size_t workspace() const { return layout_.bytes(); }
  /// Whether it is one product, of tensors as they lie.
  bool is_direct() const { return is_copied_ == std::array<bool, 3>{} && launches() == 1; }
  /// What a GPU reads and writes in the time that a launch of products, or of a copy or a sum, takes at least: some 5
  /// us, and 1.
  static constexpr std::int64_t bytes_of_products = 16 << 20, bytes_of_pass = 3 << 20;
  /// Read and written by copies, and what could be meanwhile for each launch.
  std::int64_t bytes_beside_products() const;
  void run(const Context& ctx, const ProductLabels& labels, void* memory) const;

 private:
  using Tensors = TensorProduct::Tensors;
  using Axis = TensorProduct::Axis;

  /// Finds the matrices, given what is copied; says of what else a copy is needed.
  std::optional<Tensors> find_matrices();
  /// The batches that are enqueued one after the other.
  std::int64_t launches() const;
  /// Has a tensor copied where this makes one batch of several, which are worth more.
  void join_batches();
  /// The same plan with a copy of the tensor, which has elements of its own along a batch that it is broadcast along;
  /// nothing where others would have to be copied then.
  std::optional<GemmPlan> with_copy(Tensors tensor) const;
  std::vector<Axis*> axes_in_copy(TensorProduct& product, Tensors tensor) const;
  std::int64_t copied_elements(Tensors tensor) const;
  void* data_of(Tensors tensor, void* memory) const;
  void copy(const Context& ctx, const ProductLabels& labels, Tensors tensor, void* memory) const;
  void multiply(const Context& ctx, void* memory, double beta, const TensorRef& bias) const;

  TensorProduct product_;
  std::array<bool, 3> is_copied_{}, is_spread_{};  ///< spread: a copy that is not broadcast along the batch
  Axis row_, column_, inner_;
  TensorProduct::Axes batch_;  ///< the last one is that of blas::Batch
  bool is_turned_ = false;     ///< whether c lies by columns: then its transpose is computed

  MemoryLayout layout_;
  std::array<TemporaryArray, 3> copies_;
  TemporaryArray gemm_;
};

}  // namespace portops::impl
