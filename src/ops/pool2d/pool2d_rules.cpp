// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/pool2d/pool2d_rules.hpp"

#include "core/types/fail.hpp"

#include <algorithm>
#include <limits>

namespace portops::impl {
namespace {

using Numbers = std::vector<std::int64_t>;

/// So that 64 bits hold every position.
constexpr std::int64_t most = std::int64_t{1} << 40;

std::string to_string(const Numbers& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() == 1 ? "" : ", ") + std::to_string(number);
  return text + "]";
}

bool all_in(const Numbers& numbers, std::int64_t least, std::int64_t largest) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [=](std::int64_t number) { return number >= least && number <= largest; });
}

/// Down and across.
Numbers pair_of(std::string_view op, const char* name, const Numbers& numbers) {
  if (numbers.empty() || numbers.size() > 2 || !all_in(numbers, 1, most)) {
    fail("portops::", op, ": ", name, " is ", to_string(numbers), ", expected one or two positive numbers up to 2^40");
  }
  return {numbers.front(), numbers.back()};
}

/// Above, left, below and right.
Numbers padding_of(std::string_view op, const Numbers& padding, const Numbers& kernel) {
  if ((padding.size() != 1 && padding.size() != 2 && padding.size() != 4) || !all_in(padding, 0, most)) {
    fail("portops::", op, ": padding is ", to_string(padding),
         ", expected one, two or four numbers that are not negative");
  }
  const Numbers all =
      padding.size() == 4 ? padding : Numbers{padding.front(), padding.back(), padding.front(), padding.back()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (2 * all[i] > kernel[i % 2]) {
      fail("portops::", op, ": padding is ", to_string(padding), ", expected at most half of kernel_size, ",
           to_string(kernel));
    }
  }
  return all;
}

/// How many windows lie in the axis; see the header.
std::int64_t windows_of(const PoolAxis& axis, bool ceil_mode) {
  const std::int64_t room = axis.extent + axis.before + axis.after - axis.kernel + (ceil_mode ? axis.stride - 1 : 0);
  if (axis.extent == 0 || room < 0) return 0;
  const std::int64_t windows = room / axis.stride + 1;
  return (windows - 1) * axis.stride < axis.extent + axis.before ? windows : windows - 1;
}

}  // namespace

Pool2dExtents pool2d_extents(std::string_view op, const TensorRef& x, const Pool2dParams& params) {
  if (x.rank() != 4) {
    fail("portops::", op, ": x has extents ", x.extents().to_string(),
         ", expected four axes (images, channels, height, width)");
  }
  if (params.pooltype != "max" && params.pooltype != "avg") {
    fail("portops::", op, ": pooltype is '", params.pooltype, "', expected max or avg");
  }
  Pool2dExtents result;
  result.is_max = params.pooltype == "max";
  const std::int64_t extents[] = {x.extent(2), x.extent(3)};
  Numbers kernel{std::max<std::int64_t>(extents[0], 1), std::max<std::int64_t>(extents[1], 1)};
  Numbers stride = kernel, padding(4, 0);
  if (!params.global_pooling) {
    kernel = pair_of(op, "kernel_size", params.kernel_size);
    stride = params.stride.empty() ? kernel : pair_of(op, "stride", params.stride);
    padding = padding_of(op, params.padding, kernel);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    PoolAxis& axis = i == 0 ? result.down : result.across;
    axis = {extents[i], 0, kernel[i], stride[i], padding[i], padding[i + 2], IndexDivisor(stride[i])};
    axis.windows = windows_of(axis, params.ceil_mode && !params.global_pooling);
  }
  result.out = {{x.extent(0), x.extent(1), result.down.windows, result.across.windows},
                "the images and channels of x, and the windows down and across"};
  result.index = result.out;
  return result;
}

}  // namespace portops::impl
