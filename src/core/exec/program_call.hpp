// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/runtime.hpp"
#include "core/exec/tensor.hpp"
#include "core/types/bounds.hpp"
#include "core/types/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace portops::impl {

/// What a call on a host has made of its weight, kept because the weight is a constant of a program and the next run
/// would make the same: one for each such call, which the compiled program owns.
class Prepared {
 public:
  /// What was made under this label or, the first time, is made now: make(memory) writes so many bytes, which are
  /// complete when it returns. Other threads wait for it.
  template <class Make>
  const void* get(const Context& ctx, const std::string& label, std::size_t bytes, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(label);
    if (found != made_.end()) return found->second.ref().data();
    const auto words = static_cast<std::int64_t>((bytes + sizeof(double) - 1) / sizeof(double));
    Tensor memory(ElementType::f64, {words}, default_memory_space(ctx.backend()));
    make(memory.ref().data());
    return made_.emplace(label, std::move(memory)).first->second.ref().data();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Tensor> made_;
};

/// The maxima that a program takes of a batch norm's result: of windows of side by side pixels, two apart, of which
/// side − 2 rows and columns lie in the padding in front. Whole images with their channels last, in device memory.
struct WindowMaxima {
  int side = 0;           ///< 2 or 3; 0: none are taken
  TensorRef values = {};  ///< of batch_norm the maxima, of its gradient the gradient with respect to them
  /// Of each, in the same order, which pixel of its window it is, counted row by row; null where nobody asks.
  std::uint8_t* taps = nullptr;
};

/// What a program knows of a call of a convolution, a batch norm, its gradient or a linear layer beside its arguments.
struct ProgramCall {
  Prepared* weight = nullptr;   ///< where the call keeps what it makes of its weight, if that is a constant
  TensorRef addend = {};        ///< what the call adds to its result, rounded before, or empty
  Bounds bounds = {};           ///< of that, or of the maxima
  bool is_behind_relu = false;  ///< of a batch norm's gradient: out_grad is with respect to relu of the result
  WindowMaxima maxima = {};     ///< in place of the result, or of out_grad

  bool says_something() const { return weight != nullptr || addend || bounds || is_behind_relu || maxima.side != 0; }
};

/// Tells the call that this thread makes while this lives: schemas and contexts have no room for what no caller gives.
class ProgramCallScope {
 public:
  explicit ProgramCallScope(const ProgramCall& call);
  ~ProgramCallScope();
  ProgramCallScope(const ProgramCallScope&) = delete;
  ProgramCallScope& operator=(const ProgramCallScope&) = delete;

  /// Of this thread; null where no program calls.
  static const ProgramCall* current();
};

}  // namespace portops::impl
