// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/macros.hpp"

#include <any>
#include <functional>
#include <memory>

namespace portops::autograd {

// Each of these changes what the calls of its host thread do, from where it is made to the end of its scope.

/// Calls are not remembered: what they return is made from nothing. Leaves may be changed in place.
class NoGradients {
 public:
  PORTOPS_EXPORT NoGradients();
  PORTOPS_EXPORT ~NoGradients();
  NoGradients(const NoGradients&) = delete;
  NoGradients& operator=(const NoGradients&) = delete;

 private:
  bool before_;
};

/// Every call, and every gradient within `backward` and `gradients`, is waited for, and what it computed is read on the
/// host: the first in which a NaN appears is an Error that names the operator and the tensor. Slow; not to be captured
/// in a CUDA graph.
class FindNan {
 public:
  PORTOPS_EXPORT FindNan();
  PORTOPS_EXPORT ~FindNan();
  FindNan(const FindNan&) = delete;
  FindNan& operator=(const FindNan&) = delete;

 private:
  bool before_;
};

/// What calls would keep for their gradients is handed to `pack`, and what that gives is kept in its place; a backward
/// pass hands it to `unpack`, once for each keeping, and reads what comes back. The tensor that `unpack` gives has the
/// element type, the extents and the elements of the one that `pack` was given, or the pass throws Error. A pair that
/// copies to the host and back keeps less on a GPU; one that computes anew keeps nothing (see `checkpoint`). Of what is
/// kept for its extents alone neither is called. Scopes may be nested: the innermost one counts.
class SavedTensorHooks {
 public:
  using Pack = std::function<std::any(const Context& ctx, const Variable& tensor)>;
  using Unpack = std::function<Variable(const Context& ctx, const std::any& packed)>;

  PORTOPS_EXPORT SavedTensorHooks(Pack pack, Unpack unpack);
  PORTOPS_EXPORT ~SavedTensorHooks();
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;

  struct Pair {
    Pack pack;
    Unpack unpack;
  };

 private:
  std::shared_ptr<const Pair> before_;
};

}  // namespace portops::autograd
