// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace portops {

namespace impl {
class VariableData;
struct Value;
}  // namespace impl

namespace autograd {

/// Whether a variable that is made from a tensor is one that gradients are wanted of. `sparse`: of a table, from which
/// calls look up rows (embedding); what `backward` brings from these calls are rows and values.
enum class Gradient : std::uint8_t { none, wanted, sparse };

struct SparseGradient;

/// A tensor that calls of portops::autograd are made on, which remember how it was made. Copies are cheap and are the
/// same variable. A variable is a *leaf* when no call made it; a leaf whose gradient is wanted gets it from `backward`.
///
/// What calls return owns its memory, which comes from the library's stream-ordered pool and goes back to it, on the
/// instance of the call that made it, with the last variable, and the last call to keep it for its gradient: a stream
/// of CUDA must live that long, and calls on other instances that still read it must be done. A variable made from a
/// TensorRef owns nothing: the tensor must live until the gradients of the calls on it are computed.
/// Variables that are made from one tensor do not hear of each other's changes; copies and detached ones do.
///
/// Several host threads may use a variable at once, except to change it: by calls in place, `clear_grad`,
/// `set_grad`, `on_gradient`.
class Variable {
 public:
  /// Empty: an optional input that is not given, a gradient that is not there.
  Variable() = default;
  /// A tensor of the caller's. Throws Error where a gradient is wanted of indices (i64), or of no tensor.
  PORTOPS_EXPORT Variable(const TensorRef& tensor,  // NOLINT: implicit by design: a constant of a call
                          Gradient gradient = Gradient::none);
  /// A ragged one.
  PORTOPS_EXPORT Variable(const TensorRef& tensor, const Levels& levels, Gradient gradient = Gradient::none);
  /// Shares the elements of the tensor.
  PORTOPS_EXPORT Variable(const Tensor& tensor,  // NOLINT: implicit by design
                          Gradient gradient = Gradient::none);
  PORTOPS_EXPORT Variable(const Tensor& tensor, const Levels& levels, Gradient gradient = Gradient::none);
  /// A Kokkos::View, a DLPack tensor, or what else TensorAdapter is specialised for.
  template <AdaptableTensor T>
  Variable(const T& tensor, Gradient gradient = Gradient::none)  // NOLINT: implicit by design
      : Variable(TensorRef(tensor), gradient) {}
  /// A contiguous tensor of the library's own, uninitialised.
  PORTOPS_EXPORT Variable(const Context& ctx, ElementType type, const Extents& extents,
                          Gradient gradient = Gradient::none);

  /// False for an empty variable.
  explicit operator bool() const { return data_ != nullptr; }
  /// The elements, for plain calls, which are not remembered. Empty for an empty variable.
  PORTOPS_EXPORT const TensorRef& tensor() const;
  /// No levels where it is not ragged.
  PORTOPS_EXPORT const Levels& levels() const;
  RaggedRef ragged() const { return {tensor(), levels()}; }

  /// Whether calls on it are remembered: its own gradient is wanted, or that of something it was made from.
  PORTOPS_EXPORT bool wants_gradient() const;
  /// Whether no remembered call made it.
  PORTOPS_EXPORT bool is_leaf() const;
  /// Of a leaf: the sum of what the calls of `backward` have brought; empty before the first, and where the gradient is
  /// sparse.
  PORTOPS_EXPORT Variable grad() const;
  /// Of a leaf whose gradient is wanted sparse, the same; empty once a dense gradient has come as well: then grad() is
  /// the sum of both.
  PORTOPS_EXPORT SparseGradient sparse_grad() const;
  /// Gives up the gradient of a leaf, so that the next one is not added to it.
  PORTOPS_EXPORT void clear_grad();
  /// Of a leaf: puts another gradient in the place of the one that it has, such as the sum over several processes; it
  /// is shared, not copied. Throws Error where no gradient of it is wanted, it is no leaf, or the element type or the
  /// extents are not those of the leaf.
  PORTOPS_EXPORT void set_grad(const Variable& gradient);
  /// The same where a sparse gradient is wanted; it is merged, as SparseGradient says. Throws Error too where a part of
  /// it is empty.
  PORTOPS_EXPORT void set_grad(const SparseGradient& gradient);
  /// Of a leaf: whether its gradient is wanted sparse.
  PORTOPS_EXPORT bool wants_sparse_gradient() const;
  /// Of a leaf: has `hook` called within `backward` once its gradient is complete, while others are still to come. An
  /// empty function takes the hook away. Throws Error where no gradient of it is wanted, or it is no leaf.
  PORTOPS_EXPORT void on_gradient(std::function<void(const Variable& leaf)> hook);

  /// The same elements, not remembered.
  PORTOPS_EXPORT Variable detach() const;
  /// Says that something other than a call of portops::autograd, `by`, has changed the elements: gradients that would
  /// read them are then refused. `by` must live as long as the memory does.
  PORTOPS_EXPORT void mark_changed(const char* by) const;

  /// For the library's own use.
  explicit Variable(std::shared_ptr<impl::VariableData> data) : data_(std::move(data)) {}
  const std::shared_ptr<impl::VariableData>& data() const { return data_; }

 private:
  std::shared_ptr<impl::VariableData> data_;
};

/// A gradient of rows of a table, merged: values[i] is that of the table's row rows[i], for i < count; rows ascend, and
/// what lies behind count is no row of the table. sparse_sgd, sparse_momentum and sparse_adam take it as it is.
struct SparseGradient {
  Variable rows;    ///< i64 [n]
  Variable values;  ///< [n, …]
  Variable count;   ///< i64 []

  explicit operator bool() const { return static_cast<bool>(rows); }
};

/// The sparse gradient of a table of `height` rows, merged from rows in any order, each of which may occur several
/// times: rows of one place are added up in the order of their positions, in f32 (f64 for f64), rounded once. Where
/// rows[i] is height there is no row.
///
/// rows     i64 [n], from 0 to height.
/// values   [n, width], f64, f32, f16 or bf16.
///
/// Throws Error as the operator embedding_sparse_gradient does, and in a build without it.
PORTOPS_EXPORT SparseGradient merge_sparse(const Context& ctx, std::int64_t height, const Variable& rows,
                                           const Variable& values);

/// A variable, or a number that stands for a tensor of that value and of extents [].
class VariableOrNumber {
 public:
  VariableOrNumber(double number) : number_(number) {}  // NOLINT: implicit by design
  VariableOrNumber(Variable variable) : variable_(std::move(variable)), is_variable_(true) {}  // NOLINT: as above
  VariableOrNumber(const TensorRef& tensor) : VariableOrNumber(Variable(tensor)) {}            // NOLINT: as above
  template <AdaptableTensor T>
  VariableOrNumber(const T& tensor) : VariableOrNumber(Variable(tensor)) {}  // NOLINT: as above

  bool is_variable() const { return is_variable_; }
  /// Empty when this is a number.
  const Variable& variable() const { return variable_; }
  double number() const { return number_; }
  TensorOrNumber operand() const { return is_variable_ ? TensorOrNumber(variable_.tensor()) : TensorOrNumber(number_); }

 private:
  Variable variable_;
  double number_ = 0.0;
  bool is_variable_ = false;
};

}  // namespace autograd
}  // namespace portops
