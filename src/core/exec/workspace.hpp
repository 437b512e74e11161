// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

namespace portops::impl {

/// Memory for a call's temporaries, valid for everything that the call enqueues on the context's instance while this
/// lives: from the workspace that the context lends, else from the library's pool. Neither taking nor returning it
/// waits for the device, and both can be captured in a CUDA graph.
class Temporary {
 public:
  /// `label` is portops::op::what. Throws Error when the lent workspace is smaller than `bytes` or misaligned, and
  /// when there is no memory.
  Temporary(const Context& ctx, const char* label, std::size_t bytes);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void* data() const { return data_; }

 private:
  Context ctx_;
  const char* label_;
  std::size_t bytes_;
  void* data_ = nullptr;
  bool lent_ = false;
};

}  // namespace portops::impl
