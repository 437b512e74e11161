// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sequence_reference.hpp"

#include <portops/ops/sequence_pool.hpp>

// sequence_pool and its gradient, written plainly in double.

namespace portops::test {

inline const std::vector<std::string> pool_types{"sum", "average", "sqrt", "max", "first", "last"};

struct Pooled {
  std::vector<double> out;
  std::vector<double> magnitude;  ///< what sums had to add, scaled as they are
  std::vector<double> index;
};

inline double pool_scale(const std::string& type, double length) {
  return type == "average" ? 1.0 / length : type == "sqrt" ? 1.0 / std::sqrt(length) : 1.0;
}

inline Pooled reference_pool(const std::vector<double>& x, const Offsets& offsets, std::int64_t columns,
                             const std::string& type, double pad_value) {
  const auto sequences = offsets.size() - 1;
  const std::size_t count = sequences * static_cast<std::size_t>(columns);
  Pooled result{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count)};
  for (std::size_t s = 0; s < sequences; ++s) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::size_t at = s * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c);
      const auto element = [&](std::int64_t row) { return x[static_cast<std::size_t>(row * columns + c)]; };
      const std::int64_t first = offsets[s], end = offsets[s + 1];
      result.out[at] = pad_value;
      result.index[at] = -1.0;
      if (first == end) continue;
      double sum = 0.0, magnitude = 0.0;
      std::int64_t largest = first;
      for (std::int64_t row = first; row < end; ++row) {
        sum += element(row);
        magnitude += std::abs(element(row));
        const bool is_larger =
            element(row) > element(largest) || (std::isnan(element(row)) && !std::isnan(element(largest)));
        if (is_larger) largest = row;
      }
      const double scale = pool_scale(type, static_cast<double>(end - first));
      result.magnitude[at] = magnitude * scale;
      result.index[at] = static_cast<double>(largest);
      result.out[at] = type == "max"     ? element(largest)
                       : type == "first" ? element(first)
                       : type == "last"  ? element(end - 1)
                                         : sum * scale;
    }
  }
  return result;
}

inline std::vector<double> reference_pool_grad(const std::vector<double>& out_grad, const std::vector<double>& index,
                                               const Offsets& offsets, std::int64_t columns, const std::string& type) {
  std::vector<double> x_grad(static_cast<std::size_t>(offsets.back() * columns));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const double scale = pool_scale(type, static_cast<double>(offsets[s + 1] - offsets[s]));
    for (std::int64_t row = offsets[s]; row < offsets[s + 1]; ++row) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::size_t at = s * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c);
        const bool is_chosen = type == "max"     ? index[at] == static_cast<double>(row)
                               : type == "first" ? row == offsets[s]
                               : type == "last"  ? row + 1 == offsets[s + 1]
                                                 : true;
        x_grad[static_cast<std::size_t>(row * columns + c)] = is_chosen ? out_grad[at] * scale : 0.0;
      }
    }
  }
  return x_grad;
}

}  // namespace portops::test
