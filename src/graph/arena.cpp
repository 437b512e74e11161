// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/arena.hpp"

#include "core/types/fail.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

namespace portops::graph {
namespace {

/// So many pairs of blocks that live at one time are held in memory, and looked at by all tries of a layout together.
constexpr std::size_t most_pairs = 4'000'000;

std::int64_t aligned(std::int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

std::vector<std::int32_t> numbers_below(std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// When a block is in use.
struct Use {
  std::int64_t bytes = 0;                           ///< rounded up
  std::int32_t from = 0;                            ///< all steps in front of this one happen before its first ones
  std::int32_t to = 0;                              ///< its last step
  std::vector<std::int32_t> first = {}, last = {};  ///< of each instance that uses it its first and its last step
};

Use use_of(const Block& block, const Schedule& schedule) {
  Use use{.bytes = aligned(block.bytes), .from = block.steps.front(), .to = block.steps.back()};
  // Of each instance the first and the last step stand for all of them.
  std::vector<std::int32_t> begins(static_cast<std::size_t>(schedule.instances()), -1), ends = begins;
  for (const std::int32_t step : block.steps) {
    const auto instance = static_cast<std::size_t>(schedule.instance(step));
    if (begins[instance] < 0) begins[instance] = step;
    ends[instance] = step;
  }
  std::erase(begins, -1);
  std::erase(ends, -1);
  use.first = std::move(begins);
  use.last = std::move(ends);
  for (const std::int32_t step : use.first) use.from = std::min(use.from, schedule.all_before(step) + 1);
  return use;
}

/// Whether all steps of one are done before the other's begin.
bool is_before(const Use& a, const Use& b, const Schedule& schedule) {
  return std::all_of(a.last.begin(), a.last.end(), [&](std::int32_t end) {
    return std::all_of(b.first.begin(), b.first.end(),
                       [&](std::int32_t begin) { return schedule.happens_before(end, begin); });
  });
}

/// Calls `meeting` with the pairs of blocks that may live at one time, until there are too many: false then. One that
/// ends before the other begins is passed over unseen.
template <class Function>
bool for_each_pair(const std::vector<Use>& uses, const Function& meeting) {
  const auto use = [&](std::int32_t number) -> const Use& { return uses[static_cast<std::size_t>(number)]; };
  std::vector<std::int32_t> order = numbers_below(uses.size()), living;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return use(a).from < use(b).from; });
  std::size_t pairs = 0;
  for (const std::int32_t number : order) {
    std::erase_if(living, [&](std::int32_t other) { return use(other).to < use(number).from; });
    pairs += living.size();
    if (pairs > most_pairs) return false;
    for (const std::int32_t other : living) meeting(number, other);
    living.push_back(number);
  }
  return true;
}

/// Places by all pairs of blocks that live at one time: the best, for as many blocks as networks have.
class Layouts {
 public:
  explicit Layouts(const std::vector<Use>& uses) : sizes_(uses.size()), neighbours_(uses.size()) {
    std::transform(uses.begin(), uses.end(), sizes_.begin(), [](const Use& each) { return each.bytes; });
  }
  void add_pair(std::int32_t a, std::int32_t b) {
    neighbours_[static_cast<std::size_t>(a)].push_back(b);
    neighbours_[static_cast<std::size_t>(b)].push_back(a);
  }

  std::vector<std::int32_t> largest_first() const {
    std::vector<std::int32_t> order = numbers_below(sizes_.size());
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

/// What is free of an arena.
class Gaps {
 public:
  explicit Gaps(std::int64_t bytes) { add(0, bytes); }

  /// Where the smallest gap begins that takes so many bytes, which then are taken.
  std::int64_t take(std::int64_t bytes) {
    const auto [size, begin] = *by_size_.lower_bound({bytes, 0});
    remove(begin);
    if (size > bytes) add(begin + bytes, size - bytes);
    return begin;
  }
  void give_back(std::int64_t begin, std::int64_t bytes) {
    auto next = sizes_.lower_bound(begin);
    if (next != sizes_.begin()) {
      if (const auto [before, size] = *std::prev(next); before + size == begin) {
        remove(before);
        begin = before;
        bytes += size;
      }
    }
    if (next != sizes_.end() && next->first == begin + bytes) {
      bytes += next->second;
      remove(next->first);
    }
    add(begin, bytes);
  }

 private:
  void add(std::int64_t begin, std::int64_t bytes) {
    sizes_.emplace(begin, bytes);
    by_size_.emplace(bytes, begin);
  }
  void remove(std::int64_t begin) {
    const auto at = sizes_.find(begin);
    by_size_.erase({at->second, begin});
    sizes_.erase(at);
  }

  std::map<std::int64_t, std::int64_t> sizes_;  ///< by where they begin
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
};

/// Places by what is free when a block's time begins, whatever comes later: an arena that may be some percent larger,
/// in no more time where many live at once.
ArenaLayout in_order_of_steps(const std::vector<Use>& uses, std::int64_t sum) {
  const auto use = [&](std::int32_t number) -> const Use& { return uses[static_cast<std::size_t>(number)]; };
  std::vector<std::int32_t> order = numbers_below(uses.size());
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(use(a).from, -use(a).bytes) < std::pair(use(b).from, -use(b).bytes);
  });
  ArenaLayout layout;
  layout.offsets.resize(uses.size());
  Gaps gaps(sum);  // the last gap takes whatever comes: the arena ends where that begins
  using Ending = std::pair<std::int32_t, std::int32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> living;  // by their last steps
  for (const std::int32_t number : order) {
    for (; !living.empty() && living.top().first < use(number).from; living.pop()) {
      const std::int32_t dead = living.top().second;
      gaps.give_back(layout.offsets[static_cast<std::size_t>(dead)], use(dead).bytes);
    }
    const std::int64_t bytes = use(number).bytes;
    if (bytes == 0) continue;
    const std::int64_t offset = gaps.take(bytes);
    layout.offsets[static_cast<std::size_t>(number)] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    living.emplace(use(number).to, number);
  }
  return layout;
}

/// Places by pairs, in several orders; `least`: no layout is smaller.
ArenaLayout best_layout(Layouts& layouts, std::int64_t least) {
  ArenaLayout best;
  bool is_first = true;
  const auto keep = [&](ArenaLayout&& layout) {
    if (is_first || layout.bytes < best.bytes) best = std::move(layout);
    is_first = false;
  };
  for (std::vector<std::int32_t> order : {layouts.largest_first(), layouts.busiest_first()}) {
    // The block that ends last comes first in the next try; how often depends on the work that a try is.
    const std::size_t tries = 1 + std::min<std::size_t>(64, most_pairs / (1 + layouts.pairs()));
    for (std::size_t i = 0; i < tries && (is_first || best.bytes > least); ++i) {
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

/// The largest sum of bytes in use at one step, as the steps follow each other.
std::int64_t live_bytes_of(const std::vector<Block>& blocks) {
  std::map<std::int32_t, std::int64_t> changes;  // by steps
  for (const Block& each : blocks) {
    changes[each.steps.front()] += each.bytes;
    changes[each.steps.back() + 1] -= each.bytes;
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace

ArenaLayout lay_out(const std::vector<Block>& blocks, const Schedule& schedule, bool reuse) {
  std::vector<Use> uses;
  std::int64_t sum = 0;
  for (const Block& each : blocks) {
    uses.push_back(use_of(each, schedule));
    if (__builtin_add_overflow(sum, uses.back().bytes, &sum)) {
      impl::fail("portops::graph: the values between inputs and outputs have more bytes than memory can hold");
    }
  }
  const std::int64_t live_bytes = live_bytes_of(blocks);
  ArenaLayout layout;
  if (!reuse) {
    for (const Use& each : uses) {
      layout.offsets.push_back(layout.bytes);
      layout.bytes += each.bytes;
    }
  } else {
    Layouts layouts(uses);
    const bool is_feasible = for_each_pair(uses, [&](std::int32_t a, std::int32_t b) {
      const Use &x = uses[static_cast<std::size_t>(a)], &y = uses[static_cast<std::size_t>(b)];
      if (!is_before(x, y, schedule) && !is_before(y, x, schedule)) layouts.add_pair(a, b);
    });
    layout = is_feasible ? best_layout(layouts, aligned(live_bytes)) : in_order_of_steps(uses, sum);
  }
  layout.live_bytes = live_bytes;
  return layout;
}

}  // namespace portops::graph
