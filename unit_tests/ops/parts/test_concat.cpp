// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parts_reference.hpp"

#include <portops/ops/concat.hpp>
#include <portops/ops/split.hpp>

#include <array>

// concat and split move every element to where it belongs, and nothing else; so do their gradients.

namespace portops::test {
namespace {

class ConcatTest : public OnEveryBackend {
 protected:
  /// Calls check with the tensors of each case in each pair of layouts.
  template <class T>
  void for_each_case(const std::function<void(PartsTensors<T>&)>& check) const {
    for (PartsCase what : parts_cases()) {
      const bool is_large = what.lengths.size() > 100;
      for (what.whole = Layout::contiguous;; what.whole = Layout::every_other) {
        for (const Layout part : all_layouts) {
          what.part = part;
          if (is_large && part != Layout::contiguous && part != Layout::padded) continue;
          PartsTensors<T> tensors(ctx, what);
          check(tensors);
          if (HasFailure()) return;
        }
        if (what.whole == Layout::every_other) break;
      }
    }
  }

  template <class T>
  void check_layouts_of_the_whole() const {
    for (const Layout whole : all_layouts) {
      for (const Layout part : all_layouts) {
        for (int axis = 0; axis < 3; ++axis) {
          PartsTensors<T> tensors(ctx, {{4, 6, 8}, axis, {2, 5, 3}, whole, part});
          tensors.fill_parts();
          concat(ctx, tensors.part_refs(), tensors.whole, {.axis = axis});
          tensors.download();
          tensors.expect_same();
          PartsTensors<T> back(ctx, tensors.what);
          back.fill_whole();
          split(ctx, back.whole, back.part_refs(), {.sections = tensors.what.lengths, .axis = axis});
          back.download();
          back.expect_same();
          if (HasFailure()) return;
        }
      }
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(ConcatTest);

TEST_P(ConcatTest, puts_every_tensor_where_it_belongs) {
  for_each_type([&]<class T>() {
    for_each_case<T>([&](PartsTensors<T>& tensors) {
      tensors.fill_parts();
      concat(ctx, tensors.part_refs(), tensors.whole, {.axis = tensors.what.axis});
      tensors.download();
      tensors.expect_same();
    });
  });
}

TEST_P(ConcatTest, gradients_are_what_lies_there_in_out_grad) {
  for_each_type([&]<class T>() {
    for_each_case<T>([&](PartsTensors<T>& tensors) {
      tensors.fill_whole();
      concat_grad(ctx, tensors.part_shapes(), tensors.whole, tensors.part_refs(), {.axis = tensors.what.axis});
      tensors.download();
      tensors.expect_same();
    });
  });
}

TEST_P(ConcatTest, split_gives_every_part) {
  for_each_type([&]<class T>() {
    for_each_case<T>([&](PartsTensors<T>& tensors) {
      tensors.fill_whole();
      split(ctx, tensors.whole, tensors.part_refs(), {.sections = tensors.what.lengths, .axis = tensors.what.axis});
      tensors.download();
      tensors.expect_same();
    });
  });
}

TEST_P(ConcatTest, gradient_of_split_joins_the_parts) {
  for_each_type([&]<class T>() {
    for_each_case<T>([&](PartsTensors<T>& tensors) {
      tensors.fill_parts();
      split_grad(ctx, tensors.part_refs(), tensors.whole,
                 {.sections = tensors.what.lengths, .axis = tensors.what.axis});
      tensors.download();
      tensors.expect_same();
    });
  });
}

TEST_P(ConcatTest, serves_every_layout_of_the_whole) {
  for_each_type([&]<class T>() { check_layouts_of_the_whole<T>(); });
}

TEST_P(ConcatTest, takes_tensors_of_different_layouts_together) {
  for (int axis = 0; axis < 2; ++axis) {
    PartsTensors<float> tensors(ctx, {{6, 8}, axis, {2, 2, 2, 2, 2}});
    for (std::size_t i = 0; i < std::size(all_layouts); ++i) {
      tensors.parts[i] = TestTensor<float>(ctx, tensors.what.part_extents(i), all_layouts[i]);
    }
    tensors.fill_parts();
    concat(ctx, tensors.part_refs(), tensors.whole, {.axis = axis});
    tensors.download();
    tensors.expect_same();
  }
}

TEST_P(ConcatTest, reads_what_is_broadcast) {
  TestTensor<float> row(ctx, {4}), other(ctx, {3, 2}), joined(ctx, {3, 6}), left(ctx, {3, 3}), right(ctx, {3, 1});
  row.fill_randomly(1);
  other.fill_randomly(2);
  const TensorRef rows(row.ref().data(), ElementType::f32, {3, 4}, {0, 1}, row.ref().space());
  concat(ctx, std::array<TensorRef, 2>{rows, other}, joined, {.axis = 1});
  split(ctx, rows, std::array<TensorRef, 2>{left, right}, {.sections = {3, 1}, .axis = 1});
  for (TestTensor<float>* tensor : {&joined, &left, &right}) tensor->download();
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) EXPECT_EQ(joined[i * 6 + j], j < 4 ? row[j] : other[i * 2 + j - 4]) << i << j;
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_EQ(left[i * 3 + j], row[j]) << i << j;
    EXPECT_EQ(right[i], row[3]) << i;
  }
}

TEST_P(ConcatTest, counts_negative_axes_from_the_last) {
  PartsTensors<float> tensors(ctx, {{2, 3, 4}, 1, {2, 3}});
  tensors.fill_parts();
  concat(ctx, tensors.part_refs(), tensors.whole, {.axis = -2});
  tensors.download();
  tensors.expect_same();
  tensors.fill_whole();
  split(ctx, tensors.whole, tensors.part_refs(), {.sections = {2, -1}, .axis = -2});
  tensors.download();
  tensors.expect_same();
}

TEST_P(ConcatTest, takes_the_first_axis_without_being_told) {
  PartsTensors<float> tensors(ctx, {{2, 3}, 0, {2, 3}});
  tensors.fill_parts();
  concat(ctx, tensors.part_refs(), tensors.whole);
  tensors.download();
  tensors.expect_same();
}

TEST_P(ConcatTest, computes_the_wanted_gradients_only) {
  for (int axis = 0; axis < 2; ++axis) {
    for (unsigned wanted = 0; wanted < 32; ++wanted) {
      PartsTensors<float> tensors(ctx, {{3, 4}, axis, {2, 3, 0, 2, 700}});
      tensors.fill_whole();
      std::vector<TensorRef> gradients = tensors.part_refs();
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if ((wanted >> i & 1u) == 0) gradients[i] = {};
      }
      concat_grad(ctx, tensors.part_shapes(), tensors.whole, gradients, {.axis = axis});
      tensors.download();  // finds what was written elsewhere
      tensors.expect_same([&](std::size_t i) { return (wanted >> i & 1u) != 0; });
    }
  }
  PartsTensors<float> tensors(ctx, {{3, 4}, 0, {2, 3}});
  EXPECT_NO_THROW(concat_grad(ctx, tensors.part_refs(), tensors.whole, {}));
}

TEST_P(ConcatTest, takes_tensors_without_elements) {
  for (const Extents& extents : {Extents{0, 3}, Extents{3, 0}}) {
    for (int axis = 0; axis < 2; ++axis) {
      PartsTensors<float> tensors(ctx, {extents, axis, {0, 0}});
      EXPECT_NO_THROW(concat(ctx, tensors.part_refs(), tensors.whole, {.axis = axis}));
      EXPECT_NO_THROW(concat_grad(ctx, tensors.part_refs(), tensors.whole, tensors.part_refs(), {.axis = axis}));
      EXPECT_NO_THROW(split(ctx, tensors.whole, tensors.part_refs(), {.sections = {0, 0}, .axis = axis}));
      EXPECT_NO_THROW(split_grad(ctx, tensors.part_refs(), tensors.whole, {.sections = {0, 0}, .axis = axis}));
    }
  }
  ctx.fence();
}

TEST_P(ConcatTest, gradient_of_split_may_be_unwanted) {
  PartsTensors<float> tensors(ctx, {{3, 4}, 0, {2, 3}});
  EXPECT_NO_THROW(split_grad(ctx, tensors.part_refs(), {}, {.sections = {2, 3}}));
}

TEST_P(ConcatTest, keeps_the_bits_of_numbers_that_are_none) {
  const std::array<std::uint16_t, 6> bits{0x7e01, 0xfdff, 0x7c00, 0x8000, 0x0001, 0x7fff};
  const Tensor x(ElementType::f16, {6}, default_memory_space(ctx.backend()));
  const Tensor out(ElementType::f16, {12}, default_memory_space(ctx.backend()));
  copy(ctx, TensorRef(const_cast<std::uint16_t*>(bits.data()), ElementType::f16, {6}, {1}, MemorySpace::host), x);
  concat(ctx, std::array<TensorRef, 2>{x, x}, out);
  std::array<std::uint16_t, 12> found{};
  copy(ctx, out, TensorRef(found.data(), ElementType::f16, {12}, {1}, MemorySpace::host));
  ctx.fence();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(found[i], bits[i % 6]) << i;
}

TEST_P(ConcatTest, moves_large_tensors) {
  // Runs that are no multiple of a vector.
  for (int axis = 0; axis < 2; ++axis) {
    PartsTensors<float> tensors(ctx, {{1031, 1033}, axis, {1031, 1, 1500}});
    tensors.fill_parts();
    concat(ctx, tensors.part_refs(), tensors.whole, {.axis = axis});
    tensors.download();
    tensors.expect_same();
    tensors.fill_whole();
    split(ctx, tensors.whole, tensors.part_refs(), {.sections = tensors.what.lengths, .axis = axis});
    tensors.download();
    tensors.expect_same();
  }
}

/// The gradient by central differences of Σ out_grad · out.
TEST_P(ConcatTest, gradients_agree_with_differences) {
  PartsTensors<double> tensors(ctx, {{2, 3}, 1, {1, 2}}), gradients(ctx, tensors.what);
  for (std::size_t k = 0; k < 2; ++k) tensors.parts[k].fill_randomly(static_cast<unsigned>(k));
  gradients.whole.fill_randomly(7);
  concat_grad(ctx, tensors.part_refs(), gradients.whole, gradients.part_refs(), {.axis = 1});
  gradients.download();
  const auto objective = [&] {
    concat(ctx, tensors.part_refs(), tensors.whole, {.axis = 1});
    tensors.whole.download();
    double sum = 0.0;
    for (std::int64_t i = 0; i < tensors.whole.extents().product(); ++i) sum += gradients.whole[i] * tensors.whole[i];
    return sum;
  };
  constexpr double step = 1e-4;
  for (std::size_t k = 0; k < 2; ++k) {
    TestTensor<double>& x = tensors.parts[k];
    for (std::int64_t i = 0; i < x.extents().product(); ++i) {
      std::vector<double> values;
      for (std::int64_t j = 0; j < x.extents().product(); ++j) values.push_back(x[j]);
      const auto at = [&](double by) {
        x.fill([&](std::int64_t j) { return values[static_cast<std::size_t>(j)] + (j == i ? by : 0.0); });
        return objective();
      };
      const double difference = (at(step) - at(-step)) / (2.0 * step);
      at(0.0);
      EXPECT_NEAR(gradients.parts[k][i], difference, 1e-9) << "x[" << k << "], element " << i;
    }
  }
}

}  // namespace
}  // namespace portops::test
