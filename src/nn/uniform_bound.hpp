// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/fail.hpp"

#include <cmath>
#include <cstdint>

namespace portops::impl {

/// The bound of PyTorch's layers, 1 / √fan_in, of weights and biases: Kaiming's uniform initialisation with a = √5.
/// fan_in is `count` · `taps`; of nothing it is 0.
inline double uniform_bound(const char* module, const char* name, std::int64_t count, std::int64_t taps) {
  if (count < 0) fail("portops::nn::", module, ": ", name, " is ", count, ", expected 0 or more");
  const double fan_in = static_cast<double>(count) * static_cast<double>(taps);
  return fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
}

}  // namespace portops::impl
