// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/commutative_loop.hpp"

#include "core/check/check.hpp"

#include <array>

namespace portops::impl {

Loop make_commutative_loop(const Extents& extents, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out) {
  const TensorOrNumber first = x;
  const bool swap = shape_of(y).size() > x.size();
  return make_loop(x.type(), extents, std::array{swap ? &y : &first, swap ? &first : &y}, std::array{&out});
}

}  // namespace portops::impl
