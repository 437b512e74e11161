// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/reduce/reduce_plan.hpp"

#include <cstddef>
#include <cstdint>

namespace portops::impl {

/// What a call of cross_entropy_with_softmax, or of its gradient, works on.
struct CrossEntropyPlan {
  /// Operands: logits, soft labels if there are any, logits_grad of the gradient, and then those with one element a
  /// row, at the places below. All strides count elements of the call's type.
  ReducePlan rows;
  int label = 0;        ///< classes, of i64; where labels are soft, no data
  int log_sum_exp = 0;  ///< f64
  int loss = 0;         ///< each row's; of the gradient loss_grad
  bool soft = false;
  bool backwards = false;  ///< the plan counts the classes from the last one
  bool streaming = false;  ///< a large logits_grad is streamed past a host's caches
  std::int64_t classes = 1;
  std::int64_t ignore_index = 0;

  void* sum = nullptr;  ///< the losses added up; null: each goes to its own place
  bool mean = false;    ///< and divided by `count`
  std::int64_t* count =
      nullptr;  ///< the labels that are not ignored, or null; of the gradient, what the mean divides by
};

/// The temporaries of the forward operator, in bytes from their beginning.
struct CrossEntropyMemory {
  CrossEntropyMemory(const CrossEntropyPlan& plan, ElementType type);

  std::size_t states = 0;
  std::size_t losses = 0;  ///< of rows, where they are added up
  std::size_t sums = 0;    ///< of the parts of these
  std::size_t bytes = 0;
};

/// Of so many rows, those whose losses one team or thread adds up: all, where that takes no longer than another kernel.
constexpr std::int64_t rows_of_loss_sum(std::int64_t rows) { return rows <= 8192 ? 8192 : 2048; }

/// The launches on one backend for one element type. Defined in …_kernels_impl.hpp, and compiled once for each pair.
template <Backend B, class T>
struct CrossEntropyWithSoftmaxKernels {
  static void run(const Context& ctx, const CrossEntropyPlan& plan);
};
template <Backend B, class T>
struct CrossEntropyWithSoftmaxGradKernels {
  static void run(const Context& ctx, const CrossEntropyPlan& plan);
};

}  // namespace portops::impl
