// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "core/map/sum_plan.hpp"

#include <string>

namespace portops::impl {

/// out = Σ partial, in double, by trees of fixed shape. A team takes `results` results, with `terms` threads each (both
/// powers of two); a thread adds up every terms-th term, then the threads' sums are added pairwise.
template <Backend B, class T>
class SumPartials {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = B == Backend::cuda ? 256 : 1;

  SumPartials(const SumPlan& plan, A* partials) : plan_(plan), partials_(partials) {
    // Few terms a thread: their loads take longer than everything else.
    while (terms_ < threads && terms_ * terms_of_a_thread < plan.chunk) terms_ *= 2;
    // Where results are neighbours in memory, threads that read together should read what lies together.
    constexpr int neighbours = 8;
    while (plan.kept_is_fastest && terms_ > 1 && results() < neighbours && results() < plan.kept) terms_ /= 2;
  }

  KOKKOS_FUNCTION int results() const { return threads / terms_; }
  KOKKOS_FUNCTION std::int64_t teams() const { return (plan_.kept * plan_.parts + results() - 1) / results(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const { return threads > 1 ? threads * sizeof(double) : 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* scratch = static_cast<double*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 8));
    for (std::int64_t index = team.league_rank(); index < teams(); index += team.league_size()) {
      write_results(team, index * results(), scratch);
    }
  }

 private:
  static constexpr int terms_of_a_thread = 8;
  static constexpr int batch = B == Backend::cuda ? terms_of_a_thread : 1;

  KOKKOS_FUNCTION void write_results(const Team& team, std::int64_t first, [[maybe_unused]] double* scratch) const {
    const int rank = team.team_rank();
    const int result = plan_.kept_is_fastest ? rank % results() : rank / terms_;
    const int term = plan_.kept_is_fastest ? rank / results() : rank % terms_;
    const std::int64_t index = first + result;
    const bool exists = index < plan_.kept * plan_.parts;
    const std::int64_t part = plan_.parts == 1 ? 0 : quotient(index, plan_.kept);
    const std::int64_t kept = index - part * plan_.kept;
    std::int64_t out_at = 0;
    double sum = 0.0;
    if (exists) {
      const std::int64_t begin = part * plan_.chunk;
      const std::int64_t end = begin + plan_.chunk < plan_.summed ? begin + plan_.chunk : plan_.summed;
      sum = sum_of_terms(partials_ + plan_.partial_at + locate(kept, out_at), begin + term, end);
    }
    if constexpr (threads > 1) {
      double* own = scratch + result * terms_ + term;
      *own = sum;
      for (int half = terms_ / 2; half > 0; half /= 2) {
        team.team_barrier();
        if (term < half) *own += own[half];
      }
      sum = *own;
      team.team_barrier();
    }
    if (term != 0 || !exists) return;
    if (plan_.out != nullptr) {
      reinterpret_cast<T*>(plan_.out)[out_at] = static_cast<T>(static_cast<A>(sum));
    } else {
      partials_[plan_.out_partial_at + index] = static_cast<A>(sum);
    }
  }

  /// Where the partial sums of a result start, and where it goes.
  KOKKOS_FUNCTION std::int64_t locate(std::int64_t kept, std::int64_t& out_at) const {
    std::int64_t partial_at = 0;
    for (int axis = 0; axis < plan_.kept_rank; ++axis) {
      const std::int64_t rest = axis == plan_.kept_rank - 1 ? 0 : quotient(kept, plan_.kept_extent[axis]);
      const std::int64_t at = kept - rest * plan_.kept_extent[axis];
      kept = rest;
      partial_at += at * plan_.kept_stride[axis];
      out_at += at * plan_.out_stride[axis];
    }
    return partial_at;
  }

  KOKKOS_FUNCTION double sum_of_terms(const A* from, std::int64_t begin, std::int64_t end) const {
    double sum = 0.0;
    for (std::int64_t index = begin; index < end; index += batch * terms_) {
      // Loaded together: one after the other they would take longer than all the rest.
      A loaded[batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const std::int64_t term = index + b * terms_;
        loaded[b] = term < end ? from[offset_of_term(term)] : A(0);
      }
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) sum += static_cast<double>(loaded[b]);
    }
    return sum;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset_of_term(std::int64_t index) const {
    if (plan_.summed_rank == 1) return index * plan_.summed_stride[0];
    std::int64_t at = 0;
    PORTOPS_NO_UNROLL
    for (int axis = 0; axis < plan_.summed_rank; ++axis) {
      const std::int64_t rest = axis == plan_.summed_rank - 1 ? 0 : quotient(index, plan_.summed_extent[axis]);
      at += (index - rest * plan_.summed_extent[axis]) * plan_.summed_stride[axis];
      index = rest;
    }
    return at;
  }

  SumPlan plan_;
  A* partials_;
  int terms_ = 1;
};

/// Enqueues the sum. A plan without terms writes zeros.
template <Backend B, class T>
struct SumPartialsKernels {
  static void launch(const Context& ctx, const std::string& label, const SumPlan& plan, void* partials);
};

}  // namespace portops::impl
