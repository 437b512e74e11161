// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/scopes.hpp"

#include "autograd/node.hpp"

#include <utility>

namespace portops {
namespace impl {

Scopes& scopes() {
  thread_local Scopes all;
  return all;
}

}  // namespace impl

namespace autograd {

NoGradients::NoGradients() : before_(std::exchange(impl::scopes().remembers, false)) {}
NoGradients::~NoGradients() { impl::scopes().remembers = before_; }

FindNan::FindNan() : before_(std::exchange(impl::scopes().finds_nan, true)) {}
FindNan::~FindNan() { impl::scopes().finds_nan = before_; }

SavedTensorHooks::SavedTensorHooks(Pack pack, Unpack unpack)
    : before_(std::exchange(impl::scopes().hooks,
                            std::make_shared<const Pair>(Pair{std::move(pack), std::move(unpack)}))) {}
SavedTensorHooks::~SavedTensorHooks() { impl::scopes().hooks = std::move(before_); }

}  // namespace autograd
}  // namespace portops
