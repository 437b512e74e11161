// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/arena.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace portops::graph {
namespace {

std::int64_t aligned(std::int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

class Layouts {
 public:
  Layouts(const std::vector<std::int64_t>& sizes, const std::function<bool(std::int32_t, std::int32_t)>& meet)
      : sizes_(sizes.size()), neighbours_(sizes.size()) {
    std::transform(sizes.begin(), sizes.end(), sizes_.begin(), aligned);
    const auto count = static_cast<std::int32_t>(sizes.size());
    for (std::int32_t a = 0; a < count; ++a) {
      for (std::int32_t b = 0; b < a; ++b) {
        if (!meet(a, b)) continue;
        neighbours_[static_cast<std::size_t>(a)].push_back(b);
        neighbours_[static_cast<std::size_t>(b)].push_back(a);
      }
    }
  }

  std::vector<std::int32_t> largest_first() const {
    std::vector<std::int32_t> order(sizes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](std::int32_t a, std::int32_t b) { return size(a) > size(b); });
    return order;
  }

  /// By size times the number of those that it meets.
  std::vector<std::int32_t> busiest_first() const {
    std::vector<std::int32_t> order = largest_first();
    const auto weight = [this](std::int32_t block) {
      return static_cast<double>(size(block)) *
             static_cast<double>(neighbours_[static_cast<std::size_t>(block)].size() + 1);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return weight(a) > weight(b); });
    return order;
  }

  ArenaLayout in_order(const std::vector<std::int32_t>& order) {
    ArenaLayout layout;
    layout.offsets.assign(sizes_.size(), -1);
    for (const std::int32_t block : order) {
      const std::int64_t offset = best_gap(block, layout.offsets);
      layout.offsets[static_cast<std::size_t>(block)] = offset;
      layout.bytes = std::max(layout.bytes, offset + size(block));
    }
    return layout;
  }

  std::int64_t size(std::int32_t block) const { return sizes_[static_cast<std::size_t>(block)]; }
  std::size_t pairs() const {
    return std::accumulate(neighbours_.begin(), neighbours_.end(), sizes_.size(),
                           [](std::size_t sum, const auto& each) { return sum + each.size(); });
  }

 private:
  /// The beginning of the smallest gap that takes the block between those that it meets and that have a place; or the
  /// end of them all.
  std::int64_t best_gap(std::int32_t block, const std::vector<std::int64_t>& offsets) {
    taken_.clear();
    for (const std::int32_t other : neighbours_[static_cast<std::size_t>(block)]) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(other)];
      if (offset >= 0 && size(other) > 0) taken_.emplace_back(offset, offset + size(other));
    }
    std::sort(taken_.begin(), taken_.end());
    std::int64_t end = 0, best = -1, best_size = 0;
    for (const auto& [from, to] : taken_) {
      const std::int64_t gap = from - end;
      if (gap >= size(block) && (best < 0 || gap < best_size)) {
        best = end;
        best_size = gap;
      }
      end = std::max(end, to);
    }
    return best >= 0 ? best : end;
  }

  std::vector<std::int64_t> sizes_;
  std::vector<std::vector<std::int32_t>> neighbours_;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken_;
};

}  // namespace

ArenaLayout lay_out(const std::vector<std::int64_t>& sizes, const std::function<bool(std::int32_t, std::int32_t)>& meet,
                    std::int64_t least) {
  Layouts layouts(sizes, meet);
  // No layout is smaller than the largest sum of sizes that live at once, rounded up.
  const std::int64_t enough = aligned(least);
  ArenaLayout best;
  bool is_first = true;
  const auto keep = [&](ArenaLayout&& layout) {
    if (is_first || layout.bytes < best.bytes) best = std::move(layout);
    is_first = false;
  };
  for (std::vector<std::int32_t> order : {layouts.largest_first(), layouts.busiest_first()}) {
    // The block that ends last comes first in the next try; how often depends on the work that a try is.
    constexpr std::size_t work = 4'000'000;
    const std::size_t tries = 1 + std::min<std::size_t>(64, work / (1 + layouts.pairs()));
    for (std::size_t i = 0; i < tries && (is_first || best.bytes > enough); ++i) {
      ArenaLayout layout = layouts.in_order(order);
      const auto last = std::find_if(order.begin(), order.end(), [&](std::int32_t block) {
        return layout.offsets[static_cast<std::size_t>(block)] + layouts.size(block) == layout.bytes;
      });
      if (last != order.end()) std::rotate(order.begin(), last, last + 1);
      keep(std::move(layout));
    }
  }
  return best;
}

}  // namespace portops::graph
