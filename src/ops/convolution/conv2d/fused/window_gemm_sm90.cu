// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/fused/window_gemm.hpp"

#include "blas/gemm_launches_sm90.hpp"
#include "core/lanes/divide.hpp"

#include <limits>

namespace portops::impl {
namespace {

using namespace blas::gemm_sm90;

/// op(a): a row for each element of a group's windows, tap by tap, channels fastest, and the pixels of all images along
/// the inner axis. Behind them may be a row of ones.
class WindowElements {
 public:
  static constexpr bool turned = true;
  static constexpr bool loads_before_product = false;

  WindowElements(const Windows& windows, const float* x, const PixelStrides& strides, bool has_ones)
      : x_(x),
        image_(narrow(strides.image)),
        row_(narrow(strides.y)),
        column_(narrow(strides.x)),
        height_(narrow(windows.height)),
        width_(narrow(windows.width)),
        top_(narrow(windows.top)),
        left_(narrow(windows.left)),
        stride_y_(narrow(windows.stride_y)),
        stride_x_(narrow(windows.stride_x)),
        dilation_y_(narrow(windows.dilation_y)),
        dilation_x_(narrow(windows.dilation_x)),
        all_pixels_(narrow(windows.images * windows.pixels())),
        rows_(narrow(windows.group_column())),
        row_of_ones_(has_ones ? rows_ : INT32_MAX),
        pixels_(static_cast<std::uint32_t>(windows.pixels())),
        out_width_(static_cast<std::uint32_t>(windows.out_width)),
        channels_(static_cast<std::uint32_t>(windows.group_channels())),
        kernel_width_(static_cast<std::uint32_t>(windows.kernel_width)) {}

  class Fragment : public RowPairs<turned> {
   public:
    __device__ __forceinline__ void begin(const WindowElements& a, std::int64_t product, std::int64_t,
                                          std::int64_t line, std::int64_t k) {
      const auto element = static_cast<std::uint32_t>(line + first_row());
      const std::uint32_t tap = a.channels_.quotient(element);
      const std::uint32_t tap_y = a.kernel_width_.quotient(tap), tap_x = tap - tap_y * a.kernel_width_.value();
      y_ = static_cast<int>(tap_y) * a.dilation_y_ - a.top_;
      x_ = static_cast<int>(tap_x) * a.dilation_x_ - a.left_;
      const std::int64_t channel = product * a.channels_.value() + element - tap * a.channels_.value();
      from_ = a.x_ + channel + 4 * (std::int64_t{y_} * a.row_ + std::int64_t{x_} * a.column_);
      if (element >= static_cast<std::uint32_t>(a.rows_)) y_ = nowhere;
      nothing_ = element == static_cast<std::uint32_t>(a.row_of_ones_) ? 1.0f : 0.0f;
      pixel_ = static_cast<int>(k);
    }

    /// Each lane finds one of the step's pixels for all lanes of its warp.
    __device__ __forceinline__ void load(const WindowElements& a) {
      static_assert(depth == 32);
      const auto pixel = static_cast<std::uint32_t>(pixel_) + threadIdx.x % 32;
      const std::uint32_t image = a.pixels_.quotient(pixel), in_image = pixel - image * a.pixels_.value();
      const std::uint32_t y = a.out_width_.quotient(in_image), x = in_image - y * a.out_width_.value();
      const int row = static_cast<int>(y) * a.stride_y_, column = static_cast<int>(x) * a.stride_x_;
      const int unit = static_cast<int>(image) * a.image_ + row * a.row_ + column * a.column_;
      const int place = static_cast<int>(pixel) < a.all_pixels_ ? row << 16 | column : nowhere;
#pragma unroll
      for (int k = 0; k < instructions; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int lane = first_inner() + 16 * k + 8 * (i / 2) + i % 2;
          const int own_unit = __shfl_sync(0xffffffffu, unit, lane), own_place = __shfl_sync(0xffffffffu, place, lane);
          const std::uint32_t in_row = static_cast<std::uint32_t>(own_place >> 16) + static_cast<std::uint32_t>(y_);
          const auto in_column = static_cast<std::uint32_t>((own_place & 0xffff) + x_);
          const bool is_there =
              in_row < static_cast<std::uint32_t>(a.height_) && in_column < static_cast<std::uint32_t>(a.width_);
          pairs[k][i] = is_there ? *reinterpret_cast<const float2*>(from_ + 4 * std::int64_t{own_unit})
                                 : make_float2(nothing_, 0.0f);
        }
      }
      pixel_ += depth;
    }

   private:
    /// A row of x that no tap reaches from anywhere, as a place of 16 bits and as a tap's.
    static constexpr int nowhere = INT32_MIN;

    const float* from_;  ///< of the tap in the window that begins at the first pixel of x
    int y_, x_;          ///< of the tap, from where a window begins in x
    int pixel_;          ///< the first of the step
    float nothing_;      ///< what the first row of the pair has where there is no pixel of x
  };

 private:
  static int narrow(std::int64_t value) { return static_cast<int>(value); }

  const float* x_;
  int image_, row_, column_;  ///< strides of x
  int height_, width_, top_, left_, stride_y_, stride_x_, dilation_y_, dilation_x_;
  int all_pixels_, rows_, row_of_ones_;
  Divisor pixels_, out_width_, channels_, kernel_width_;
};

Shape shape_of(const Windows& windows, bool sums_out_grad) {
  return {windows.group_column() + (sums_out_grad ? further_rows : 0), windows.group_out_channels(),
          windows.images * windows.pixels(), windows.groups};
}

}  // namespace

bool window_gemm_sums_out_grad(const Windows& windows) {
  constexpr std::int64_t many = 16;
  return windows.group_column() % side != 0 || windows.group_column() >= many * side;
}

std::size_t window_gemm_workspace(const Windows& windows, int multiprocessors, bool sums_out_grad) {
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  return plan_of(shape_of(windows, sums_out_grad), multiprocessors, any).bytes();
}

void multiply_windows(void* stream, int multiprocessors, const Windows& windows, const WindowGemmOperands& operands,
                      bool rounds, Workspace workspace) {
  const Shape shape = shape_of(windows, operands.sums_out_grad);
  const Plan plan = plan_of(shape, multiprocessors, workspace.bytes);
  GemmArguments arguments{.rows = shape.rows,
                          .b = {operands.out_grad, operands.out_grad_distance, shape.columns, shape.columns},
                          .c = operands.sums,
                          .c_row = shape.columns,
                          .c_column = 1,
                          .c_batch = shape.rows * shape.columns,
                          .rows_in_pairs = WindowElements::turned,
                          .has_pairs = shape.columns % 2 == 0,
                          .inner = shape.inner,
                          .alpha = 1.0f,
                          .beta = 0.0f};
  follow(plan, workspace.data, arguments);
  const auto run = rounds ? &launch<WindowElements, true, false, Precision::f32_16>
                          : &launch<WindowElements, true, false, Precision::f32>;
  run("portops::conv2d_grad::weight_grad[fused]", static_cast<cudaStream_t>(stream), plan, arguments,
      WindowElements(windows, operands.x, operands.x_strides, operands.sums_out_grad));
}

}  // namespace portops::impl
