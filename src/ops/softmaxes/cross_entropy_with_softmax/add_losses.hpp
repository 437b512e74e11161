// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy.hpp"

#include <algorithm>

namespace portops::impl {

/// Losses added up, and how many of them count.
struct LossSum {
  double loss;
  double counts;
};

/// Adds up the losses of rows, or what the parts of many rows came to, in a fixed order and in double. Several parts
/// leave what they come to; one part writes the results.
template <Backend B, class T, class From>
class AddLosses {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = B == Backend::cuda ? 4 : 0;

  AddLosses(const CrossEntropyPlan& plan, const From* from, std::int64_t terms, std::int64_t part_terms, LossSum* parts)
      : from_(from),
        terms_(terms),
        part_terms_(part_terms),
        parts_(parts),
        sum_(static_cast<T*>(plan.sum)),
        count_(plan.count),
        mean_(plan.mean) {}

  std::int64_t items() const { return std::max<std::int64_t>(ceil_div(terms_, part_terms_), 1); }
  std::int64_t teams() const { return items(); }
  std::size_t scratch_bytes() const { return threads / 32 * sizeof(double); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t part = first_team + team.league_rank();
    LossSum sum = add_up(part, team.team_rank(), threads);
    auto* const scratch = scratch_of<double>(team);
    sum.loss = join_over_group<threads>(team, scratch, sum.loss, threads, Plus());
    sum.counts = join_over_group<threads>(team, scratch, sum.counts, threads, Plus());
    if (team.team_rank() == 0) write(part, sum);
  }
  /// On hosts.
  KOKKOS_FUNCTION void operator()(std::int64_t part) const { write(part, add_up(part, 0, 1)); }

 private:
  static constexpr int batch = B == Backend::cuda ? 8 : 1;

  /// Every lanes-th term of the part, from `lane` on.
  KOKKOS_FUNCTION LossSum add_up(std::int64_t part, int lane, int lanes) const {
    const std::int64_t first = part * part_terms_;
    const std::int64_t end = first + part_terms_ < terms_ ? first + part_terms_ : terms_;
    LossSum sum{0.0, 0.0};
    PORTOPS_NO_UNROLL
    for (std::int64_t at = first + lane; at < end; at += batch * lanes) {
      From loaded[batch];
      PORTOPS_UNROLL
      for (int i = 0; i < batch; ++i) loaded[i] = at + i * lanes < end ? from_[at + i * lanes] : From{0, 0};
      PORTOPS_UNROLL
      for (int i = 0; i < batch; ++i) {
        sum.loss += static_cast<double>(loaded[i].loss);
        sum.counts += static_cast<double>(loaded[i].counts);
      }
    }
    return sum;
  }

  KOKKOS_FUNCTION void write(std::int64_t part, const LossSum& sum) const {
    if (parts_ != nullptr) {
      parts_[part] = sum;
      return;
    }
    if (count_ != nullptr) *count_ = static_cast<std::int64_t>(sum.counts);
    if (sum_ == nullptr) return;
    const double divisor = mean_ && sum.counts > 0.0 ? sum.counts : 1.0;
    *sum_ = static_cast<T>(static_cast<Arithmetic<T>>(sum.loss / divisor));
  }

  const From* from_;
  std::int64_t terms_;
  std::int64_t part_terms_;
  LossSum* parts_;
  T* sum_;
  std::int64_t* count_;
  bool mean_;
};

}  // namespace portops::impl
