// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "ops/normalization/norm_map.hpp"

namespace portops::impl {

/// The same as NormMap for large planes of whole packs, where sides have a number for each channel: a team takes a part
/// of a plane, whose place its threads find together, and each of them some packs. From the end on: what a reduction
/// has read last is still in a cache.
template <Backend B, class T, class F>
class NormMapPlanes {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 128;
  static constexpr int blocks = 4;

  /// Rows of the plan are planes. Operands lie in it as they do in a kernel's arrays: inputs, sides, out.
  static bool suits(const ReducePlan& plan) {
    if (plan.rank > 2 || plan.pack != width || plan.columns / width < least_packs) return false;
    for (int k = 0; k < operands; ++k) {
      const ReducePlan::Operand& operand = plan.operand[static_cast<std::size_t>(k)];
      const bool is_side = k >= F::inputs && k < operands - 1;
      if (operand.column_stride != (is_side ? 0 : 1) || (!is_side && !operand.packs)) return false;
    }
    return true;
  }

  NormMapPlanes(const NormRows<T, F>& rows, const ReducePlan& plan)
      : out_(reinterpret_cast<T*>(plan.operand[operands - 1].data)),
        packs_(plan.columns / width),
        channels_(plan.rank == 0 ? 1 : plan.extent[static_cast<std::size_t>(plan.rank - 1)]),
        by_channels_(channels_) {
    const std::int64_t parts = ceil_div(packs_, threads * batch);
    part_packs_ = ceil_div(ceil_div(packs_, parts), packs_of_line) * packs_of_line;
    parts_ = ceil_div(packs_, part_packs_);
    by_parts_ = IndexDivisor(parts_);
    teams_ = plan.runs * parts_;
    for (int k = 0; k < operands; ++k) {
      const auto& stride = plan.operand[static_cast<std::size_t>(k)].stride;
      stride_[k] = {plan.rank == 2 ? stride[0] : 0,
                    plan.rank == 0 ? 0 : stride[static_cast<std::size_t>(plan.rank - 1)]};
    }
    for (int k = 0; k < F::inputs; ++k) in_[k] = rows.in[k].data;
    for (int k = 0; k < F::sides; ++k) side_[k] = rows.side[k];
  }

  std::int64_t teams() const { return teams_; }
  static std::size_t scratch_bytes() { return 0; }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t index = teams_ - 1 - (first_team + team.league_rank()), plane = by_parts_.quotient(index);
    const std::int64_t image = by_channels_.quotient(plane), channel = plane - image * channels_;
    const std::int64_t begin = (index - plane * parts_) * part_packs_, rest = packs_ - begin;
    const int packs = static_cast<int>(rest < part_packs_ ? rest : part_packs_) - team.team_rank();
    const std::int64_t first = (begin + team.team_rank()) * width;
    const auto place = [&](int k) { return image * stride_[k].image + channel * stride_[k].channel; };
    Word<T, width> in[batch][F::inputs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const T* const from = pinned(in_[k] + place(k) + first);
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        if (b * threads < packs) in[b][k] = *reinterpret_cast<const Word<T, width>*>(from + b * threads * width);
      }
    }
    A sides[F::sides];
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) sides[k] = side_[k].get(place(operand_of_side<F>(k)));
    T* const to = pinned(out_ + place(operands - 1) + first);
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (b * threads < packs) {
        *reinterpret_cast<Word<T, width>*>(to + b * threads * width) = map_steady_pack<T, F>(in[b], sides);
      }
    }
  }

 private:
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 4 / F::inputs;
  static constexpr int operands = F::inputs + planned_sides<F> + 1;
  static constexpr int packs_of_line = 128 / gpu_pack_bytes;
  static constexpr std::int64_t least_packs = 256;

  struct Strides {
    std::int64_t image, channel;
  };

  const T* in_[F::inputs];
  T* out_;
  Side<T> side_[F::sides];
  Strides stride_[operands];
  std::int64_t packs_;       ///< of a plane
  std::int64_t part_packs_;  ///< of a team's part of it
  std::int64_t parts_ = 1;
  IndexDivisor by_parts_;
  std::int64_t channels_;
  IndexDivisor by_channels_;
  std::int64_t teams_;
};

}  // namespace portops::impl
