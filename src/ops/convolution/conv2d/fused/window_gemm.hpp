// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <cstdint>

// weight_grad of conv2d on GPUs of compute capability 9.0 in f32: the product of gemm[sm90], which takes the windows
// from x. With a row of ones behind theirs it gives bias_grad too.

namespace portops::impl {

struct WindowGemmOperands {
  const float* x = nullptr;            ///< with its channels last, those of a pixel at multiples of 16 bytes
  PixelStrides x_strides{};            ///< in units of 16 bytes
  const float* out_grad = nullptr;     ///< a matrix with a row a pixel, rows, and those of groups, at multiples of 16
                                       ///< bytes; what fills up the last 16 bytes is read
  std::int64_t out_grad_distance = 0;  ///< from row to row
  float* sums = nullptr;               ///< [group][tap][channel of the group][output channel of the group]
  bool sums_out_grad = false;          ///< behind the last channel of the last tap, in the first of further_rows
};

/// Rows of `sums` behind the windows' where out_grad is summed too: these go in pairs.
inline constexpr std::int64_t further_rows = 2;

/// Whether sums of out_grad cost less than a pass of their own: they need no tile of their own, or one of many.
bool window_gemm_sums_out_grad(const Windows& windows);

/// Of so many multiprocessors.
std::size_t window_gemm_workspace(const Windows& windows, int multiprocessors, bool sums_out_grad);

/// Enqueues the product. `rounds`: numbers may be rounded to 16 significant bits, more than tf32 has; else its error is
/// that of f32. The stream is a cudaStream_t, whose device is the current one.
void multiply_windows(void* stream, int multiprocessors, const Windows& windows, const WindowGemmOperands& operands,
                      bool rounds, Workspace workspace);

}  // namespace portops::impl
