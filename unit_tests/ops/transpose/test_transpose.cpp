// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/transpose.hpp>

namespace portops::test {
namespace {

using Integers = std::vector<std::int64_t>;

class TransposeTest : public OnEveryBackend {
 protected:
  /// The number of the element of x that element i of `out` is.
  static std::int64_t source(const Extents& x, const Integers& perm, std::int64_t i) {
    Integers place(perm.size());
    for (std::size_t k = perm.size(); k-- > 0;) {
      const auto axis = static_cast<int>(perm[k] < 0 ? perm[k] + x.rank() : perm[k]);
      place[static_cast<std::size_t>(axis)] = i % x[axis];
      i /= x[axis];
    }
    std::int64_t number = 0;
    for (int axis = 0; axis < x.rank(); ++axis) number = number * x[axis] + place[static_cast<std::size_t>(axis)];
    return number;
  }
  static Extents extents_of(const Extents& x, const Integers& perm) {
    Extents out = x;
    for (std::size_t k = 0; k < perm.size(); ++k) {
      out[static_cast<int>(k)] = x[static_cast<int>(perm[k] < 0 ? perm[k] + x.rank() : perm[k])];
    }
    return out;
  }

  /// There and back.
  template <class T>
  void check(const Extents& extents, const Integers& perm, Layout layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, extents, layout), out(ctx, extents_of(extents, perm), out_layout), back(ctx, extents, layout);
    x.fill_randomly(1);
    transpose(ctx, x, out, {perm});
    out.download();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      ASSERT_TRUE(same_bits(out.element(i), x.element(source(extents, perm, i)))) << i << " of " << extents.to_string();
    }
    transpose_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, extents), out, back, {perm});
    back.download();
    for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_TRUE(same_bits(back.element(i), x.element(i))) << i;
  }
};
PORTOPS_ON_EVERY_BACKEND(TransposeTest);

TEST_P(TransposeTest, moves_every_axis_in_every_layout) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout out_layout : {Layout::contiguous, Layout::padded}) {
        for (const Integers& perm :
             {Integers{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {-1, 0, -2}}) {
          check<T>({5, 7, 6}, perm, layout, out_layout);
          if (HasFatalFailure()) return;
        }
      }
    }
    check<T>({}, {});
    check<T>({4}, {0});
    check<T>({130, 70}, {1, 0});
    check<T>({3, 0, 2}, {2, 0, 1});
    check<T>({2, 3, 5, 1, 2, 4, 3, 2}, {7, 1, 3, 5, 0, 2, 4, 6});
  });
}

TEST_P(TransposeTest, transposed_needs_no_copy) {
  TestTensor<float> x(ctx, {4, 5, 6});
  x.fill_randomly(1);
  const TensorRef view = transposed(x, {2, 0, 1});
  EXPECT_EQ(view.extents(), (Extents{6, 4, 5}));
  EXPECT_EQ(view.strides(), (Extents{1, 30, 6}));
  TestTensor<float> kept(ctx, {4, 5, 6});
  kept.fill_randomly(1);
  transpose(ctx, x, view, {{2, 0, 1}});  // is there already
  transpose_grad(ctx, TensorRef::without_data(ElementType::f32, {4, 5, 6}), view, x, {{2, 0, 1}});
  x.download();
  for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], kept[i]);
  EXPECT_EQ(transposed(TensorRef::without_data(ElementType::f32, {2, 3}), {1, 0}).extents(), (Extents{3, 2}));
}

TEST_P(TransposeTest, refuses_what_does_not_fit) {
  TestTensor<float> x(ctx, {2, 3}), out(ctx, {3, 2});
  const auto refused = [&](const Integers& perm, const std::string& message) {
    expect_error([&] { transpose(ctx, x, out, {perm}); }, "portops::transpose: " + message);
    expect_error([&] { transposed(x, perm); }, "portops::transposed: " + message);
  };
  refused({0}, "perm names 1 axes, expected each of the 2 axes of x once");
  refused({0, 2}, "perm names the axis 2, expected each of the 2 axes of x once");
  refused({1, -1}, "perm names the axis -1 twice, expected each of the 2 axes of x once");
  expect_error([&] { transpose(ctx, x, x, {{1, 0}}); },
               "portops::transpose: out has extents [2, 3], expected [3, 2] (those of x in the order of perm)");
  TestTensor<float> square(ctx, {3, 3});
  expect_error(
      [&] { transpose(ctx, square, square, {{1, 0}}); },
      "portops::transpose: out overlaps x in memory, expected disjoint tensors or the same elements at the same "
      "addresses in the same order");
  expect_error([&] { transposed({}, {0}); }, "portops::transposed: x is empty, expected a tensor");
}

TEST_P(TransposeTest, is_called_by_name) {
  TestTensor<float> x(ctx, {2, 3}), out(ctx, {3, 2});
  x.fill_randomly(2);
  const Arguments arguments = Arguments().set("x", x.ref()).set("perm", Integers{1, 0});
  EXPECT_EQ(infer("transpose", arguments).at("out").extents, (Extents{3, 2}));
  run("transpose", ctx, Arguments(arguments).set("out", out.ref()));
  out.download();
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], x[i % 2 * 3 + i / 2]);
}

}  // namespace
}  // namespace portops::test
