// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/central_differences.hpp"
#include "support/half_reference.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/reshape.hpp>

namespace portops::test {
namespace {

using Integers = std::vector<std::int64_t>;

Integers shape_of(const Extents& extents) { return {extents.begin(), extents.end()}; }

class ReshapeTest : public OnEveryBackend {
 protected:
  template <class T>
  void expect_same_elements(const TestTensor<T>& x, TestTensor<T>& out, const std::string& what) {
    out.download();
    for (std::int64_t i = 0; i < x.extents().product(); ++i) {
      if (same_bits(x.element(i), out.element(i))) continue;
      ADD_FAILURE() << what << " " << i << " of " << x.extents().to_string() << " as " << out.extents().to_string()
                    << " is " << out[i] << ", expected " << x[i];
      return;
    }
  }

  /// There and back.
  template <class T>
  void check(const Extents& x_shape, const Extents& out_shape, Layout x_layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, x_shape, x_layout), out(ctx, out_shape, out_layout), back(ctx, x_shape, x_layout);
    x.fill_randomly(1);
    const ReshapeParams params{shape_of(out_shape)};
    reshape(ctx, x, out, params);
    expect_same_elements(x, out, "out");
    reshape_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, x_shape), out, back, params);
    expect_same_elements(out, back, "x_grad");
  }
};

PORTOPS_ON_EVERY_BACKEND(ReshapeTest);

TEST_P(ReshapeTest, copies_the_elements_in_their_order_for_all_layouts) {
  for_each_type([&]<class T>() {
    for (const Layout x : all_layouts) {
      for (const Layout out : all_layouts) {
        check<T>({6, 4}, {8, 3}, x, out);
        check<T>({6, 4}, {24}, x, out);
        check<T>({24}, {2, 3, 4}, x, out);
        check<T>({5, 7, 6}, {35, 6}, x, out);
        check<T>({5, 7, 6}, {5, 42}, x, out);
        check<T>({6, 35, 2}, {2, 3, 7, 10}, x, out);
        check<T>({4, 6, 10}, {6, 10, 4}, x, out);
        check<T>({33, 8, 40}, {33, 320}, x, out);
        check<T>({64, 70}, {70, 64}, x, out);
        check<T>({3, 1, 5}, {1, 15, 1}, x, out);
        check<T>({1}, {}, x, out);
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(ReshapeTest, copies_tensors_of_many_runs) {
  for_each_type([&]<class T>() {
    check<T>({300, 1000}, {1000, 300});
    check<T>({300, 1001}, {77, 3900}, Layout::padded, Layout::padded);
    check<T>({301, 1000}, {301000}, Layout::reversed);
    check<T>({17, 130, 140}, {17 * 130, 140}, Layout::reversed);
    check<T>({70001, 3}, {3, 70001}, Layout::every_other);
    check<T>({2, 3, 5, 7, 11, 13, 2, 3}, {3, 13, 2, 11, 2, 7, 3, 5}, Layout::reversed, Layout::padded);
  });
}

TEST_P(ReshapeTest, copies_a_tensor_whose_axes_are_exchanged) {
  // What a transposition in a model leaves: [batch, heads, length, width] as [batch, length, heads · width].
  for_each_type([&]<class T>() {
    for (const std::int64_t width : {1, 2, 4, 6, 64}) {
      const std::int64_t batch = 3, heads = 5, length = 36;
      TestTensor<T> x(ctx, {batch, length, heads, width}), out(ctx, {batch, heads, length * width});
      x.fill_randomly(1);
      const TensorRef exchanged(x.ref().data(), x.ref().type(), {batch, heads, length, width},
                                {length * heads * width, width, heads * width, 1}, x.ref().space());
      reshape(ctx, exchanged, out, {{batch, heads, -1}});
      out.download();
      for (std::int64_t i = 0; i < batch * heads * length * width; ++i) {
        const std::int64_t w = i % width, l = i / width % length, h = i / width / length % heads;
        const std::int64_t b = i / width / length / heads;
        ASSERT_EQ(out[i], x[((b * length + l) * heads + h) * width + w]) << i;
      }
    }
  });
}

TEST_P(ReshapeTest, copies_images_between_layouts_past_the_caches) {
  // Lines that begin where they can be written past the caches, and others; beside gaps.
  struct Case {
    std::int64_t batch, rows, columns;
    bool rows_are_cut;
  };
  for_each_type([&]<class T>() {
    for (const auto& [batch, rows, columns, rows_are_cut] : {Case{2, 70, 32768, false}, Case{3, 3, 500000, false},
                                                             Case{2, 130, 17003, false}, Case{5, 1088, 1000, true}}) {
      const std::int64_t kept = rows_are_cut ? rows - 64 : rows;
      TestTensor<T> x(ctx, {batch, columns, rows}), out(ctx, {batch, kept, columns});
      x.fill([](std::int64_t i) { return static_cast<double>(i * 37 % 1021) - 500.0; });
      const TensorRef turned(x.ref().data(), x.ref().type(), {batch, kept, columns}, {rows * columns, 1, rows},
                             x.ref().space());
      reshape(ctx, turned, out, {{batch, kept, columns}});
      out.download();
      for (std::int64_t i = 0; i < batch * kept * columns; ++i) {
        const std::int64_t c = i % columns, r = i / columns % kept, b = i / columns / kept;
        ASSERT_EQ(out[i], x[(b * columns + c) * rows + r]) << batch << ", " << rows << ", " << columns << ": " << i;
      }
    }
  });
}

TEST_P(ReshapeTest, copies_runs_past_the_caches) {
  for_each_type([&]<class T>() {
    for (const std::int64_t width : {64, 130, 1000}) {
      const std::int64_t length = 5000000 / width / 7, heads = 7;
      TestTensor<T> x(ctx, {length, heads, width}), out(ctx, {heads, length, width});
      x.fill([](std::int64_t i) { return static_cast<double>(i * 37 % 1021) - 500.0; });
      const TensorRef exchanged(x.ref().data(), x.ref().type(), {heads, length, width}, {width, heads * width, 1},
                                x.ref().space());
      reshape(ctx, exchanged, out, {{heads, length, width}});
      out.download();
      for (std::int64_t i = 0; i < heads * length * width; ++i) {
        const std::int64_t w = i % width, l = i / width % length, h = i / width / length;
        ASSERT_EQ(out[i], x[(l * heads + h) * width + w]) << width << ": " << i;
      }
    }
  });
}

TEST_P(ReshapeTest, takes_the_extents_that_stand_for_others) {
  TestTensor<float> x(ctx, {2, 3, 4}), out(ctx, {2, 12}), turned(ctx, {4, 3, 2});
  x.fill_randomly(1);
  reshape(ctx, x, out, {{0, -1}});
  expect_same_elements(x, out, "out");
  reshape(ctx, x, turned, {{4, 0, -1}});
  expect_same_elements(x, turned, "out");
}

TEST_P(ReshapeTest, changes_no_bit_of_a_nan) {
  for_each_type([&]<class T>() {
    if constexpr (sizeof(T) == 2) {
      constexpr std::int64_t rows = 64, columns = 1024;  // all patterns
      std::vector<T> host(rows * columns);
      for (std::size_t i = 0; i < host.size(); ++i) host[i] = from_bits<T>(static_cast<unsigned>(i));
      const MemorySpace space = default_memory_space(ctx.backend());
      const Tensor x(ElementTypeOf<T>::value, {rows, columns}, space), out(x.ref().type(), {columns * rows}, space);
      copy(ctx, TensorRef(host.data(), {rows, columns}), x);
      const TensorRef turned(x.ref().data(), x.ref().type(), {columns, rows}, {1, columns}, space);
      std::vector<T> found(host.size());
      for (const bool turn : {false, true}) {
        reshape(ctx, turn ? turned : x.ref(), out, {{-1}});
        copy(ctx, out, TensorRef(found.data(), {rows * columns}));
        ctx.fence();
        for (std::size_t i = 0; i < host.size(); ++i) {
          const std::size_t from = turn ? i % rows * columns + i / rows : i;
          ASSERT_EQ(bits_of(found[i]), bits_of(host[from])) << i;
        }
      }
    }
  });
}

TEST_P(ReshapeTest, reads_a_broadcast_tensor) {
  TestTensor<float> row(ctx, {5}), out(ctx, {20});
  row.fill_randomly(1);
  const TensorRef rows(row.ref().data(), ElementType::f32, {4, 5}, {0, 1}, row.ref().space());
  reshape(ctx, rows, out, {{20}});
  out.download();
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(out[i], row[i % 5]);
}

TEST_P(ReshapeTest, leaves_memory_as_it_is_where_out_is_x) {
  for (const Layout layout : {Layout::contiguous, Layout::padded, Layout::negative, Layout::every_other}) {
    TestTensor<double> x(ctx, {6, 35}, layout);
    x.fill_randomly(1);
    std::vector<double> before;
    for (std::int64_t i = 0; i < 210; ++i) before.push_back(x[i]);
    const auto view = reshaped(x, {2, 3, 5, 7});
    ASSERT_TRUE(view);
    reshape(ctx, x, *view, {{2, 3, 5, 7}});
    reshape_grad(ctx, TensorRef::without_data(ElementType::f64, {6, 35}), *view, x, {{2, 3, 5, 7}});
    x.download();
    for (std::int64_t i = 0; i < 210; ++i) EXPECT_EQ(x[i], before[static_cast<std::size_t>(i)]);
  }
}

TEST_P(ReshapeTest, gradient_agrees_with_central_differences) {
  TestTensor<double> x(ctx, {3, 4}, Layout::reversed), out(ctx, {6, 2}), out_grad(ctx, {6, 2}), x_grad(ctx, {3, 4});
  x.fill_randomly(1);
  out_grad.fill_randomly(2);
  reshape_grad(ctx, x, out_grad, x_grad, {{6, 2}});
  expect_slopes(x, x_grad, [&] {
    reshape(ctx, x, out, {{6, 2}});
    return weighted_sum(out, out_grad);
  });
}

TEST_P(ReshapeTest, accepts_tensors_without_elements) {
  TestTensor<float> x(ctx, {3, 0}), out(ctx, {0, 7, 2});
  EXPECT_NO_THROW(reshape(ctx, x, out, {{-1, 7, 2}}));
  EXPECT_NO_THROW(reshape_grad(ctx, x, out, x, {{-1, 7, 2}}));
  EXPECT_NO_THROW(reshape_grad(ctx, x, out, {}, {{-1, 7, 2}}));
  ctx.fence();
}

TEST_P(ReshapeTest, a_call_by_name_computes_what_the_function_computes) {
  TestTensor<float> x(ctx, {2, 6}), out(ctx, {4, 3}), x_grad(ctx, {2, 6});
  x.fill_randomly(1);
  const auto arguments = Arguments().set("x", x.ref()).set("shape", Integers{4, -1});
  EXPECT_EQ(infer("reshape", arguments).at("out").extents, Extents({4, 3}));
  run("reshape", ctx, Arguments(arguments).set("out", out.ref()));
  expect_same_elements(x, out, "out");
  run("reshape_grad", ctx, Arguments(arguments).set("out_grad", out.ref()).set("x_grad", x_grad.ref()));
  expect_same_elements(out, x_grad, "x_grad");
  expect_error([&] { infer("reshape", Arguments().set("x", x.ref())); },
               "portops::reshape: shape is missing, expected a list of integers");
}

class ReshapeErrorTest : public OnEveryBackend {
 protected:
  TestTensor<float> x{ctx, {3, 4}}, out{ctx, {12}}, x_grad{ctx, {3, 4}};

  void expect_refused(const Integers& shape, const std::string& message) {
    expect_error([&] { reshape(ctx, x, out, {shape}); }, "portops::reshape: " + message);
    expect_error([&] { reshape_grad(ctx, x, out, x_grad, {shape}); }, "portops::reshape_grad: " + message);
    expect_error([&] { reshaped(x, shape); }, "portops::reshaped: " + message);
  }
};

PORTOPS_ON_EVERY_BACKEND(ReshapeErrorTest);

TEST_P(ReshapeErrorTest, shapes) {
  expect_refused({5, 3}, "shape is [5, 3], expected one for 12 elements (those of x [3, 4])");
  expect_refused({}, "shape is [], expected one for 12 elements (those of x [3, 4])");
  expect_refused({5, -1}, "shape is [5, -1], expected one for 12 elements (those of x [3, 4])");
  expect_refused({-1, 4, -1}, "shape is [-1, 4, -1], expected -1 once at most");
  expect_refused({-2, 6}, "shape is [-2, 6], expected extents, 0 for that of x, or -1 for what is left");
  expect_refused({3, 4, 0}, "shape is [3, 4, 0] with 0 for axis 2, which x does not have (its rank is 2)");
  expect_refused(Integers(9, 1), "shape has 9 extents, expected at most 8");
  TestTensor<float> none(ctx, {3, 0});
  expect_error([&] { reshaped(none, {-1, 0}); },
               "portops::reshaped: shape is [-1, 0], where any extent would do for -1");
}

TEST_P(ReshapeErrorTest, tensors) {
  TestTensor<float> other(ctx, {6, 2});
  TestTensor<double> wide(ctx, {12});
  expect_error([&] { reshape(ctx, x, other, {{12}}); },
               "portops::reshape: out has extents [6, 2], expected [12] (what shape says)");
  expect_error([&] { reshape(ctx, x, wide, {{12}}); },
               "portops::reshape: out has element type f64, expected f32 (the element type of x)");
  expect_error([&] { reshape(ctx, {}, out, {{12}}); }, "portops::reshape: x is empty, expected a tensor");
  expect_error([&] { reshape(ctx, x, {}, {{12}}); }, "portops::reshape: out is empty, expected a tensor");
  expect_error([&] { reshaped({}, {12}); }, "portops::reshaped: x is empty, expected a tensor");
  expect_error([&] { reshape_grad(ctx, x, other, x_grad, {{12}}); },
               "portops::reshape_grad: out_grad has extents [6, 2], expected [12] (what shape says)");
  expect_error([&] { reshape_grad(ctx, x, out, other, {{12}}); },
               "portops::reshape_grad: x_grad has extents [6, 2], expected [3, 4] (the extents of x)");
  expect_error([&] { reshape_grad(ctx, x, out, x, {{12}}); },
               "portops::reshape_grad: x_grad overlaps x in memory, expected disjoint tensors");
}

TEST_P(ReshapeErrorTest, overlaps) {
  const std::string expected =
      " in memory, expected disjoint tensors or the same elements at the same addresses in the same order";
  auto* data = static_cast<float*>(x.ref().data());
  const TensorRef turned(data, {4, 3}, {1, 4}, x.ref().space());  // the same memory in another order
  expect_error([&] { reshape(ctx, x, turned, {{4, 3}}); }, "portops::reshape: out overlaps x" + expected);
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 4});
  expect_error([&] { reshape_grad(ctx, shape, turned, x, {{4, 3}}); },
               "portops::reshape_grad: x_grad overlaps out_grad" + expected);
  const TensorRef front(data, {6}, x.ref().space()), back(data + 3, {2, 3}, x.ref().space());
  expect_error([&] { reshape(ctx, front, back, {{2, 3}}); }, "portops::reshape: out overlaps x" + expected);
}

TEST(ReshapedTest, is_a_view_wherever_strides_can_say_so) {
  // Straight from the definition: the strides are what the first steps along each axis are, and must hold for all.
  const auto find_view = [](const TensorRef& x, const Extents& shape, Extents& strides) {
    const auto address = [](const Extents& extents, const Extents& own_strides, std::int64_t i) {
      std::int64_t at = 0;
      for (int axis = extents.rank() - 1; axis >= 0; --axis) {
        at += i % extents[axis] * own_strides[axis];
        i /= extents[axis];
      }
      return at;
    };
    strides = Extents::of_rank(shape.rank());
    std::int64_t step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (shape[axis] > 1) strides[axis] = address(x.extents(), x.strides(), step);
      step *= shape[axis];
    }
    for (std::int64_t i = 0; i < step; ++i) {
      if (address(x.extents(), x.strides(), i) != address(shape, strides, i)) return false;
    }
    return true;
  };
  float elements[1] = {};
  int views = 0, others = 0;
  const Extents extents[] = {{24}, {4, 6}, {6, 4}, {2, 3, 4}, {4, 3, 2}, {2, 2, 6}, {3, 8}, {1, 24}, {2, 1, 12}};
  for (const Extents& from : extents) {
    for (int pattern = 0; pattern < 200; ++pattern) {
      // Strides that follow from each other, but for gaps, exchanges, zeros and signs.
      Extents strides = from.row_major_strides();
      for (int axis = 0; axis < from.rank(); ++axis) {
        const int choice = pattern / (axis == 0 ? 1 : axis == 1 ? 5 : 25) % 5;
        if (choice == 1) strides[axis] *= 2;
        if (choice == 2) strides[axis] = -strides[axis];
        if (choice == 3) strides[axis] = 0;
        if (choice == 4) strides[axis] += 1;
      }
      if (pattern >= 125 && from.rank() > 1) std::swap(strides[0], strides[from.rank() - 1]);
      const TensorRef x(elements, from, strides);
      for (const Extents& to : extents) {
        Extents expected;
        const bool exists = find_view(x, to, expected);
        const auto view = reshaped(x, shape_of(to));
        ASSERT_EQ(view.has_value(), exists) << from.to_string() << strides.to_string() << " as " << to.to_string();
        ++(exists ? views : others);
        if (!exists) continue;
        EXPECT_EQ(view->data(), x.data());
        EXPECT_EQ(view->extents(), to);
        for (int axis = 0; axis < to.rank(); ++axis) {
          if (to[axis] == 1) continue;
          ASSERT_EQ(view->stride(axis), expected[axis]) << from.to_string() << to.to_string();
        }
      }
    }
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(others, 1000);
}

TEST(ReshapedTest, keeps_what_is_said_of_the_memory) {
  const float elements[12] = {};
  const auto view = reshaped(TensorRef(elements, {3, 4}), {2, -1});
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->read_only());
  EXPECT_EQ(view->space(), MemorySpace::host);
  EXPECT_EQ(view->extents(), Extents({2, 6}));
  const auto empty = reshaped(TensorRef::without_data(ElementType::bf16, {0, 4}), {2, -1});
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->has_data());
  EXPECT_EQ(empty->extents(), Extents({2, 0}));
  EXPECT_EQ(empty->type(), ElementType::bf16);
}

}  // namespace
}  // namespace portops::test
