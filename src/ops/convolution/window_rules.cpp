// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/window_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

namespace portops::impl {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string to_string(const Numbers& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() == 1 ? "" : ", ") + std::to_string(number);
  return text + "]";
}

bool all_at_least(const Numbers& numbers, std::int64_t least) {
  return std::all_of(numbers.begin(), numbers.end(), [least](std::int64_t number) { return number >= least; });
}

void check_pair(std::string_view op, const char* name, const Numbers& numbers) {
  if (numbers.size() == 2 && all_at_least(numbers, 1)) return;
  fail("portops::", op, ": ", name, " is ", to_string(numbers), ", expected two positive numbers");
}

void check_padding(std::string_view op, const Numbers& numbers) {
  if ((numbers.size() == 2 || numbers.size() == 4) && all_at_least(numbers, 0)) return;
  fail("portops::", op, ": padding is ", to_string(numbers), ", expected two or four numbers that are not negative");
}

void check_divisor(std::string_view op, const char* name, std::int64_t number, std::int64_t channels,
                   const char* origin) {
  if (channels % number == 0) return;
  fail("portops::", op, ": ", name, " is ", number, ", expected a divisor of the ", origin);
}

/// How many windows lie in an axis: 0 where one is larger than the padded image.
std::int64_t windows_along(std::string_view op, std::int64_t extent, std::int64_t before, std::int64_t after,
                           std::int64_t kernel, std::int64_t dilation, std::int64_t stride) {
  std::int64_t padded = 0;
  std::int64_t reach = 0;
  if (__builtin_add_overflow(extent, before, &padded) || __builtin_add_overflow(padded, after, &padded) ||
      __builtin_mul_overflow(dilation, kernel - 1, &reach)) {
    fail("portops::", op, ": padding or dilation is too large for 64-bit positions");
  }
  return padded <= reach ? 0 : (padded - reach - 1) / stride + 1;
}

/// Whether 64 bits hold the product, which is 0 where a factor is.
bool is_countable(const Numbers& factors) {
  if (std::find(factors.begin(), factors.end(), 0) != factors.end()) return true;
  std::int64_t product = 1;
  return std::none_of(factors.begin(), factors.end(),
                      [&product](std::int64_t factor) { return __builtin_mul_overflow(product, factor, &product); });
}

/// Extents that 64 bits hold one by one may give products that they do not, of tensors without elements too.
void check_countable(std::string_view op, const Windows& w) {
  if (!is_countable({2, w.deformable_groups, w.kernel_height, w.kernel_width})) {
    fail("portops::", op, ": 64 bits cannot hold the channels of offset, 2 · deformable_groups · taps, for ",
         w.kernel_height, " · ", w.kernel_width, " taps and deformable_groups ", w.deformable_groups);
  }
  constexpr std::int64_t most_bytes = 64;  // of a sample, in all that is made of it
  const Numbers samples{w.images, w.channels, w.kernel_height, w.kernel_width, w.out_height, w.out_width};
  Numbers bytes = samples;
  bytes.push_back(most_bytes);
  if (is_countable(bytes)) return;
  fail("portops::", op, ": 64 bits cannot count the bytes of the sampled windows, ", to_string(samples),
       " (images, channels, taps down and across, windows down and across)");
}

}  // namespace

void check_positive(std::string_view op, const char* name, std::int64_t number) {
  if (number < 1) fail("portops::", op, ": ", name, " is ", number, ", expected a positive number");
}

Windows make_windows(std::string_view op, const TensorRef& x, const TensorRef& weight, const WindowAttributes& params) {
  if (x.rank() != 4) {
    fail("portops::", op, ": x has extents ", x.extents().to_string(),
         ", expected four axes (images, channels, height, width)");
  }
  if (weight.rank() != 4) {
    fail("portops::", op, ": weight has extents ", weight.extents().to_string(),
         ", expected four axes (out channels, channels / groups, height, width)");
  }
  if (weight.extent(2) == 0 || weight.extent(3) == 0) {
    fail("portops::", op, ": weight has extents ", weight.extents().to_string(),
         ", expected at least one tap (axes 2 and 3)");
  }
  check_pair(op, "stride", params.stride);
  check_padding(op, params.padding);
  check_pair(op, "dilation", params.dilation);
  check_positive(op, "groups", params.groups);
  check_positive(op, "deformable_groups", params.deformable_groups);
  const std::int64_t channels = x.extent(1);
  const std::string of_x = "channels of x, " + std::to_string(channels);
  check_divisor(op, "groups", params.groups, channels, of_x.c_str());
  check_divisor(op, "groups", params.groups, weight.extent(0),
                ("out channels, " + std::to_string(weight.extent(0)) + " (axis 0 of weight)").c_str());
  check_divisor(op, "deformable_groups", params.deformable_groups, channels, of_x.c_str());
  if (weight.extent(1) != channels / params.groups) {
    fail("portops::", op, ": weight has ", weight.extent(1), " channels, expected ", channels / params.groups,
         " (the channels of x, ", channels, ", divided by groups, ", params.groups, ")");
  }
  const Numbers& padding = params.padding;
  const bool is_symmetric = padding.size() == 2;
  const std::int64_t top = padding[0], left = padding[1];
  const std::int64_t bottom = is_symmetric ? top : padding[2], right = is_symmetric ? left : padding[3];
  const Windows windows{
      .images = x.extent(0),
      .channels = channels,
      .height = x.extent(2),
      .width = x.extent(3),
      .out_channels = weight.extent(0),
      .out_height = windows_along(op, x.extent(2), top, bottom, weight.extent(2), params.dilation[0], params.stride[0]),
      .out_width = windows_along(op, x.extent(3), left, right, weight.extent(3), params.dilation[1], params.stride[1]),
      .kernel_height = weight.extent(2),
      .kernel_width = weight.extent(3),
      .stride_y = params.stride[0],
      .stride_x = params.stride[1],
      .top = top,
      .left = left,
      .dilation_y = params.dilation[0],
      .dilation_x = params.dilation[1],
      .groups = params.groups,
      .deformable_groups = params.deformable_groups};
  check_countable(op, windows);
  return windows;
}

}  // namespace portops::impl
