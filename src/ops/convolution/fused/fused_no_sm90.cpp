// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/fused/fused.hpp"

// Builds without the fused path.

namespace portops::impl {

bool can_fuse(const Context& /*ctx*/, const Windows& /*windows*/, const ConvolutionTensors& /*tensors*/) {
  return false;
}

std::vector<FusedForm> fused_forms(const Context& /*ctx*/, const FusedKernels& /*kernels*/, const FusedCall& /*call*/) {
  return {};
}

void convolve_fused(const Context& /*ctx*/, const FusedKernels& /*kernels*/, std::span<const FusedCall> /*calls*/,
                    const std::optional<FusedForm>& /*form*/) {}

std::size_t fused_workspace(const Context& /*ctx*/, const FusedKernels& /*kernels*/,
                            std::span<const FusedCall> /*calls*/) {
  return 0;
}

}  // namespace portops::impl
