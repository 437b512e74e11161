// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/autograd_support.hpp"

#include <portops/graph/program.hpp>

// Programs of the tests.

namespace portops::test {

namespace graph = portops::graph;
using Integers = std::vector<std::int64_t>;

/// A constant with random elements of an element type.
template <class T>
Tensor random_tensor(const Context& ctx, const Extents& extents, unsigned seed, double low = -1.0, double high = 1.0) {
  Random random(seed);
  std::vector<T> elements(static_cast<std::size_t>(extents.product()));
  for (T& each : elements) each = static_cast<T>(random.uniform(low, high));
  return tensor_of(ctx, extents, elements);
}

}  // namespace portops::test
