// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

// Which inputs of a functor a walk through tiles reads by packs in each of its steps. The others are broadcast: the
// same in all steps, or one element a row. A walk is compiled for each set of inputs that usual calls have, and once
// more for all others, which asks the plan. The empty set is for walks whose inputs are the same in all steps: they
// compute once and store.

namespace portops::impl {

/// Inputs of a functor, by their numbers.
class InputSet {
 public:
  constexpr InputSet(std::initializer_list<int> inputs) {
    for (const int input : inputs) bits_ |= 1u << input;
  }
  static constexpr InputSet first(int count) {
    InputSet set{};
    for (int input = 0; input < count; ++input) set.bits_ |= 1u << input;
    return set;
  }

  /// Bit k stands for input k.
  constexpr unsigned bits() const { return bits_; }

 private:
  unsigned bits_ = 0;
};

/// The sets for which kernels of the functor are compiled: its own, `inputs_in_packs`, where it names any. Else the
/// input that is as large as the loop in nearly every call, alone, and all inputs. That one is the first or, of a
/// functor that sums, the last: out_grad.
template <class F>
constexpr auto inputs_in_packs() {
  if constexpr (requires { F::inputs_in_packs; }) {
    return F::inputs_in_packs;
  } else if constexpr (F::inputs == 1) {
    return std::array{InputSet{0}};
  } else {
    return std::array{InputSet{F::sums ? F::inputs - 1 : 0}, InputSet::first(F::inputs)};
  }
}

/// The set of a kernel that asks the plan, for more instructions and registers.
inline constexpr unsigned unknown_inputs = ~0u;

/// Calls launch<bits>() with those of the set that is `bits`, or with unknown_inputs where no set is.
template <class F, class Launch, std::size_t i = 0>
void with_inputs_in_packs(unsigned bits, const Launch& launch) {
  constexpr auto sets = inputs_in_packs<F>();
  if constexpr (i == sets.size()) {
    launch.template operator()<unknown_inputs>();
  } else {
    constexpr unsigned own = sets[i].bits();
    static_assert(own >> F::inputs == 0, "inputs_in_packs: a set of inputs of the functor");
    if (bits == own) {
      launch.template operator()<own>();
    } else {
      with_inputs_in_packs<F, Launch, i + 1>(bits, launch);
    }
  }
}

}  // namespace portops::impl
