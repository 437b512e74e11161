// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/map/input_set.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace portops::test {
namespace {

using impl::InputSet;

template <int number, bool summing>
struct Functor {
  static constexpr int inputs = number;
  static constexpr bool sums = summing;
};

struct FunctorWithSets {
  static constexpr int inputs = 3;
  static constexpr bool sums = false;
  static constexpr std::array inputs_in_packs{InputSet{1}, InputSet{0, 2}, InputSet{}};
};

/// The sets for which kernels of a functor are compiled, bit by bit.
template <class F>
std::vector<unsigned> sets_of() {
  std::vector<unsigned> result;
  for (const InputSet& set : impl::inputs_in_packs<F>()) result.push_back(set.bits());
  return result;
}

/// Which of them a call takes whose inputs in packs are `bits`.
template <class F>
unsigned set_for(unsigned bits) {
  unsigned result = 0;
  impl::with_inputs_in_packs<F>(bits, [&]<unsigned own>() { result = own; });
  return result;
}

TEST(InputSetTest, are_the_largest_input_alone_and_all_where_a_functor_names_none) {
  EXPECT_EQ((sets_of<Functor<1, false>>()), (std::vector{0b1u}));
  EXPECT_EQ((sets_of<Functor<1, true>>()), (std::vector{0b1u}));
  EXPECT_EQ((sets_of<Functor<2, false>>()), (std::vector{0b01u, 0b11u})) << "the first";
  EXPECT_EQ((sets_of<Functor<2, true>>()), (std::vector{0b10u, 0b11u})) << "out_grad, the last";
  EXPECT_EQ((sets_of<Functor<4, true>>()), (std::vector{0b1000u, 0b1111u}));
}

TEST(InputSetTest, are_those_that_a_functor_names) {
  EXPECT_EQ(sets_of<FunctorWithSets>(), (std::vector{0b010u, 0b101u, 0u}));
}

TEST(InputSetTest, chooses_the_kernel_that_asks_the_plan_for_all_other_sets) {
  for (unsigned bits = 0; bits < 8; ++bits) {
    const bool is_named = bits == 0b010u || bits == 0b101u || bits == 0;
    EXPECT_EQ(set_for<FunctorWithSets>(bits), is_named ? bits : impl::unknown_inputs) << bits;
  }
}

}  // namespace
}  // namespace portops::test
