// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pool2d_reference.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <portops/core/registry.hpp>

namespace portops::test {
namespace {

class Pool2dTest : public OnEveryBackend {
 protected:
  /// pool2d and pool2d_grad. Few different numbers, so that maxima are equal.
  template <class T>
  void check(const Extents& extents, Pool2dParams params, Layout layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous, bool channels_last = false) {
    SCOPED_TRACE(testing::Message() << extents.to_string() << " " << params.pooltype << " kernel "
                                    << params.kernel_size.front() << " layouts " << static_cast<int>(layout) << ", "
                                    << static_cast<int>(out_layout) << (channels_last ? ", channels last" : ""));
    const Geometry geometry(extents, params);
    const bool is_max = params.pooltype == "max";
    Images<T> x(ctx, extents, layout, channels_last), out(ctx, geometry.out, out_layout, channels_last);
    Images<std::int64_t> index(ctx, geometry.out, out_layout, channels_last);
    x.fill([&](std::int64_t i) { return static_cast<double>((i * 37 + i / 11 * 13) % 29) / 8.0 - 1.0; });
    pool2d(ctx, x.ref(), out.ref(), is_max ? index.ref() : TensorRef(), params);

    Images<T> out_grad(ctx, geometry.out, out_layout, channels_last), x_grad(ctx, extents, layout, channels_last);
    out_grad.fill([](std::int64_t i) { return static_cast<double>((i * 53) % 31) / 16.0 - 0.8; });
    x_grad.fill([](std::int64_t) { return nan; });
    ReferenceSums sums(geometry.out), grads(extents);
    std::vector<std::int64_t> pixels;
    std::int64_t k = 0;
    for (std::int64_t plane = 0; plane < extents[0] * extents[1]; ++plane) {
      for (const auto& down : geometry.down.all) {
        for (const auto& across : geometry.across.all) {
          const double size = params.exclusive
                                  ? static_cast<double>((down.end - down.begin) * (across.end - across.begin))
                                  : static_cast<double>(down.padded * across.padded);
          double largest = -inf;
          std::int64_t found = -1;
          for (std::int64_t h = down.begin; h < down.end; ++h) {
            for (std::int64_t w = across.begin; w < across.end; ++w) {
              const std::int64_t pixel = h * extents[3] + w, at = plane * extents[2] * extents[3] + pixel;
              if (x[at] > largest) largest = x[at], found = pixel;
              if (is_max) continue;
              sums.add(k, x[at] / size, std::abs(x[at]) / size);
              grads.add(at, out_grad[k] / size, std::abs(out_grad[k]) / size);
            }
          }
          if (is_max) {
            sums.add(k, largest, 0.0);
            grads.add(plane * extents[2] * extents[3] + found, out_grad[k], std::abs(out_grad[k]));
          }
          pixels.push_back(found);
          ++k;
        }
      }
    }
    expect_near(out.tensor, out.ordered(sums), "out");
    if (is_max) {
      index.tensor.download();
      for (std::int64_t i = 0; i < k; ++i) ASSERT_EQ(index.element(i), pixels[static_cast<std::size_t>(i)]) << i;
      params.index = index.ref();
    }
    pool2d_grad(ctx, TensorRef::without_data(x.ref().type(), extents), out_grad.ref(), x_grad.ref(), params);
    expect_near(x_grad.tensor, x_grad.ordered(grads), "x_grad");
  }

  /// The elements of out, and of x_grad for an out_grad that is out.
  template <class T>
  static std::pair<std::vector<T>, std::vector<T>> results(const Context& on, const Extents& extents,
                                                           Pool2dParams params, bool channels_last) {
    const Extents windows = Geometry(extents, params).out;
    const Layout layout = Layout::contiguous;
    Images<T> x(on, extents, layout, channels_last), x_grad(on, extents, layout, channels_last);
    Images<T> out(on, windows, layout, channels_last);
    Images<std::int64_t> index(on, windows, layout, channels_last);
    x.fill([](std::int64_t i) { return static_cast<double>(i * 7919 % 10007) / 10007.0 - 0.5; });
    const TensorRef found = params.pooltype == "max" ? index.ref() : TensorRef();
    pool2d(on, x.ref(), out.ref(), found, params);
    params.index = found;
    pool2d_grad(on, x.ref(), out.ref(), x_grad.ref(), params);
    return {elements_of(out), elements_of(x_grad)};
  }
  template <class T>
  static std::vector<T> elements_of(Images<T>& images) {
    images.tensor.download();
    std::vector<T> elements;
    for (std::int64_t i = 0; i < images.tensor.size(); ++i) elements.push_back(images.element(i));
    return elements;
  }

  /// All layouts of a few elements.
  template <class T>
  void check_layouts(const Extents& extents, const Pool2dParams& params) {
    for (const bool channels_last : {false, true}) {
      for (const Layout layout : all_layouts) {
        check<T>(extents, params, layout, Layout::contiguous, channels_last);
        check<T>(extents, params, Layout::contiguous, layout, channels_last);
      }
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(Pool2dTest);

TEST_P(Pool2dTest, equals_the_reference_for_all_windows) {
  for_each_type([&]<class T>() {
    for (const Pool2dParams& params : all_params()) {
      for (const bool channels_last : {false, true}) {
        for (const Extents& extents :
             {Extents{2, 3, 8, 12}, Extents{1, 8, 9, 7}, Extents{1, 1, 5, 150}, Extents{2, 3, 9, 32}}) {
          check<T>(extents, params, Layout::contiguous, Layout::contiguous, channels_last);
        }
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(Pool2dTest, reads_and_writes_any_layout) {
  for_each_type([&]<class T>() {
    Pool2dParams params;
    for (const char* type : {"max", "avg"}) {
      params.pooltype = type;
      params.kernel_size = {2};
      params.stride = {2};
      params.padding = {0};
      check_layouts<T>({2, 8, 6, 16}, params);
      params.kernel_size = {3, 4};
      params.padding = {1, 2};
      check_layouts<T>({2, 5, 7, 9}, params);
      check_layouts<T>({2, 5, 7, 9}, global(type));
    }
  });
}

TEST_P(Pool2dTest, pools_images_of_any_size) {
  for (const Pool2dParams& params : all_params()) {
    for (const Extents& extents :
         {Extents{1, 1, 7, 5}, Extents{3, 70, 7, 3}, Extents{1, 2, 70, 131}, Extents{70, 1, 8, 4}}) {
      check<float>(extents, params);
      check<float>(extents, params, Layout::contiguous, Layout::contiguous, true);
    }
    if (HasFailure()) return;
  }
}

/// Hosts take windows in vectors of 16 and blocks of 64, and copy what these span of a row unless that is too much.
TEST_P(Pool2dTest, pools_rows_of_any_length) {
  for (const char* type : {"max", "avg"}) {
    Pool2dParams params;
    params.pooltype = type;
    for (const std::int64_t stride : {1, 2, 3}) {
      params.kernel_size = {3};
      params.stride = {stride};
      params.padding = {1};
      for (std::int64_t width = 1; width <= 36; ++width) check<float>({1, 2, 3, width}, params);
      for (const std::int64_t windows : {63, 64, 65, 129}) check<float>({1, 1, 20, windows * stride}, params);
    }
    params.stride = {2, 37};
    check<float>({1, 2, 9, 37 * 20}, params);
    params.kernel_size = {2, 300};
    params.stride = {1, 2};
    params.padding = {0, 150};
    check<float>({1, 1, 4, 500}, params);
    params.kernel_size = {4, 2100};
    params.padding = {2, 1000};
    check<float>({1, 1, 5, 2200}, params);
  }
}

TEST_P(Pool2dTest, pools_whole_images) {
  for_each_type([&]<class T>() {
    for (const char* type : {"max", "avg"}) {
      for (const bool channels_last : {false, true}) {
        for (const Extents& extents : {Extents{2, 3, 1, 1}, Extents{3, 40, 7, 7}, Extents{1, 2, 100, 130}}) {
          check<T>(extents, global(type), Layout::contiguous, Layout::contiguous, channels_last);
        }
      }
      Pool2dParams params;  // the same by a window as large as the padded image, or larger
      params.pooltype = type;
      params.exclusive = false;
      params.kernel_size = {9, 11};
      params.padding = {1, 2};
      check<T>({2, 3, 7, 7}, params);
      params.padding = {4, 5};
      params.ceil_mode = true;
      params.stride = {9};
      check<T>({2, 3, 3, 2}, params);
    }
  });
}

TEST_P(Pool2dTest, gradient_agrees_with_central_differences) {
  for (Pool2dParams params : all_params()) {
    const Extents extents{1, 2, 5, 6};
    const Extents windows = Geometry(extents, params).out;
    TestTensor<double> x(ctx, extents), out(ctx, windows), out_grad(ctx, windows), x_grad(ctx, extents);
    TestTensor<std::int64_t> index(ctx, windows);
    x.fill_randomly(1);
    out_grad.fill_randomly(2);
    const bool is_max = params.pooltype == "max";
    pool2d(ctx, x, out, is_max ? index.ref() : TensorRef(), params);
    Pool2dParams with_index = params;
    if (is_max) with_index.index = index.ref();
    pool2d_grad(ctx, x, out_grad, x_grad, with_index);
    expect_slopes(x, x_grad, [&] {
      pool2d(ctx, x, out, {}, params);
      return weighted_sum(out, out_grad);
    });
    if (HasFailure()) return;
  }
}

TEST_P(Pool2dTest, gives_the_same_bits_on_every_run_in_both_modes_and_every_layout) {
  Pool2dParams params;
  params.kernel_size = {5};
  params.stride = {2};
  params.padding = {2};
  for (const char* type : {"max", "avg"}) {
    params.pooltype = type;
    const Extents extents{2, 16, 33, 40};
    const auto first = results<float>(ctx, extents, params, false);
    for (int run = 1; run < 4; ++run) {
      const auto again = results<float>(Context(ctx).deterministic(run % 2 == 1), extents, params, run >= 2);
      EXPECT_TRUE(std::ranges::equal(again.first, first.first, same_bits<float>)) << run;
      EXPECT_TRUE(std::ranges::equal(again.second, first.second, same_bits<float>)) << run;
    }
  }
}

TEST_P(Pool2dTest, bits_do_not_depend_on_the_number_of_threads) {
  skip_where_sanitized();
  const Context serial(enabled_backends().back());
  if (ctx.backend() != Backend::openmp || serial.backend() != Backend::serial) {
    GTEST_SKIP() << "OpenMP, which has several threads, is compared with Serial";
  }
  for_each_type([&]<class T>() {
    const auto compare = [&](const Extents& extents, const Pool2dParams& params) {
      for (const bool channels_last : {false, true}) {
        const auto [out, x_grad] = results<T>(ctx, extents, params, channels_last);
        const auto [its_out, its_grad] = results<T>(serial, extents, params, channels_last);
        const std::string what = extents.to_string() + " " + params.pooltype + " kernel " +
                                 std::to_string(params.kernel_size.front()) + (channels_last ? ", channels last" : "");
        EXPECT_TRUE(std::ranges::equal(out, its_out, same_bits<T>)) << what;
        EXPECT_TRUE(std::ranges::equal(x_grad, its_grad, same_bits<T>)) << what << ", the gradient";
      }
    };
    for (const Pool2dParams& params : all_params()) {
      for (const Extents& extents : {Extents{3, 20, 17, 19}, Extents{1, 2, 70, 131}}) compare(extents, params);
    }
    for (const char* type : {"max", "avg"}) {
      for (const Extents& extents : {Extents{3, 20, 17, 19}, Extents{1, 1, 400, 401}}) compare(extents, global(type));
    }
  });
}

TEST_P(Pool2dTest, reads_broadcast_images_where_they_lie) {
  TestTensor<float> row(ctx, {1, 1, 1, 6}), out(ctx, {2, 3, 2, 3}), x_grad(ctx, {2, 3, 4, 6});
  row.fill([](std::int64_t i) { return static_cast<double>(i); });
  const TensorRef x(static_cast<float*>(row.ref().data()), {2, 3, 4, 6}, {0, 0, 0, 1}, row.ref().space());
  Pool2dParams params;
  params.kernel_size = {2};
  pool2d(ctx, x, out, {}, params);
  out.download();
  for (std::int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<double>(i % 3 * 2 + 1));
  params.pooltype = "avg";
  pool2d(ctx, x, out, {}, params);
  out.download();
  for (std::int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<double>(i % 3 * 2) + 0.5);
  const TensorRef out_grad(static_cast<float*>(row.ref().data()), {2, 3, 2, 3}, {0, 0, 0, 1}, row.ref().space());
  pool2d_grad(ctx, x, out_grad, x_grad, params);
  x_grad.download();
  for (std::int64_t i = 0; i < x_grad.size(); ++i) EXPECT_EQ(x_grad[i], static_cast<double>(i % 6 / 2) / 4);
}

TEST_P(Pool2dTest, accepts_tensors_without_elements) {
  for (const char* type : {"max", "avg"}) {
    Pool2dParams params;
    params.kernel_size = {3};
    params.pooltype = type;
    for (const Extents& extents : {Extents{0, 2, 4, 4}, Extents{2, 0, 4, 4}, Extents{1, 2, 0, 4}, Extents{1, 2, 4, 0},
                                   Extents{1, 2, 2, 4}, Extents{1, 2, 4, 2}}) {
      const Extents windows = Geometry(extents, params).out;
      ASSERT_EQ(windows.product(), 0) << extents.to_string();
      TestTensor<float> x(ctx, extents), out(ctx, windows), x_grad(ctx, extents);
      TestTensor<std::int64_t> index(ctx, windows);
      x_grad.fill([](std::int64_t) { return 7.0; });
      EXPECT_NO_THROW(pool2d(ctx, x, out, {}, params));
      Pool2dParams with_index = params;
      if (type[0] == 'm') with_index.index = index.ref();
      pool2d_grad(ctx, x, out, x_grad, with_index);
      x_grad.download();
      for (std::int64_t i = 0; i < x_grad.size(); ++i) EXPECT_EQ(x_grad[i], 0.0);
    }
    TestTensor<float> none(ctx, {2, 3, 0, 4}), out(ctx, {2, 3, 0, 1});
    EXPECT_NO_THROW(pool2d(ctx, none, out, {}, global(type)));
  }
}

TEST_P(Pool2dTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  TestTensor<float> one(ctx, {1}), out(ctx, {1, 1, 1, 1});
  one.fill([](std::int64_t) { return 3.0; });
  const TensorRef x(static_cast<float*>(one.ref().data()), {1, 1, 1 << 12, 1 << 12}, {0, 0, 0, 0}, one.ref().space());
  const std::size_t bytes = pool2d_workspace(ctx, x, out, {}, global("avg"));
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(pool2d_workspace(ctx, x, out, {}, global("max")), 0u);
  LentMemory memory(ctx, bytes);
  pool2d(Context(ctx).workspace(memory.workspace()), x, out, {}, global("avg"));
  out.download();
  EXPECT_EQ(out[0], 3.0);
  EXPECT_TRUE(memory.is_untouched_outside());
}

TEST_P(Pool2dTest, a_call_by_name_computes_what_the_function_computes) {
  TestTensor<float> x(ctx, {1, 2, 5, 6}), out(ctx, {1, 2, 3, 3}), named(ctx, {1, 2, 3, 3}), x_grad(ctx, {1, 2, 5, 6});
  TestTensor<std::int64_t> index(ctx, {1, 2, 3, 3});
  x.fill_randomly(1);
  Pool2dParams params;
  params.kernel_size = {3, 2};
  params.stride = {2};
  params.padding = {1, 0};
  pool2d(ctx, x, out, {}, params);
  const auto arguments = Arguments()
                             .set("x", x.ref())
                             .set("kernel_size", Attribute(std::vector<std::int64_t>{3, 2}))
                             .set("stride", Attribute(std::vector<std::int64_t>{2}))
                             .set("padding", Attribute(std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(infer("pool2d", arguments).at("out").extents, out.extents());
  EXPECT_EQ(infer("pool2d", arguments).at("index").type, ElementType::i64);
  run("pool2d", ctx, Arguments(arguments).set("out", named.ref()).set("index", index.ref()));
  out.download();
  named.download();
  for (std::int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(named[i], out[i]);
  run("pool2d_grad", ctx,
      Arguments(arguments).set("out_grad", out.ref()).set("index", index.ref()).set("x_grad", x_grad.ref()));
  x_grad.download();
  double sum = 0.0, expected = 0.0;
  for (std::int64_t i = 0; i < x_grad.size(); ++i) sum += x_grad[i];
  for (std::int64_t i = 0; i < out.size(); ++i) expected += out[i];
  EXPECT_NEAR(sum, expected, 1e-5);
}

}  // namespace
}  // namespace portops::test
