// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// x_grad of conv2d: convolutions of out_grad with the turned weight, or, where x_grad_by_columns.hpp says so, columns.

namespace portops::impl {

/// The weight of one group with its two kinds of channels exchanged and its taps backwards, as it lies: [C, M, K, L].
TensorRef turned_weight(const Windows& windows, const TensorRef& weight);

/// Along an axis, the pixels of x that lie `stride` apart, and the taps that reach them from some pixel of out_grad:
///
///   x_grad[first + i · stride] = Σ turned[tap + t · tap_step] · out_grad[i − before + t · dilation]
struct Phase {
  std::int64_t first, extent;
  std::int64_t tap, tap_step, taps;
  std::int64_t before, dilation;
};

/// Those that any tap reaches: at most one a tap. `before` is the padding, `extent` that of x.
std::vector<Phase> phases_of(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t before,
                             std::int64_t dilation);

/// Needs windows: no extent is 0. `is_padded`: what fills up the last 16 bytes of out_grad's pixels is there, and is 0.
void conv2d_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                   bool is_padded, const TensorRef& x_grad);
/// Whether it reads out_grad with its channels last, on a GPU, there or in a copy.
bool x_grad_wants_channels_last(const Context& ctx, const Windows& windows, const TensorRef& weight,
                                const TensorRef& out_grad, const TensorRef& x_grad);
std::size_t x_grad_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight,
                             const TensorRef& out_grad, bool is_padded, const TensorRef& x_grad);

}  // namespace portops::impl
