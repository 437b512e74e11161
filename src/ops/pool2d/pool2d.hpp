// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace portops {

/// The options of pool2d and pool2d_grad.
struct Pool2dParams {
  /// Of pool2d_grad alone: as pool2d gave it; needed for pooltype max.
  TensorRef index = {};
  /// The pixels of a window, down and across; one number stands for both. Positive.
  std::vector<std::int64_t> kernel_size = {1, 1};
  /// Pixels from one window to the next: down and across; one number stands for both. Positive. Empty: kernel_size.
  std::vector<std::int64_t> stride = {};
  /// Pixels around x that belong to windows and hold nothing: above and below, left and right (two numbers, or one for
  /// both), or above, left, below and right (four numbers). Not negative, at most half of kernel_size.
  std::vector<std::int64_t> padding = {0, 0};
  /// Whether a last window that reaches beyond the padded image counts, unless it begins behind the image.
  bool ceil_mode = false;
  /// Of pooltype avg: whether padding does not count as pixels.
  bool exclusive = true;
  /// max or avg.
  std::string pooltype = "max";
  /// Whether the window is the whole image; kernel_size, stride, padding and ceil_mode are then ignored.
  bool global_pooling = false;
};

/// One number for each window of images:
///
///   out[n, c, i, j]   = max x[n, c, h, w]         over the pixels of x in window (i, j), for pooltype max
///   index[n, c, i, j] = h · W + w                 where that was found
///   out[n, c, i, j]   = Σ x[n, c, h, w] / size    for pooltype avg
///
/// Window (i, j) has the rows i · stride[0] − top + [0, kernel_size[0]) and the columns j · stride[1] − left + [0,
/// kernel_size[1]). size is the number of its pixels in x if exclusive, else that of those in the padded image.
///
///   H' = (H + top  + bottom − kernel_size[0]) / stride[0] + 1    rounded down; up with ceil_mode
///   W' = (W + left + right  − kernel_size[1]) / stride[1] + 1
///
/// and 0 where that is less, or the image has no pixels along that axis. With ceil_mode a last window that begins
/// behind the image, in the padding, is left out.
///
/// x       [N, C, H, W], any extents and strides: channels-last images are read where they lie.
/// out     [N, C, H', W'].
/// index   i64 [N, C, H', W'], or an empty TensorRef; of pooltype max alone.
///
/// x and out have one element type: f64, f32, f16 or bf16. A maximum keeps its bits; the first of several equal ones
/// counts, a NaN is larger than everything, and the last of several NaN counts. Averages are accumulated in f32 (f64
/// for f64), by rows and over the rows, and rounded once; that of a whole image in a tree. Their error is within 2e-6
/// (f64: 1e-12) of the magnitudes summed for windows of up to 64 by 64, and of whole images. The same bits on every run
/// and for any number of threads, whether the context asks for it or not. Tensors without elements are valid.
///
/// Throws portops::Error, before anything is enqueued, when x has not four axes, an attribute is not as said above,
/// index is given for pooltype avg, an output has other extents, element types are others, a tensor is empty (not
/// given) or lies where the context's backend cannot reach it, an output is read-only, has two elements at one address,
/// or overlaps anything. Temporaries, of averages of whole images: from the library's pool or the context's workspace;
/// pool2d_workspace gives their size.
///
/// Semantics: torch.nn.functional.max_pool2d and avg_pool2d (count_include_pad is !exclusive), adaptive pools to 1 by
/// 1; Paddle's `pool2d` and `max_pool2d_with_index`.
PORTOPS_EXPORT void pool2d(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& index,
                           const Pool2dParams& params = {});

/// The gradient of pool2d:
///
///   x_grad[n, c, h, w] = Σ out_grad[n, c, i, j]         over the windows whose index is (h, w), for pooltype max
///   x_grad[n, c, h, w] = Σ out_grad[n, c, i, j] / size  over the windows that have the pixel, for pooltype avg
///
/// x          as in pool2d; its elements are not read: it may be TensorRef::without_data.
/// out_grad   the extents of out.
/// x_grad     the extents of x, or an empty TensorRef, and then nothing is done.
///
/// Each element of x_grad adds up its windows, row by row and over the rows, in f32 (f64 for f64), and is written once:
/// the same bits on every run and for any number of threads.
///
/// Throws portops::Error as pool2d does, and when index is not given for pooltype max; x_grad may not overlap anything.
///
/// Semantics: autograd's of the functions above.
PORTOPS_EXPORT void pool2d_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                                const TensorRef& x_grad, const Pool2dParams& params = {});

/// The bytes of workspace that the same call of pool2d needs.
PORTOPS_EXPORT std::size_t pool2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                            const TensorRef& index, const Pool2dParams& params = {});

}  // namespace portops
