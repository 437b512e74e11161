// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/sampling.hpp"

#include <type_traits>

namespace portops::impl {

/// im2col: a step's windows, each a row of group after group, in it tap after tap, channels fastest.
template <Backend B, class T, int N, class Sampler>
class Columns {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = B == Backend::cuda ? 256 : 1;
  static constexpr int blocks = 0;
  /// Of a team, which it finds first and then takes channel by channel: a group of lanes a sample.
  static constexpr int team_samples = 64;
  std::int64_t first_team = 0;

  Columns(const Windows& windows, const Sampler& sampler, const T* x, const PixelStrides& strides, T* columns)
      : windows_(windows),
        sampler_(sampler),
        packs_(windows),
        x_(x),
        strides_(strides),
        columns_(columns),
        lanes_(packs_.template lanes<B>()) {}

  std::int64_t teams() const { return ceil_div(windows_.all_samples(), team_samples); }
  static std::size_t scratch_bytes() { return team_samples * sizeof(Entry); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t first = (first_team + team.league_rank()) * team_samples;
    const std::int64_t left = windows_.all_samples() - first;
    const int count = left < team_samples ? static_cast<int>(left) : team_samples;
    Entry* const entries = scratch_of<Entry>(team);
    for (int i = team.team_rank(); i < count; i += threads) entries[i] = make_entry(first + i);
    team.team_barrier();
    const int lane = team.team_rank() & (lanes_ - 1);
    for (int i = team.team_rank() / lanes_; i < count; i += threads / lanes_) write(entries[i], lane);
  }

 private:
  static constexpr int corners = std::invoke_result_t<Sampler, SampleIndex>::corner_count;

  /// A sample, as far as it does not depend on the channel.
  struct Entry {
    std::int64_t corner[corners];  ///< where the channels lie in x
    std::int64_t column;
    A weight[corners];
    A nothing;  ///< what a sample outside of the image is
    std::int32_t deformable_group;
    bool outside;
  };

  KOKKOS_FUNCTION Entry make_entry(std::int64_t index) const {
    const SampleIndex at = sample_index(windows_, index);
    const auto sample = sampler_(at);
    Entry entry{};
    entry.column = column_offset(windows_, at);
    entry.deformable_group = sample.deformable_group;
    entry.outside = sample.is_outside();
    entry.nothing = nothing_of(sample);
    if (entry.outside) return entry;
    factored_weights(sample, entry.weight);
    for (int k = 0; k < corners; ++k) entry.corner[k] = sample.offset(strides_, k);
    return entry;
  }

  KOKKOS_FUNCTION void write(const Entry& entry, int lane) const {
    const T* corner[corners];
    A weight[corners];
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      corner[k] = x_ + entry.corner[k];
      weight[k] = entry.weight[k];
    }
    T* const column = columns_ + entry.column;
    const int deformable_group = entry.deformable_group;
    const A nothing = entry.nothing;
    const bool outside = entry.outside;
    const int count = packs_.count();
    for (int index = lane; index < count; index += lanes_) {
      const auto pack = packs_(deformable_group, index);
      A values[N];
      if (outside) {
        for (int i = 0; i < N; ++i) values[i] = nothing;
      } else {
        blend<B, T, N>(values, corner, weight, pack.channel, pack.count);
      }
      write_channels<B, T, N>(column + pack.column, values, pack.count);
    }
  }

  Windows windows_;
  Sampler sampler_;
  ChannelPacks<N> packs_;
  const T* x_;
  PixelStrides strides_;
  T* columns_;
  int lanes_;
};

}  // namespace portops::impl
