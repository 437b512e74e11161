// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/fail.hpp"
#include "core/types/tensor_ref.hpp"

#include <cmath>
#include <cstddef>
#include <string_view>

namespace portops::impl {

inline void check_epsilon(std::string_view op, double epsilon) {
  if (epsilon >= 0.0 && std::isfinite(epsilon)) return;
  fail("portops::", op, ": epsilon is ", epsilon, ", expected a finite number that is not negative");
}

/// The means of a gradient's sums in a temporary, each with the extents of `mean`.
struct MeansOfSums {
  MeansOfSums(std::byte* data, const TensorRef& mean)
      : of_sum(data, mean.type(), mean.extents(), mean.extents().row_major_strides(), mean.space()),
        of_product(data + static_cast<std::size_t>(mean.size()) * size_of(mean.type()), mean.type(), mean.extents(),
                   mean.extents().row_major_strides(), mean.space()) {}

  TensorRef of_sum;
  TensorRef of_product;
};

}  // namespace portops::impl
