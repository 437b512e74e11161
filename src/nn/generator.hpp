// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/module.hpp"

#include <cstdint>

namespace portops::nn {

/// Where random numbers come from: Philox4x32 with ten rounds, of the key `seed` and the counter (i / 4, offset), 64
/// bits each, four words at a time; i counts the elements of a tensor. Every tensor, and every call of dropout that
/// asks for it, has an offset of its own: ag::dropout(ctx, x, {.seed = random.seed(), .offset = random.next_offset()}).
/// So the numbers are the same on every backend.
class Generator {
 public:
  explicit Generator(std::int64_t seed) : seed_(seed) {}

  std::int64_t seed() const { return seed_; }
  std::int64_t next_offset() { return offset_++; }
  /// `seed` and `offset`, i64, which go on being this generator's.
  PORTOPS_EXPORT State state();

 private:
  std::int64_t seed_;
  std::int64_t offset_ = 0;
};

// Parameters, whose gradient is wanted, unless said otherwise; contiguous, in the backend's memory. Numbers are made on
// the host in f64, rounded once, and copied: each of these waits.

/// Uniform in [−bound, bound): (2 · word · 2^-32 − 1) · bound.
PORTOPS_EXPORT Variable uniform(const Context& ctx, Generator& random, ElementType type, const Extents& extents,
                                double bound, autograd::Gradient gradient = autograd::Gradient::wanted);
/// Normal, with mean 0 and standard deviation 1: √(−2 ln u) · cos(2π v) and √(−2 ln u) · sin(2π v) of two words each,
/// u = (word + 1) · 2^-32, v = word · 2^-32 (Box and Muller, 1958).
PORTOPS_EXPORT Variable normal(const Context& ctx, Generator& random, ElementType type, const Extents& extents,
                               autograd::Gradient gradient = autograd::Gradient::wanted);
/// The same number everywhere.
PORTOPS_EXPORT Variable constant(const Context& ctx, ElementType type, const Extents& extents, double number,
                                 autograd::Gradient gradient = autograd::Gradient::wanted);

}  // namespace portops::nn
