// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_calls.hpp"
#include "ops/convolution/conv2d/fused/resident_layout.hpp"
#include "ops/convolution/fused/fused_blocks_sm90.hpp"

#include <cuda.h>
#include <algorithm>

// x and the weight as the engine for tensor copies sees them. For conv2d_sm90.cu and patch_products_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// A pixel of out, image by image and row by row.
__device__ inline Pixel locate_in_order(const Windows& windows, std::int64_t index) {
  const std::int64_t image = quotient(index, windows.pixels());
  const std::int64_t in_image = index - image * windows.pixels();
  const std::int64_t y = quotient(in_image, windows.out_width);
  return {image, y, in_image - y * windows.out_width};
}

constexpr int unit_bytes = 16;

/// A function of the driver, with which this library is not linked, or null where it has none of that name.
template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  constexpr unsigned version = 12000;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && status == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(found) : nullptr;
}

inline void check_map(CUresult status, const char* call) {
  if (status != CUDA_SUCCESS) fail("portops::conv2d: ", call, " failed: CUDA error ", static_cast<int>(status));
}

inline CUtensorMapDataType map_type(ElementType type) {
  switch (type) {
    case ElementType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ElementType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

using TiledEncode = decltype(&cuTensorMapEncodeTiled);
inline TiledEncode tiled_encode() {
  static const auto function = driver_function<TiledEncode>("cuTensorMapEncodeTiled");
  return function;
}

/// Copies what the barrier has been told to expect: a box of a tensor.
__device__ __forceinline__ void copy_box(const CUtensorMap& map, const blas::sm90::Barrier& barrier, SharedAddress to,
                                         int first, int x, int y, int last) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5}], [%6];" ::"r"(to),
      "l"(&map), "r"(first), "r"(x), "r"(y), "r"(last), "r"(barrier.address())
      : "memory");
}

/// What a copy brings: of some pixels of out, in order, some channels of the pixel of x under one tap of their windows;
/// or those of all pixels of x in the windows of a patch. Swizzled as products want them, with zeros where the pixel or
/// the channel is not in x.
class WindowMap {
 public:
  WindowMap() = default;
  /// Of so many bytes of channels: 32, 64 or 128. Throws Error where CUDA refuses it.
  WindowMap(const FusedConvolution& convolution, int bytes) {
    const auto& [windows, plan, operands] = convolution;
    const auto number = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
    const cuuint64_t extents[] = {number(channels_of_x(convolution)), number(windows.width), number(windows.height),
                                  number(windows.images)};
    const auto [image, row, pixel] = strides_of_x(convolution);
    const cuuint64_t strides[] = {number(pixel * unit_bytes), number(row * unit_bytes), number(image * unit_bytes)};
    const auto channels = static_cast<cuuint32_t>(bytes / static_cast<int>(size_of(plan.type)));
    const CUtensorMapSwizzle swizzle = bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                       : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                     : CU_TENSOR_MAP_SWIZZLE_32B;
    if (plan.residence == Residence::patches) {
      const PatchWindow patch(windows);
      const cuuint32_t box[] = {channels, static_cast<cuuint32_t>(patch.width), static_cast<cuuint32_t>(patch.height),
                                1};
      const cuuint32_t every[] = {1, 1, 1, 1};
      check_map(tiled_encode()(&map_, map_type(plan.type), 4, const_cast<void*>(operands.x), extents, strides, box,
                               every, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                "cuTensorMapEncodeTiled");
      return;
    }
    const Box box(windows);
    const int lower[] = {static_cast<int>(box.lower[0]), static_cast<int>(box.lower[1])};
    const int upper[] = {static_cast<int>(box.upper[0]), static_cast<int>(box.upper[1])};
    const cuuint32_t steps[] = {1, static_cast<cuuint32_t>(windows.stride_x), static_cast<cuuint32_t>(windows.stride_y),
                                1};
    check_map(encode()(&map_, map_type(plan.type), 4, const_cast<void*>(operands.x), extents, strides, lower, upper,
                       channels, static_cast<cuuint32_t>(plan.pixels), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                       CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              "cuTensorMapEncodeIm2col");
  }

  /// Whether there are kernels of that form that take windows by copies.
  static bool suits_form(const FusedPlan& plan) {
    if (size_of(plan.type) == 4 && !plan.tf32) return plan.residence == Residence::patches;
    return plan.pixels == 128 || plan.is_resident();
  }
  /// Whether there can be one of the convolution, whose groups it does not tell from each other within 128 bytes.
  static bool suits(const FusedConvolution& convolution) {
    const auto& [windows, plan, operands] = convolution;
    const Box box(windows);
    const auto fits = [](std::int64_t corner) { return corner >= -128 && corner <= 127; };
    const auto reach = [](std::int64_t taps, std::int64_t dilation) { return (taps - 1) * dilation; };
    constexpr std::int64_t most_stride = 8, most_offset = 255;
    const auto [image, row, pixel] = strides_of_x(convolution);
    const bool is_ordered = pixel > 0 && row >= pixel && image >= row;
    if (plan.residence == Residence::patches && (!PatchWindow::suits(windows) || tiled_encode() == nullptr)) {
      return false;
    }
    return encode() != nullptr && suits_form(plan) &&
           (windows.groups == 1 || windows.group_channels() % chunk_channels(plan.type) == 0) &&
           windows.stride_x <= most_stride && windows.stride_y <= most_stride &&
           reach(windows.kernel_width, windows.dilation_x) <= most_offset &&
           reach(windows.kernel_height, windows.dilation_y) <= most_offset && is_ordered &&
           std::all_of(box.lower, box.lower + 2, fits) && std::all_of(box.upper, box.upper + 2, fits);
  }

  /// Where the window of a pixel begins in x, perhaps outside.
  struct Place {
    int image, y, x;

    __device__ __forceinline__ Place(const Windows& windows, const Pixel& at)
        : image(static_cast<int>(at.image)),
          y(static_cast<int>(at.y * windows.stride_y - windows.top)),
          x(static_cast<int>(at.x * windows.stride_x - windows.left)) {}
  };
  /// Copies what the barrier has been told to expect, from a place and a channel on, under the tap so far from the
  /// window's first.
  __device__ __forceinline__ void copy(const blas::sm90::Barrier& barrier, SharedAddress to, const Place& from,
                                       int channel, int down, int across) const {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
        "%5}], [%6], {%7, %8};" ::"r"(to),
        "l"(&map_), "r"(channel), "r"(from.x), "r"(from.y), "r"(from.image), "r"(barrier.address()),
        "h"(static_cast<std::uint16_t>(across)), "h"(static_cast<std::uint16_t>(down))
        : "memory");
  }
  /// The same of a patch, whose first pixel's window begins there.
  __device__ __forceinline__ void copy_patch(const blas::sm90::Barrier& barrier, SharedAddress to, const Place& from,
                                             int channel) const {
    copy_box(map_, barrier, to, channel, from.x, from.y, from.image);
  }

 private:
  /// With the zeros that fill up the last 16 bytes of a run: copies that end within them are slow.
  static std::int64_t channels_of_x(const FusedConvolution& convolution) {
    return convolution.plan.pixel_bytes(convolution.windows) /
           static_cast<std::int64_t>(size_of(convolution.plan.type));
  }

  /// In units of 16 bytes. An axis of one position, whose stride may be any, has that of the one inside of it.
  static PixelStrides strides_of_x(const FusedConvolution& convolution) {
    const auto& [windows, plan, operands] = convolution;
    const std::int64_t pixel = windows.width > 1 ? operands.x_pixel : 1;
    const std::int64_t row = windows.height > 1 ? operands.x_row : pixel;
    return {windows.images > 1 ? operands.x_image : row, row, pixel};
  }

  /// The corners of where windows begin, across and down, from those of x.
  struct Box {
    std::int64_t lower[2], upper[2];

    explicit Box(const Windows& windows)
        : lower{-windows.left, -windows.top},
          upper{last(windows.out_width, windows.stride_x, windows.left, windows.width),
                last(windows.out_height, windows.stride_y, windows.top, windows.height)} {}

   private:
    /// So that there are as many positions as out has.
    static std::int64_t last(std::int64_t outs, std::int64_t stride, std::int64_t before, std::int64_t extent) {
      return (outs - 1) * stride + 1 - before - extent;
    }
  };

  using Encode = decltype(&cuTensorMapEncodeIm2col);
  static Encode encode() {
    static const auto function = driver_function<Encode>("cuTensorMapEncodeIm2col");
    return function;
  }

  CUtensorMap map_{};
};

/// How a launch reads the weight: from a packed copy, or where it lies, where its channels, or its output channels, are
/// neighbours.
enum class WeightOrder : std::uint8_t { packed, channels, out_channels };

/// The weight, of 16-bit numbers, where it lies, as the engine for tensor copies sees it: 64 channels of some output
/// channels under one tap, swizzled as products want them, or turned, with zeros where there are none.
class WeightMap {
 public:
  static constexpr int channels = 64;

  WeightMap() = default;
  /// With so many output channels of a tile. Throws Error where CUDA refuses it.
  WeightMap(const FusedConvolution& convolution, WeightOrder order, int rows) {
    const auto& [windows, plan, operands] = convolution;
    const Tensor4& weight = operands.weight;
    const bool turned = order == WeightOrder::out_channels;
    const auto element = static_cast<std::int64_t>(size_of(plan.type));
    auto* first = static_cast<std::byte*>(weight.data);
    std::int64_t steps[2];
    const std::int64_t taps[] = {windows.kernel_width, windows.kernel_height};
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t stride = weight.stride[3 - axis] * element;
      last_tap_[axis] = stride < 0 ? static_cast<int>(taps[axis] - 1) : 0;
      if (stride < 0) first += (taps[axis] - 1) * stride;
      steps[axis] = taps[axis] == 1 ? unit_bytes : std::abs(stride);
    }
    const std::int64_t outs = windows.out_channels, inner = windows.group_channels();
    const std::int64_t outer_extent = turned ? inner : outs;
    const std::int64_t outer_step = outer_extent == 1 ? unit_bytes : weight.stride[turned ? 1 : 0] * element;
    const auto number = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
    const cuuint64_t extents[] = {number(turned ? outs : inner), number(taps[0]), number(taps[1]),
                                  number(outer_extent)};
    const cuuint64_t strides[] = {number(steps[0]), number(steps[1]), number(outer_step)};
    const cuuint32_t box[] = {channels, 1, 1, static_cast<cuuint32_t>(turned ? channels : rows)};
    const cuuint32_t every[] = {1, 1, 1, 1};
    check_map(tiled_encode()(&map_, map_type(plan.type), 4, first, extents, strides, box, every,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              "cuTensorMapEncodeTiled");
  }

  /// The one that the convolution allows, and that is worth while: copies take long where much of a tile is not there,
  /// longer than packing does where there are many.
  static WeightOrder order(const FusedConvolution& convolution) {
    const auto& [windows, plan, operands] = convolution;
    const bool fills_tiles = windows.group_channels() % channels == 0 && windows.group_out_channels() % plan.rows == 0;
    // Packing rounds to tf32, and splits.
    if (plan.type == ElementType::f32 || (!fills_tiles && plan.load > 1 && !plan.is_resident())) {
      return WeightOrder::packed;
    }
    const Tensor4& weight = operands.weight;
    const auto element = static_cast<std::int64_t>(size_of(plan.type));
    const auto is_aligned = [&](std::int64_t extent, int axis) {
      const std::int64_t bytes = std::abs(weight.stride[axis]) * element;
      return extent == 1 || (bytes % unit_bytes == 0 && bytes > 0 && bytes < std::int64_t{1} << 40);
    };
    const bool taps_fit = reinterpret_cast<std::uintptr_t>(weight.data) % unit_bytes == 0 &&
                          is_aligned(windows.kernel_height, 2) && is_aligned(windows.kernel_width, 3);
    if (tiled_encode() == nullptr || !taps_fit) return WeightOrder::packed;
    if (weight.stride[1] == 1 && weight.stride[0] >= 0 && is_aligned(windows.out_channels, 0)) {
      return WeightOrder::channels;
    }
    const bool turned =
        weight.stride[0] == 1 && weight.stride[1] >= 0 && windows.groups == 1 && plan.rows % channels == 0;
    return turned && is_aligned(windows.group_channels(), 1) ? WeightOrder::out_channels : WeightOrder::packed;
  }

  /// Copies what the barrier has been told to expect: a tile of `rows` output channels from `out_channel` on.
  template <bool turned, int rows>
  __device__ __forceinline__ void copy(const blas::sm90::Barrier& barrier, SharedAddress to, int out_channel,
                                       int channel, int tap_y, int tap_x) const {
    const int y = last_tap_[1] > 0 ? last_tap_[1] - tap_y : tap_y, x = last_tap_[0] > 0 ? last_tap_[0] - tap_x : tap_x;
    if constexpr (turned) {
#pragma unroll
      for (int row = 0; row < rows; row += channels) {
        copy_box(map_, barrier, to + row * channels * 2, out_channel + row, x, y, channel);
      }
    } else {
      copy_box(map_, barrier, to, channel, x, y, out_channel);
    }
  }

 private:
  CUtensorMap map_{};
  int last_tap_[2] = {0, 0};  ///< across and down: where taps are counted backwards, the last one
};

}  // namespace portops::impl::fused_sm90
