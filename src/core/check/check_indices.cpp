// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check/check_indices.hpp"

namespace portops::impl {

void check_indices(std::string_view op, const Context& ctx, const Named& indices, std::int64_t count,
                   std::string_view what, const std::optional<IgnoredIndex>& ignored) {
  const TensorRef& tensor = indices.tensor;
  if (ctx.backend() == Backend::cuda || tensor.size() == 0) return;
  const auto is_right = [&](std::int64_t index) {
    return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(count) ||
           (ignored && index == ignored->index);
  };
  // The last axes are one run, as far as their strides allow.
  int axes = tensor.rank();
  std::int64_t run = 1, step = 0;
  for (; axes > 0; --axes) {
    const std::int64_t extent = tensor.extent(axes - 1), stride = tensor.stride(axes - 1);
    if (extent == 1) continue;
    if (run > 1 && stride != run * step) break;
    if (run == 1) step = stride;
    run *= extent;
  }
  for (std::int64_t first = 0; first < tensor.size(); first += run) {
    const auto* from = static_cast<const std::int64_t*>(tensor.data());
    std::int64_t outer = first / run;
    for (int axis = axes - 1; axis >= 0; --axis) {
      from += outer % tensor.extent(axis) * tensor.stride(axis);
      outer /= tensor.extent(axis);
    }
    bool all_are = true;
    for (std::int64_t i = 0; i < run; ++i) all_are &= is_right(from[i * step]);
    if (all_are) continue;
    std::int64_t i = 0;
    while (is_right(from[i * step])) ++i;
    Extents index = tensor.extents();
    std::int64_t rest = first + i;
    for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % tensor.extent(axis);
      rest /= tensor.extent(axis);
    }
    std::string expected = " (" + std::string(what) + ")";
    if (ignored) expected += ", or " + std::string(ignored->name) + ", " + std::to_string(ignored->index);
    fail("portops::", op, ": ", indices.name, index.to_string(), " is ", from[i * step],
         ", expected at least 0 and less than ", count, expected);
  }
}

}  // namespace portops::impl
