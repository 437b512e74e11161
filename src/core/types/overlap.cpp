// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <span>

namespace portops::impl {
namespace {

/// An axis as the set of byte offsets { stride · i : 0 ≤ i ≤ count }.
struct Axis {
  std::int64_t stride;
  std::int64_t count;
};

/// A tensor's bytes: [first, last] holds them all; the axes say which.
struct Footprint {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::array<Axis, max_rank> axes{};
  int rank = 0;
};

Footprint footprint(const TensorRef& tensor) {
  Footprint result;
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.type()));
  result.first = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(tensor.data()));
  result.last = result.first + bytes - 1;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const std::int64_t count = tensor.extent(axis) - 1;
    if (count == 0 || tensor.stride(axis) == 0) continue;
    const std::int64_t stride = tensor.stride(axis) * bytes;
    (stride < 0 ? result.first : result.last) += stride * count;
    result.axes[static_cast<std::size_t>(result.rank++)] = {std::abs(stride), count};
  }
  return result;
}

/// Finds out whether target = Σ stride_k · i_k has a solution with 0 ≤ i_k ≤ count_k, largest stride first. What the
/// axes from k on can reach, and the greatest common divisor of their strides, prune the search.
class BoundedSum {
 public:
  BoundedSum(std::span<Axis> axes) : axes_(axes) {  // NOLINT: local class
    std::sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    merge_equal_steps();
    reach_.fill(0);
    divisor_.fill(0);
    for (std::size_t k = axes_.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1] + axes_[k].stride * axes_[k].count;
      divisor_[k] = std::gcd(divisor_[k + 1], axes_[k].stride);
    }
  }

  /// True also when the search was given up.
  bool reaches(std::int64_t target) { return reaches(target, 0); }

 private:
  /// The sums of two axes of one stride are those of a single, longer axis.
  void merge_equal_steps() {
    std::size_t kept = 0;
    for (std::size_t k = 1; k < axes_.size(); ++k) {
      if (axes_[k].stride == axes_[kept].stride) {
        axes_[kept].count += axes_[k].count;
      } else {
        axes_[++kept] = axes_[k];
      }
    }
    if (!axes_.empty()) axes_ = axes_.first(kept + 1);
  }

  bool reaches(std::int64_t target, std::size_t k) {
    if (target < 0 || target > reach_[k]) return false;
    if (k == axes_.size()) return true;  // the reach is 0 here, so the target is
    if (target % divisor_[k] != 0) return false;
    const Axis& axis = axes_[k];
    const std::int64_t most = std::min(axis.count, target / axis.stride);
    const std::int64_t least = std::max<std::int64_t>(0, (target - reach_[k + 1] + axis.stride - 1) / axis.stride);
    for (std::int64_t i = most; i >= least; --i) {
      if (++steps_ > step_limit) return true;
      if (reaches(target - i * axis.stride, k + 1)) return true;
    }
    return false;
  }

  static constexpr int step_limit = 20000;
  static constexpr std::size_t most_axes = 2 * max_rank + 2;
  std::span<Axis> axes_;
  std::array<std::int64_t, most_axes + 1> reach_;
  std::array<std::int64_t, most_axes + 1> divisor_;
  int steps_ = 0;
};

}  // namespace

bool may_overlap(const TensorRef& a, const TensorRef& b) {
  if (!a.has_data() || !b.has_data() || a.size() == 0 || b.size() == 0) return false;
  const Footprint x = footprint(a);
  const Footprint y = footprint(b);
  if (x.last < y.first || y.last < x.first) return false;
  // A common byte is x.first + Σ x.stride·i + p = y.first + Σ y.stride·j + q, where p and q count bytes within an
  // element. With every j (and q) replaced by its distance from the far end, all terms are positive.
  std::array<Axis, 2 * max_rank + 2> axes{};
  std::size_t count = 0;
  std::int64_t target = y.first - x.first;
  for (int k = 0; k < x.rank; ++k) axes[count++] = x.axes[static_cast<std::size_t>(k)];
  for (int k = 0; k < y.rank; ++k) {
    axes[count++] = y.axes[static_cast<std::size_t>(k)];
    target += y.axes[static_cast<std::size_t>(k)].stride * y.axes[static_cast<std::size_t>(k)].count;
  }
  for (const TensorRef* tensor : {&a, &b}) {
    axes[count++] = {1, static_cast<std::int64_t>(size_of(tensor->type())) - 1};
  }
  target += static_cast<std::int64_t>(size_of(b.type())) - 1;
  return BoundedSum(std::span(axes.data(), count)).reaches(target);
}

bool may_overlap_itself(const TensorRef& tensor) {
  if (tensor.size() == 0) return false;
  std::array<Axis, max_rank> axes{};  // by increasing stride
  std::size_t count = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) == 1) continue;
    const Axis added{std::abs(tensor.stride(axis)), tensor.extent(axis) - 1};
    std::size_t at = count++;
    for (; at > 0 && axes[at - 1].stride > added.stride; --at) axes[at] = axes[at - 1];
    axes[at] = added;
  }
  std::int64_t reach = 0;  // of the axes with smaller strides
  for (std::size_t k = 0; k < count; ++k) {
    if (axes[k].stride <= reach) return true;
    reach += axes[k].stride * axes[k].count;
  }
  return false;
}

bool is_row_major(const TensorRef& tensor) {
  std::int64_t expected = 1;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
    if (tensor.extent(axis) != 1 && tensor.stride(axis) != expected) return false;
    if (__builtin_mul_overflow(expected, tensor.extent(axis), &expected)) return false;
  }
  return expected != 0;
}

bool coincide(const TensorRef& a, const TensorRef& b) {
  if (a.data() != b.data() || a.type() != b.type() || a.extents() != b.extents()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.extent(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  return true;
}

}  // namespace portops::impl
