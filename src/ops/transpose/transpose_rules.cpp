// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/transpose/transpose_rules.hpp"

#include <algorithm>

namespace portops::impl {

std::vector<int> checked_perm(std::string_view op, int rank, const std::vector<std::int64_t>& perm) {
  std::vector<int> axes;
  for (const std::int64_t axis : perm) {
    const std::int64_t from_first = axis < 0 ? axis + rank : axis;
    const bool is_new = std::find(axes.begin(), axes.end(), from_first) == axes.end();
    if (from_first < 0 || from_first >= rank || !is_new) {
      fail("portops::", op, ": perm names the axis ", axis, is_new ? "" : " twice", ", expected each of the ", rank,
           " axes of x once");
    }
    axes.push_back(static_cast<int>(from_first));
  }
  if (static_cast<int>(axes.size()) != rank) {
    fail("portops::", op, ": perm names ", axes.size(), " axes, expected each of the ", rank, " axes of x once");
  }
  return axes;
}

TransposeExtents transpose_extents(std::string_view op, const TensorRef& x, const TransposeParams& params) {
  const std::vector<int> axes = checked_perm(op, x.rank(), params.perm);
  Extents extents = x.extents();
  for (std::size_t axis = 0; axis < axes.size(); ++axis) extents[static_cast<int>(axis)] = x.extent(axes[axis]);
  return {{extents, "those of x in the order of perm"}};
}

}  // namespace portops::impl
