// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/fail.hpp"

#include <cuda_runtime_api.h>

#include <string_view>

// How CUDA is called: by whoever calls its runtime directly.

namespace portops::impl {

/// Throws Error where a call of CUDA failed: "LABEL: CALL failed: …", with CUDA's own words.
inline void check_cuda(cudaError_t status, std::string_view label, std::string_view call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // it has been reported, and must not be found by whoever asks next
  fail(label, ": ", call, " failed: ", cudaGetErrorString(status));
}

/// Lets this thread make calls, while it lives, that have nothing to do with the graphs that it, or another thread, is
/// capturing: such as those that allocate or ask whether something is done, which otherwise invalidate them.
class BesideCaptures {
 public:
  BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace portops::impl
