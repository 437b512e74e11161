// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/trace/diagonal_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace portops::impl {
namespace {

enum class Role { kept, axis1, axis2 };

struct Axis {
  Role role;
  std::int64_t extent;
  std::int64_t x_stride;
  std::int64_t out_stride;
};

/// The axes of x_grad from the slowest to the fastest. Those of the matrices stay, whatever their extents.
std::vector<Axis> axes_in_memory(const TensorRef& x_grad, const TensorRef& out_grad, const Diagonal& diagonal) {
  std::vector<Axis> axes;
  int kept = 0;
  for (int axis = 0; axis < x_grad.rank(); ++axis) {
    const Role role = axis == diagonal.axis1 ? Role::axis1 : axis == diagonal.axis2 ? Role::axis2 : Role::kept;
    const std::int64_t out_stride = role == Role::kept ? out_grad.stride(kept++) : 0;
    if (role != Role::kept || x_grad.extent(axis) != 1) {
      axes.push_back({role, x_grad.extent(axis), x_grad.stride(axis), out_stride});
    }
  }
  // An axis of extent 1 has no stride that means anything: it goes to the front.
  if (axes.empty()) axes.push_back({Role::kept, 1, 0, 0});
  const auto distance = [](const Axis& axis) { return axis.extent == 1 ? INT64_MAX : std::abs(axis.x_stride); };
  std::stable_sort(axes.begin(), axes.end(), [&](const Axis& a, const Axis& b) { return distance(a) > distance(b); });
  return axes;
}

/// Neighbours that both tensors step through evenly become one.
std::vector<Axis> merged(const std::vector<Axis>& axes) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    if (!result.empty() && axis.role == Role::kept && result.back().role == Role::kept &&
        result.back().x_stride == axis.x_stride * axis.extent &&
        result.back().out_stride == axis.out_stride * axis.extent) {
      result.back() = {Role::kept, result.back().extent * axis.extent, axis.x_stride, axis.out_stride};
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

bool is_dense(const std::vector<Axis>& axes) {
  std::int64_t expected = 1;
  return std::all_of(axes.rbegin(), axes.rend(), [&](const Axis& axis) {
    const bool follows = axis.extent == 1 || axis.x_stride == expected;
    expected *= axis.extent;
    return follows;
  });
}

}  // namespace

DiagonalPlan make_diagonal_plan(const TensorRef& x_grad, const TensorRef& out_grad, const Diagonal& diagonal) {
  std::vector<Axis> axes = merged(axes_in_memory(x_grad, out_grad, diagonal));
  DiagonalPlan plan;
  plan.x_grad = static_cast<std::byte*>(x_grad.data());
  plan.out_grad = static_cast<const std::byte*>(out_grad.data());
  plan.size = x_grad.size();
  plan.is_dense = is_dense(axes);
  const Axis fastest = axes.back();
  axes.pop_back();
  plan.columns = fastest.extent;
  plan.x_column_stride = fastest.x_stride;
  plan.out_column_stride = fastest.out_stride;
  plan.crosses = fastest.role != Role::kept;
  plan.shift = fastest.role == Role::axis1 ? -diagonal.offset : diagonal.offset;
  plan.rank = static_cast<int>(axes.size());
  std::int64_t below = 1;
  for (int k = plan.rank - 1; k >= 0; --k) {
    const Axis& axis = axes[static_cast<std::size_t>(k)];
    plan.extent[k] = axis.extent;
    plan.x_stride[k] = axis.x_stride;
    plan.out_stride[k] = axis.out_stride;
    if (axis.role != Role::kept) {
      const bool is_second = axis.role == Role::axis2 && !plan.crosses;
      (is_second ? plan.second : plan.first) = {below, axis.extent};
    }
    below *= axis.extent;
  }
  return plan;
}

DiagonalPlan make_zero_plan(const TensorRef& tensor) {
  // All axes are kept, and no row is a hit: its positions along the matrices' axes, which it lacks, are 0.
  return make_diagonal_plan(tensor, tensor, {.axis1 = -1, .axis2 = -1, .offset = 1});
}

}  // namespace portops::impl
