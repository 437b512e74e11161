// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/slice/fill_slice.hpp"

#include "core/copy/copy_plan.hpp"
#include "core/copy/copy_run.hpp"
#include "core/copy/copy_words.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divisor_of.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/host_caches.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace portops::impl {
namespace {

/// An axis of the tensor, and what the slice has of it: places first, first + step, …, with a step of 1 or more.
template <class Index>
struct FilledAxis {
  Index extent, to_stride;
  Index first, step, count, from_stride;

  bool is_whole() const { return count == extent; }
};

/// Axes in the order in which the tensor lies in memory, the last one the fastest, neighbours merged wherever the
/// tensor and the slice allow. All numbers are in words, as wide as both allow, up to 16 bytes.
struct FillPlan {
  using Axis = FilledAxis<std::int64_t>;

  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int word_bytes = 0;
  int rank = 0;
  Axis axis[max_rank];

  std::int64_t size() const {
    std::int64_t result = 1;
    for (int k = 0; k < rank; ++k) result *= axis[k].extent;
    return result;
  }
  /// Whether the tensor's words lie in their order without gaps.
  bool is_dense() const {
    std::int64_t expected = 1;
    for (int k = rank - 1; k >= 0; expected *= axis[k--].extent) {
      if (axis[k].to_stride != expected) return false;
    }
    return true;
  }
  /// Whether all indices and offsets are far below 2^31.
  bool is_small() const {
    constexpr std::int64_t slack = 4096;
    std::int64_t to_reach = 0, from_reach = 0;
    for (int k = 0; k < rank; ++k) {
      to_reach += (axis[k].extent - 1) * axis[k].to_stride;
      from_reach += axis[k].count * std::abs(axis[k].from_stride);
    }
    return std::max({size(), to_reach, from_reach}) < INT32_MAX - slack;
  }
};

/// Adds an axis behind those that the plan has, or to the last one of them.
void add_axis(FillPlan& plan, const FillPlan::Axis& inner) {
  if (inner.extent == 1 && inner.is_whole()) return;
  if (plan.rank > 0) {
    FillPlan::Axis& outer = plan.axis[plan.rank - 1];
    const bool follows = outer.to_stride == inner.to_stride * inner.extent &&
                         (outer.count == 1 || outer.from_stride == inner.from_stride * inner.extent);
    if (follows && inner.is_whole() && outer.step == 1) {
      outer = {outer.extent * inner.extent, inner.to_stride,  outer.first * inner.extent, 1,
               outer.count * inner.extent,  inner.from_stride};
      return;
    }
  }
  plan.axis[plan.rank++] = inner;
}

/// The widest word, in elements, that the tensor and the slice consist of.
std::int64_t widest_word(const FillPlan& plan, std::int64_t element) {
  const FillPlan::Axis& last = plan.axis[plan.rank - 1];
  if (last.to_stride != 1 || last.step != 1 || (last.count > 1 && last.from_stride != 1)) return 1;
  std::int64_t bits = last.extent | last.first | last.count;
  for (int k = 0; k < plan.rank - 1; ++k) {
    bits |= plan.axis[k].to_stride | (plan.axis[k].count > 1 ? std::abs(plan.axis[k].from_stride) : 0);
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(bits * element) | reinterpret_cast<std::uintptr_t>(plan.to) |
                              reinterpret_cast<std::uintptr_t>(plan.from);
  std::int64_t word = gpu_pack_bytes;
  while (bytes % static_cast<std::uint64_t>(word) != 0) word /= 2;
  return word / element;
}

FillPlan make_fill_plan(const TensorRef& from, const TensorRef& to, const std::array<AxisSlice, max_rank>& slices) {
  const auto element = static_cast<std::int64_t>(size_of(to.type()));
  const bool has_elements = from.size() != 0;
  FillPlan plan;
  plan.to = static_cast<std::byte*>(to.data());
  plan.from = has_elements ? static_cast<const std::byte*>(from.data()) : plan.to;  // not read
  std::array<FillPlan::Axis, max_rank> axes;
  for (int k = 0; k < to.rank(); ++k) {
    const AxisSlice slice = has_elements ? slices[static_cast<std::size_t>(k)] : AxisSlice{0, 1, to.extent(k)};
    FillPlan::Axis axis{to.extent(k), to.stride(k), slice.first,
                        slice.step,   slice.count,  has_elements ? from.stride(k) : to.stride(k)};
    if (axis.to_stride < 0) {  // walked from its other end
      plan.to += (axis.extent - 1) * axis.to_stride * element;
      axis.to_stride = -axis.to_stride;
      axis.first = axis.extent - 1 - axis.first;
      axis.step = -axis.step;
    }
    if (axis.count == 1) axis.step = 1;
    if (axis.step < 0) {
      axis.first += (axis.count - 1) * axis.step;
      axis.step = -axis.step;
      if (has_elements) plan.from += (axis.count - 1) * axis.from_stride * element;
      axis.from_stride = -axis.from_stride;
    }
    axes[static_cast<std::size_t>(k)] = axis;
  }
  const auto end = axes.begin() + to.rank();
  std::stable_sort(axes.begin(), end, [](const auto& a, const auto& b) { return a.to_stride > b.to_stride; });
  std::for_each(axes.begin(), end, [&](const auto& axis) { add_axis(plan, axis); });
  if (plan.rank == 0) plan.axis[plan.rank++] = {1, 1, 0, 1, 1, 1};
  if (!has_elements) plan.axis[plan.rank - 1].count = 0;

  const std::int64_t word = widest_word(plan, element);
  FillPlan::Axis& last = plan.axis[plan.rank - 1];
  for (std::int64_t* number : {&last.extent, &last.first, &last.count}) *number /= word;
  for (int k = 0; k < plan.rank - 1; ++k) {
    plan.axis[k].to_stride /= word;
    plan.axis[k].from_stride /= word;
  }
  plan.word_bytes = static_cast<int>(word * element);
  return plan;
}

/// Finds words of a FillPlan by their numbers. Index may be int where the plan is small.
template <class Word, class Index>
class FilledWords {
 public:
  explicit FilledWords(const FillPlan& plan)
      : to_(reinterpret_cast<Word*>(plan.to)),
        from_(reinterpret_cast<const Word*>(plan.from)),
        rank_(plan.rank),
        size_(static_cast<Index>(plan.size())) {
    const auto index = [](std::int64_t number) { return static_cast<Index>(number); };
    for (int k = 0; k < rank_; ++k) {
      const FillPlan::Axis& axis = plan.axis[k];
      axis_[k] = {index(axis.extent), index(axis.to_stride), index(axis.first),
                  index(axis.step),   index(axis.count),     index(axis.from_stride)};
      extent_[k] = make_divisor(axis_[k].extent);
      step_[k] = make_divisor(axis_[k].step);
    }
    last_ = axis_[rank_ - 1];  // NOLINT: ranks are 1 to max_rank
    if (rank_ > 1 && plan.axis[rank_ - 2].is_whole()) next_ = axis_[rank_ - 2];
  }

 protected:
  /// A row along the last axis, and a place on it.
  struct Row {
    Word* to;
    const Word* from;
    Index place;
    Index outer;     ///< the place along the axis before the last one
    bool is_inside;  ///< the slice has something of it
  };

  KOKKOS_FORCEINLINE_FUNCTION Row locate(Index index) const {
    Row row{to_, from_, 0, 0, true};
    Index outer = rank_ > 1 ? static_cast<Index>(extent_[rank_ - 1].quotient(index)) : 0;
    row.place = index - outer * last_.extent;
    PORTOPS_NO_UNROLL
    for (int k = rank_ - 2; k >= 0; --k) {
      const FilledAxis<Index>& axis = axis_[k];  // NOLINT: the same
      const Index rest = outer;
      outer = k > 0 ? static_cast<Index>(extent_[k].quotient(rest)) : 0;
      const Index place = rest - outer * axis.extent;
      if (k == rank_ - 2) row.outer = place;
      const Index number = number_at(k, axis, place);
      row.is_inside = row.is_inside && number >= 0;
      row.to += place * axis.to_stride;
      row.from += (number > 0 ? number : 0) * axis.from_stride;
    }
    return row;
  }

  /// From behind the end of a row to the beginning of the next one, where word `index` lies.
  KOKKOS_FORCEINLINE_FUNCTION void go_to_next(Row& row, Index index) const {
    if (++row.outer >= next_.extent) {
      row = locate(index);
      return;
    }
    row.place = 0;
    row.to += next_.to_stride;
    row.from += next_.from_stride;
  }

  /// The word at a row's place, and what it becomes.
  KOKKOS_FORCEINLINE_FUNCTION Word* to_at(const Row& row) const { return row.to + row.place * last_.to_stride; }
  KOKKOS_FORCEINLINE_FUNCTION Word word_at(const Row& row) const {
    const Word* const from = from_at(row);
    return from != nullptr ? *in_device_memory(from) : Word{};
  }
  /// The word of the slice that comes there, or null where there is none.
  KOKKOS_FORCEINLINE_FUNCTION const Word* from_at(const Row& row) const {
    const Index number = row.is_inside ? number_at(rank_ - 1, last_, row.place) : -1;
    return number >= 0 ? row.from + number * last_.from_stride : nullptr;
  }

  Word* to_;
  const Word* from_;
  int rank_;
  Index size_;
  FilledAxis<Index> last_;
  FilledAxis<Index> next_ = {};  ///< the axis before it, where the slice has all of that

 private:
  /// Which of the slice's places along an axis this is; negative for others.
  KOKKOS_FORCEINLINE_FUNCTION Index number_at(int k, const FilledAxis<Index>& axis, Index place) const {
    const Index behind = place - axis.first;
    const Index number = behind < 0 ? -1 : static_cast<Index>(step_[k].quotient(behind));
    return number < axis.count && number * axis.step == behind ? number : -1;
  }

  FilledAxis<Index> axis_[max_rank] = {};
  DivisorOf<Index> extent_[max_rank], step_[max_rank];
};

/// On a GPU a thread writes a pack of 16 bytes. In most of them are neighbours of the slice, or zeros; in others the
/// words are found one by one.
template <class Word, class Index>
class FillPacks : protected FilledWords<Word, Index> {
  using Base = FilledWords<Word, Index>;
  using Base::to_;

 public:
  static constexpr int blocks = 0;

  explicit FillPacks(const FillPlan& plan) : Base(plan) {
    const auto misaligned = static_cast<Index>(reinterpret_cast<std::uintptr_t>(to_) % gpu_pack_bytes / sizeof(Word));
    const auto has_aligned_rows = [&] {
      std::int64_t bits = misaligned | last_.extent;
      for (int k = 0; k < plan.rank - 1; ++k) bits |= plan.axis[k].to_stride;
      return last_.to_stride == 1 && bits % pack == 0;
    };
    const bool dense = plan.is_dense();
    in_packs_ = dense || has_aligned_rows();
    head_ = dense ? misaligned : 0;
    run_ = last_.step == 1 && last_.from_stride == 1 ? last_.count : 0;
    end_ = last_.count == 0 ? 0 : last_.first + (last_.count - 1) * last_.step + 1;
  }

  std::int64_t items() const { return ceil_div(std::int64_t{size_} + head_, pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const Index first = static_cast<Index>(item) * pack - head_;
    fill(this->locate(first < 0 ? 0 : first), first, [&](Row& row, Index index) { this->go_to_next(row, index); });
  }

 protected:
  static constexpr int pack = static_cast<int>(gpu_pack_bytes / sizeof(Word));
  using Base::last_, Base::size_;
  using typename Base::Row;

  /// The pack from word `first` on, whose row this is (of word 0 where `first` is before it). From behind the end of a
  /// row next(row, index) goes to the next one, where word `index` lies.
  template <class Next>
  KOKKOS_FORCEINLINE_FUNCTION void fill(Row row, Index first, const Next& next) const {
    const bool whole = in_packs_ && first >= 0 && first + pack <= size_;
    auto* const to = reinterpret_cast<Words*>(in_device_memory(this->to_at(row)));
    if (whole && row.place + pack <= last_.extent) {
      const Index behind = row.place - last_.first;
      if (!row.is_inside || behind + pack <= 0 || row.place >= end_) {
        *to = Words{};
        return;
      }
      if (behind >= 0 && behind + pack <= run_) {
        *to = neighbours(row.from + behind);
        return;
      }
    }
    if (whole) {
      *to = found(row, first, next);
      return;
    }
    PORTOPS_NO_UNROLL
    for (int i = 0; i < pack; ++i) {
      if (first + i < 0 || first + i >= size_) continue;
      if (row.place == last_.extent) next(row, first + i);
      *in_device_memory(this->to_at(row)) = this->word_at(row);
      ++row.place;
    }
  }

  Index head_;  ///< words that the first pack would have before the tensor

 private:
  using Words = Pack<Word, pack>;

  /// The words of a pack one by one: first where they are, so that all are on their way together.
  template <class Next>
  KOKKOS_FORCEINLINE_FUNCTION Words found(Row row, Index first, const Next& next) const {
    const Word* from[pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      from[i] = this->from_at(row);
      if (++row.place == last_.extent && i + 1 < pack) next(row, first + i + 1);
    }
    Words words;
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) words.element[i] = from[i] != nullptr ? *in_device_memory(from[i]) : Word{};
    return words;
  }

  KOKKOS_FORCEINLINE_FUNCTION static Words neighbours(const Word* from) {
    if (reinterpret_cast<std::uintptr_t>(from) % gpu_pack_bytes == 0) {
      return *reinterpret_cast<const Words*>(in_device_memory(from));
    }
    Words words;
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) words.element[i] = in_device_memory(from)[i];
    return words;
  }

  bool in_packs_;  ///< a pack of words is one in memory
  Index run_;      ///< neighbours that the slice has of a row
  Index end_;      ///< the place behind the slice's last one
};

/// The same for long rows: a team takes neighbouring packs, and finds each of their rows once.
template <Backend B, class Word, class Index>
class FillBlocks : FillPacks<Word, Index> {
  using Base = FillPacks<Word, Index>;
  using Base::pack, Base::head_, Base::last_, Base::size_;
  using typename Base::Row;

 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 0;
  static constexpr int threads = 256;
  /// In words: of shorter rows a team would have too many.
  static constexpr std::int64_t least_row = 64;
  std::int64_t first_team = 0;

  explicit FillBlocks(const FillPlan& plan)
      : Base(plan), rounds_(static_cast<int>(std::clamp<std::int64_t>(Base::items() / wanted_items, 1, most_rounds))) {
    row_extent_ = make_divisor(last_.extent);
  }

  std::int64_t teams() const { return ceil_div(Base::items(), std::int64_t{threads} * rounds_); }
  std::size_t scratch_bytes() const { return sizeof(Row) * most_rows; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    Row* const rows = scratch_of<Row>(team);
    const Index words = threads * rounds_ * pack;
    const Index first = static_cast<Index>(first_team + team.league_rank()) * words - head_;
    const Index first_row = row_of(first < 0 ? 0 : first);
    const Index last_row = row_of((first + words < size_ ? first + words : size_) - 1);
    for (Index row = first_row + team.team_rank(); row <= last_row; row += threads) {
      rows[row - first_row] = this->locate(row * last_.extent);
    }
    team.team_barrier();
    PORTOPS_NO_UNROLL
    for (int round = 0; round < rounds_; ++round) {
      const Index index = first + (round * threads + team.team_rank()) * pack;
      if (index >= size_) return;
      const Index at = index < 0 ? 0 : index;
      Index number = row_of(at);
      Row row = rows[number - first_row];
      row.place = at - number * last_.extent;
      this->fill(row, index, [&](Row& its, Index) { its = rows[++number - first_row]; });
    }
  }

 private:
  static constexpr std::int64_t most_rounds = 8, wanted_items = 4 * gpu_teams_at_once * threads;
  static constexpr std::size_t most_rows = most_rounds * threads * pack / least_row + 2;

  KOKKOS_FORCEINLINE_FUNCTION Index row_of(Index word) const { return static_cast<Index>(row_extent_.quotient(word)); }

  int rounds_;
  DivisorOf<Index> row_extent_;
};

/// On a host an item is a run of words, taken row by row.
template <class Word>
class FillRuns : FilledWords<Word, std::int64_t> {
  using Base = FilledWords<Word, std::int64_t>;
  using Base::last_, Base::size_;
  using typename Base::Row;

 public:
  static constexpr int blocks = 0;

  explicit FillRuns(const FillPlan& plan)
      : Base(plan), streaming_(exceeds_host_caches(plan.size() * plan.word_bytes)) {}

  std::int64_t items() const { return ceil_div(size_, words); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((fill(item * words, std::min(size_, (item + 1) * words));))
  }

 private:
  static constexpr std::int64_t words = (std::int64_t{1} << 17) / static_cast<std::int64_t>(sizeof(Word));

  void fill(std::int64_t first, std::int64_t end) const {
    while (first < end) {
      const Row row = this->locate(first);
      const std::int64_t count = std::min(last_.extent - row.place, end - first);
      fill_row(row, count);
      first += count;
    }
    if (streaming_) host::end_of_streaming();
  }

  void fill_row(Row row, std::int64_t count) const {
    if (last_.to_stride != 1 || last_.from_stride != 1 || last_.step != 1) {
      for (; count > 0; --count, ++row.place) *this->to_at(row) = this->word_at(row);
      return;
    }
    Word* const to = this->to_at(row);
    const std::int64_t slice_end = last_.first + (row.is_inside ? last_.count : 0);
    const std::int64_t begin = std::clamp<std::int64_t>(last_.first - row.place, 0, count);
    const std::int64_t end = std::clamp<std::int64_t>(slice_end - row.place, begin, count);
    std::fill(to, to + begin, Word{});
    if (end > begin) host::copy_run(to + begin, row.from + (row.place + begin - last_.first), end - begin, streaming_);
    std::fill(to + end, to + count, Word{});
  }

  bool streaming_;
};

template <Backend B, class Word>
void launch_fill(const Context& ctx, const FillPlan& plan) {
  static const std::string label = "portops::slice_grad::fill[slice]";
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, FillRuns<Word>(plan));
  } else {
    const auto launch = [&]<class Index>() {
      using Blocks = FillBlocks<B, Word, Index>;
      plan.axis[plan.rank - 1].extent < Blocks::least_row ? launch_by_items<B>(ctx, label, FillPacks<Word, Index>(plan))
                                                          : launch_by_teams<B>(ctx, label, Blocks(plan));
    };
    plan.is_small() ? launch.template operator()<int>() : launch.template operator()<std::int64_t>();
  }
}

}  // namespace

void fill_slice(const Context& ctx, const TensorRef& from, const TensorRef& to,
                const std::array<AxisSlice, max_rank>& slices) {
  const FillPlan plan = make_fill_plan(from, to, slices);
  dispatch_backend(ctx.backend(), [&]<Backend B>() {
    switch (plan.word_bytes) {
      case 2: return launch_fill<B, std::uint16_t>(ctx, plan);
      case 4: return launch_fill<B, std::uint32_t>(ctx, plan);
      case 8: return launch_fill<B, std::uint64_t>(ctx, plan);
      default: return launch_fill<B, WidestWord>(ctx, plan);
    }
  });
}

}  // namespace portops::impl
