// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/slice.hpp>

#include <limits>

namespace portops::test {
namespace {

using Integers = std::vector<std::int64_t>;
constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min();

/// The places along an axis that Python's slices take, one after the other.
Integers places(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const auto bounded = [&](std::int64_t place) {
    const auto from_first = static_cast<long double>(place) + (place < 0 ? static_cast<long double>(extent) : 0.0L);
    const long double least = step > 0 ? 0.0L : -1.0L, most = static_cast<long double>(step > 0 ? extent : extent - 1);
    return std::min(std::max(from_first, least), most);
  };
  Integers found;
  const long double last = bounded(end);
  for (long double at = bounded(start); step > 0 ? at < last : at > last; at += static_cast<long double>(step)) {
    found.push_back(static_cast<std::int64_t>(at));
  }
  return found;
}

class SliceTest : public OnEveryBackend {
 protected:
  /// Of each axis the places that a slice takes.
  static std::vector<Integers> all_places(const Extents& x, const SliceParams& params) {
    std::vector<Integers> all;
    for (int axis = 0; axis < x.rank(); ++axis) all.push_back(places(0, x[axis], 1, x[axis]));
    for (std::size_t i = 0; i < params.axes.size(); ++i) {
      const auto axis = static_cast<int>(params.axes[i] < 0 ? params.axes[i] + x.rank() : params.axes[i]);
      all[static_cast<std::size_t>(axis)] =
          places(params.starts[i], params.ends[i], params.strides.empty() ? 1 : params.strides[i], x[axis]);
    }
    return all;
  }

  template <class T>
  void check(const Extents& extents, const SliceParams& params, Layout layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous) {
    const std::vector<Integers> taken = all_places(extents, params);
    Extents out_extents = extents;
    for (int axis = 0; axis < extents.rank(); ++axis) {
      out_extents[axis] = static_cast<std::int64_t>(taken[static_cast<std::size_t>(axis)].size());
    }
    TestTensor<T> x(ctx, extents, layout), out(ctx, out_extents, out_layout), x_grad(ctx, extents, layout);
    x.fill_randomly(1);
    x_grad.fill([](std::int64_t) { return 77.0; });
    slice(ctx, x, out, params);
    out.download();
    std::vector<double> expected(static_cast<std::size_t>(x.size()), 0.0);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      std::int64_t rest = i, number = 0, stride = 1;
      for (int axis = extents.rank() - 1; axis >= 0; --axis) {
        number += taken[static_cast<std::size_t>(axis)][static_cast<std::size_t>(rest % out_extents[axis])] * stride;
        rest /= out_extents[axis];
        stride *= extents[axis];
      }
      ASSERT_TRUE(same_bits(out.element(i), x.element(number))) << i << " of " << extents.to_string();
      expected[static_cast<std::size_t>(number)] = x[number];
    }
    slice_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, extents), out, x_grad, params);
    x_grad.download();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(x_grad[i], expected[static_cast<std::size_t>(i)]) << i << " of " << extents.to_string();
    }
  }
};
PORTOPS_ON_EVERY_BACKEND(SliceTest);

TEST(SlicedTest, takes_what_python_takes) {
  const Integers steps{1, 2, 9, -1, -3, far, low}, starts{0, 2, 6, -1, -9, far, low}, ends{0, 3, 7, -2, -8, far, low};
  float memory[7] = {};
  for (const std::int64_t extent : {7, 1, 0}) {
    for (const std::int64_t step : steps) {
      for (const std::int64_t start : starts) {
        for (const std::int64_t end : ends) {
          const Integers taken = places(start, end, step, extent);
          const TensorRef view = sliced(TensorRef(memory, {extent}), {{0}, {start}, {end}, {step}});
          ASSERT_EQ(view.extents(), Extents{static_cast<std::int64_t>(taken.size())})
              << start << ':' << end << ':' << step << " of " << extent;
          for (std::size_t i = 0; i < taken.size(); ++i) {
            const auto* const element =
                static_cast<const float*>(view.data()) + static_cast<std::int64_t>(i) * view.stride(0);
            ASSERT_EQ(element, memory + taken[i]) << start << ':' << end << ':' << step << " of " << extent;
          }
        }
      }
    }
  }
}

TEST_P(SliceTest, copies_what_python_takes) {
  check<float>({7}, {{0}, {-2}, {low}, {-3}});
  check<float>({7}, {{0}, {far}, {-9}, {-1}});
  check<float>({7}, {{0}, {2}, {far}, {far}});
  check<float>({7}, {{0}, {6}, {low}, {low}});
  check<float>({7}, {{0}, {5}, {2}, {1}});
  check<float>({0}, {{0}, {0}, {far}, {2}});
}

TEST_P(SliceTest, slices_any_axes_of_every_layout) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout out_layout : all_layouts) {
        check<T>({6, 5, 8}, {{0}, {1}, {4}}, layout, out_layout);
        check<T>({6, 5, 8}, {{1}, {-3}, {far}}, layout, out_layout);
        check<T>({6, 5, 8}, {{2, 0}, {6, 5}, {1, low}, {-2, -1}}, layout, out_layout);
        check<T>({6, 5, 8}, {{}, {}, {}}, layout, out_layout);
        check<T>({6, 5, 8}, {{1, -1, 0}, {0, 4, 2}, {5, 8, 2}}, layout, out_layout);
        if (HasFatalFailure()) return;
      }
    }
  });
}

// Zeros go around the slice in words as wide as its runs and the addresses allow.
TEST_P(SliceTest, fills_with_zeros_in_words_of_any_width) {
  for_each_type([&]<class T>() {
    for (const std::int64_t columns : {1, 2, 3, 4, 6, 8, 16, 33}) {
      check<T>({9, 5, columns}, {{1}, {1}, {3}});
      check<T>({9, 5, columns}, {{0, 1}, {2, 4}, {9, 0}, {3, -2}});
      check<T>({300, columns}, {{0}, {17}, {200}});
    }
  });
}

// Packs of the gradient that are wholly in the slice, wholly outside, or where it, a row or the tensor begins or ends.
TEST_P(SliceTest, has_a_gradient_of_rows_that_packs_do_not_fit) {
  for_each_type([&]<class T>() {
    for (const Layout out_layout : all_layouts) {
      for (const std::int64_t columns : {40, 61, 64}) {
        check<T>({5, columns}, {{1}, {8}, {32}}, Layout::contiguous, out_layout);
        check<T>({5, columns}, {{1}, {3}, {30}}, Layout::contiguous, out_layout);
        check<T>({5, columns}, {{1}, {1}, {far}, {3}}, Layout::contiguous, out_layout);
        check<T>({4, 3, columns}, {{0, 2}, {2, -2}, {0, 5}, {-1, -1}}, Layout::contiguous, out_layout);
        check<T>({columns, 5}, {{0}, {0}, {far}, {7}}, Layout::contiguous, out_layout);
        check<T>({3, columns}, {{1}, {4}, {4}}, Layout::contiguous, out_layout);
      }
    }
  });
}

// Rows of which a team has many, few, and a part of one; so many that teams take several packs a thread.
TEST_P(SliceTest, has_a_gradient_of_long_rows) {
  for_each_type([&]<class T>() {
    check<T>({3, 40, 65}, {{1}, {3}, {38}, {4}});
    check<T>({7, 129, 64}, {{0, 1}, {1, -1}, {6, 2}, {2, -3}});
    check<T>({2, 3, 20011}, {{1}, {1}, {2}});
    check<T>({2, 3, 20011}, {{2}, {5}, {20000}, {1}}, Layout::padded);
  });
  check<float>({9, 1001, 700}, {{1}, {3}, {998}, {4}});
  check<float>({13000001}, {{0}, {7}, {12000000}, {5}});
}

TEST_P(SliceTest, sliced_needs_no_copy) {
  TestTensor<float> x(ctx, {6, 8});
  x.fill_randomly(1);
  const SliceParams params{{0, 1}, {4, 1}, {1, 7}, {-1, 2}};
  const TensorRef view = sliced(x, params);
  EXPECT_EQ(view.extents(), (Extents{3, 3}));
  EXPECT_EQ(view.strides(), (Extents{-8, 2}));
  EXPECT_EQ(static_cast<float*>(view.data()), static_cast<float*>(x.ref().data()) + 33);
  slice(ctx, x, view, params);  // is there already
  EXPECT_EQ(sliced(x, {{0}, {6}, {9}}).extents(), (Extents{0, 8}));
  EXPECT_EQ(sliced(TensorRef::without_data(ElementType::f32, {5}), {{0}, {1}, {3}}).extents(), Extents{2});
}

TEST_P(SliceTest, refuses_what_does_not_fit) {
  TestTensor<float> x(ctx, {4, 3}), out(ctx, {2, 3});
  const auto refused = [&](const SliceParams& params, const std::string& message) {
    expect_error([&] { slice(ctx, x, out, params); }, "portops::slice: " + message);
    expect_error([&] { sliced(x, params); }, "portops::sliced: " + message);
  };
  refused({{2}, {0}, {1}}, "axes names the axis 2, expected -2 to 1 (x has rank 2)");
  refused({{-3}, {0}, {1}}, "axes names the axis -3, expected -2 to 1 (x has rank 2)");
  refused({{0, -2}, {0, 0}, {1, 1}}, "axes names the axis -2 twice");
  refused({{0}, {0, 1}, {1}}, "starts has 2 numbers, expected 1 (one for each of axes)");
  refused({{0}, {0}, {}}, "ends has 0 numbers, expected 1 (one for each of axes)");
  refused({{0}, {0}, {1}, {1, 1}}, "strides has 2 numbers, expected 1 (one for each of axes)");
  refused({{0}, {0}, {1}, {0}}, "strides[0] is 0, expected another number");
  expect_error([&] { slice(ctx, x, x, {{0}, {1}, {3}}); },
               "portops::slice: out has extents [4, 3], expected [2, 3] (those of the slice of x)");
  const TensorRef front(x.ref().data(), ElementType::f32, {2, 3}, {3, 1}, x.ref().space());
  expect_error([&] { slice(ctx, x, front, {{0}, {1}, {3}}); },
               "portops::slice: out overlaps x in memory, expected disjoint tensors or the same elements at the same "
               "addresses in the same order");
}

TEST_P(SliceTest, is_called_by_name) {
  TestTensor<float> x(ctx, {4, 3}), out(ctx, {2, 3});
  x.fill_randomly(2);
  const Arguments arguments =
      Arguments().set("x", x.ref()).set("axes", Integers{0}).set("starts", Integers{1}).set("ends", Integers{3});
  EXPECT_EQ(infer("slice", arguments).at("out").extents, (Extents{2, 3}));
  run("slice", ctx, Arguments(arguments).set("out", out.ref()));
  out.download();
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], x[i + 3]);
}

}  // namespace
}  // namespace portops::test
