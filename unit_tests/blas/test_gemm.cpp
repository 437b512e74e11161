// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_product.hpp"
#include "support/products.hpp"
#include "support/sanitized.hpp"
#include "support/support.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <thread>

// The values of the product that the operators' matrix products go through, on every path: the vendor's library, and on
// hosts also the fallback, which deterministic contexts take for all element types.

namespace portops::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class GemmTest : public OnEveryBackend {
 protected:
  /// The context itself, the one that takes the fallback on hosts, and the one that takes Kokkos Kernels on GPUs.
  std::vector<Context> contexts() const {
    std::vector<Context> all{ctx, Context(ctx).deterministic(true)};
    if (has_kokkos_kernels) all.push_back(with_kokkos_kernels(ctx));
    return all;
  }

  template <class T>
  static bool has_products_of(const Context& context) {
    return sizeof(T) > 2 || context.products() != Products::kokkos_kernels;
  }

  void check_all_types(const GemmShape& shape, Transpose a_transpose, Transpose b_transpose, Layout layout,
                       double alpha, double beta) {
    for (const Context& context : contexts()) {
      for_each_type([&]<class T>() {
        if (context.deterministic() && sizeof(T) == 2) return;  // takes the same path anyway
        if (!has_products_of<T>(context)) return;
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + ", products " +
                     std::string(name_of(context.products())) + (context.deterministic() ? ", deterministic" : ""));
        GemmProduct<T>(ctx, shape, a_transpose, b_transpose, layout).check(context, alpha, beta);
      });
    }
  }
};
PORTOPS_ON_EVERY_BACKEND(GemmTest);

/// Of the paths that are portops' own: what a vendor's library makes of constants is not promised.
TEST_P(GemmTest, does_not_drift_over_constant_data) {
  skip_where_sanitized();
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "the fallback is for hosts";
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const GemmShape& shape : {GemmShape{3, 5, 99}, GemmShape{13, 33, 198}, GemmShape{3, 5, 200},
                                     GemmShape{1, 1, 1 << 18}, GemmShape{13, 33, 5000}}) {
        GemmProduct<T> product(ctx, shape);
        product.a.fill([&](std::int64_t) { return constant; });
        product.b.fill([](std::int64_t) { return 0.0875; });
        SCOPED_TRACE(text_of(shape) + " of " + std::string(name_of(ElementTypeOf<T>::value)));
        product.check(Context(ctx).deterministic(true), 1.0, 0.0);
      }
    }
  });
}

TEST_P(GemmTest, is_right_for_all_types_transposes_and_strides) {
  constexpr std::array shapes{
      GemmShape{1, 1, 1},       // nothing to add up
      GemmShape{5, 7, 3},       // less than a panel of the fallback
      GemmShape{12, 32, 256},   // whole panels, one slice of the inner axis
      GemmShape{97, 133, 257},  // one more than a tile and a slice, and a panel that is not full
      GemmShape{3, 200, 530},   // tiles cut down to keep threads busy
      GemmShape{64, 1, 70},     // a column, which Kokkos Kernels takes for a vector
      GemmShape{1, 65, 70},     // a row
      GemmShape{1, 1, 1000},    // an inner product
      GemmShape{40, 33, 1},     // an outer product
  };
  for (const GemmShape& shape : shapes) {
    for (const Transpose a_transpose : {Transpose::no, Transpose::yes}) {
      for (const Transpose b_transpose : {Transpose::no, Transpose::yes}) {
        for (const Layout layout : {Layout::contiguous, Layout::padded}) {
          SCOPED_TRACE(text_of(shape) + (a_transpose == Transpose::yes ? ", a transposed" : "") +
                       (b_transpose == Transpose::yes ? ", b transposed" : "") +
                       (layout == Layout::padded ? ", rows apart" : ""));
          check_all_types(shape, a_transpose, b_transpose, layout, 1.0, 0.0);
        }
      }
    }
  }
}

/// What the tensor cores of a GPU take: tiles that are not full, inner axes that blocks share, and more tiles than
/// blocks. On hosts, what is large enough for a BLAS.
TEST_P(GemmTest, is_right_for_products_of_many_tiles) {
  for (const GemmShape& shape : {GemmShape{68, 72, 96}, GemmShape{200, 300, 644}, GemmShape{1540, 1604, 64}}) {
    if (shape.rows > unless_sanitized(2000, 200)) continue;
    for (const Transpose a_transpose : {Transpose::no, Transpose::yes}) {
      for (const Transpose b_transpose : {Transpose::no, Transpose::yes}) {
        if (shape.rows > 1000 && a_transpose != b_transpose) continue;
        SCOPED_TRACE(text_of(shape) + (a_transpose == Transpose::yes ? ", a transposed" : "") +
                     (b_transpose == Transpose::yes ? ", b transposed" : ""));
        GemmProduct<float>(ctx, shape, a_transpose, b_transpose).check(ctx, 1.0, 0.0);
        if (shape.rows < 1000) GemmProduct<float>(ctx, shape, a_transpose, b_transpose).check(ctx, -0.5, 2.0);
      }
    }
  }
  // Few rows or columns and long sums, whose parts many blocks of a GPU leave to be added up; and as few, whose tiles
  // are half empty.
  for (const GemmShape& shape :
       {GemmShape{28, 260, 2304}, GemmShape{64, 300, 2048}, GemmShape{260, 52, 2080}, GemmShape{132, 140, 2600},
        GemmShape{16, 256, 256}, GemmShape{33, 260, 256}, GemmShape{300, 40, 512}}) {
    for (const Transpose a_transpose : {Transpose::no, Transpose::yes}) {
      for (const Transpose b_transpose : {Transpose::no, Transpose::yes}) {
        SCOPED_TRACE(text_of(shape) + (a_transpose == Transpose::yes ? ", a transposed" : "") +
                     (b_transpose == Transpose::yes ? ", b transposed" : ""));
        const bool adds = a_transpose != b_transpose;
        GemmProduct<float>(ctx, shape, a_transpose, b_transpose).check(ctx, adds ? -0.5 : 1.0, adds ? 2.0 : 0.0);
      }
    }
  }
  GemmProduct<double>(ctx, {200, 300, 644}, Transpose::no, Transpose::yes).check(ctx, 1.0, 0.5);
  // Rows of c that begin at odd places.
  GemmProduct<float>(ctx, {100, 101, 128}, Transpose::no, Transpose::yes).check(ctx, 1.0, 1.0);
}

template <class T, class C>
void check_batch(const Context& ctx, const GemmShape& shape) {
  const auto [m, n, k] = shape;
  constexpr std::int64_t count = 3;
  TestTensor<T> a(ctx, {count, m, k}), b(ctx, {count, k, n});
  TestTensor<C> c(ctx, {count, m, n});
  a.fill_randomly(1);
  b.fill_randomly(2);
  c.fill_randomly(3);
  std::vector<double> before;
  for (std::int64_t i = 0; i < c.extents().product(); ++i) before.push_back(c[i]);
  const auto first = [](const auto& tensor, std::int64_t rows, std::int64_t columns) {
    const TensorRef all = tensor;
    return TensorRef(all.data(), all.type(), {rows, columns}, {columns, 1}, all.space());
  };
  gemm(ctx, Transpose::no, Transpose::no, 2.0, first(a, m, k), first(b, k, n), 1.0, first(c, m, n),
       {count, m * k, k * n, m * n});
  c.download();
  for (std::int64_t at = 0; at < c.extents().product(); ++at) {
    const std::int64_t product = at / (m * n), i = at / n % m, j = at % n;
    double sum = 0.0, magnitude = 1.0;
    for (std::int64_t l = 0; l < k; ++l) {
      const double term = a[(product * m + i) * k + l] * b[(product * k + l) * n + j];
      sum += 2.0 * term;
      magnitude += std::abs(term);
    }
    const double expected = sum + before[static_cast<std::size_t>(at)];
    // cuBLAS may round a product of halves before it adds c.
    const double rounded = std::abs(expected) + std::abs(sum);
    ASSERT_NEAR(c[at], expected, 4e-6 * magnitude + 1.01 * rounding<C>() * rounded) << "element " << at;
  }
}

TEST_P(GemmTest, takes_batches_and_gives_f32_for_halves) {
  for (const Context& context : contexts()) {
    for (const GemmShape& shape : {GemmShape{5, 7, 3}, GemmShape{68, 136, 72}}) {
      SCOPED_TRACE(text_of(shape) + (context.deterministic() ? " deterministic" : ""));
      check_batch<double, double>(context, shape);
      check_batch<float, float>(context, shape);
      if (!has_products_of<f16>(context)) continue;
      check_batch<f16, f16>(context, shape);
      check_batch<f16, float>(context, shape);
      check_batch<bf16, float>(context, shape);
    }
  }
}

TEST_P(GemmTest, scales_by_alpha_and_adds_beta_c) {
  for (const auto& [alpha, beta] : {std::pair{1.0, 1.0}, {-0.5, 0.0}, {2.0, -3.0}, {0.0, 0.25}, {0.3, 1.0}}) {
    SCOPED_TRACE(std::to_string(alpha) + ", " + std::to_string(beta));
    check_all_types({33, 50, 20}, Transpose::no, Transpose::yes, Layout::padded, alpha, beta);
    check_all_types({33, 1, 20}, Transpose::no, Transpose::no, Layout::padded, alpha, beta);
  }
}

/// Where the bias is added as c is written, and where it is in c before.
TEST_P(GemmTest, adds_a_bias_to_all_rows) {
  for (const Context& context : contexts()) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const GemmShape& shape : {GemmShape{5, 7, 3}, GemmShape{98, 133, 260}, GemmShape{68, 129, 64},
                                     GemmShape{36, 260, 260}, GemmShape{20, 300, 2304}, GemmShape{4, 6, 0}}) {
        if (sizeof(T) == 2 && shape.inner > 1000) continue;  // its bits do not count so far
        if (shape.inner > unless_sanitized(3000, 1000)) continue;
        for (const auto& [turned, layout] : {std::pair{Transpose::no, Layout::contiguous},
                                             {Transpose::no, Layout::padded},
                                             {Transpose::no, Layout::every_other},
                                             {Transpose::yes, Layout::contiguous}}) {
          // Whole numbers, so that nothing is rounded where a library may round twice.
          const Layout of_matrices = layout == Layout::every_other ? Layout::contiguous : layout;
          GemmProduct<T> product(ctx, shape, turned, turned, of_matrices);
          product.a.fill([](std::int64_t i) { return static_cast<double>(i % 2); });
          product.b.fill([](std::int64_t i) { return static_cast<double>(i % 3 == 0 ? 1 : 0); });
          product.c.fill([](std::int64_t) { return nan; });
          TestTensor<T> bias(ctx, {shape.columns}, layout);
          bias.fill([](std::int64_t i) { return static_cast<double>(i % 17) - 8.0; });
          gemm(context, turned, turned, -1.0, product.a, product.b, 0.0, product.c, {}, {}, bias);
          product.c.download();
          for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i) {
            const std::int64_t row = i / shape.columns, column = i % shape.columns;
            double sum = 0.0;
            for (std::int64_t k = 0; k < shape.inner; ++k) {
              sum += turned == Transpose::no ? product.a[row * shape.inner + k] * product.b[k * shape.columns + column]
                                             : product.a[k * shape.rows + row] * product.b[column * shape.inner + k];
            }
            ASSERT_EQ(product.c[i], bias[column] - sum) << i << " of " << text_of(shape);
          }
        }
      }
    });
  }
}

TEST_P(GemmTest, does_not_read_c_where_beta_is_0) {
  for (const Context& context : contexts()) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const GemmShape& shape :
           {GemmShape{20, 30, 10}, GemmShape{20, 1, 10}, GemmShape{1, 30, 10}, GemmShape{20, 30, 0}}) {
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + ", " + text_of(shape));
        GemmProduct<T> product(ctx, shape);
        product.c.fill([](std::int64_t) { return nan; });
        product.check(context, 1.0, 0.0);
        product.c.fill([](std::int64_t) { return nan; });
        product.check(context, 0.0, 0.0);
      }
    });
  }
}

TEST_P(GemmTest, without_an_inner_extent_gives_beta_c) {
  for (const double beta : {0.0, 1.0, -2.5}) {
    check_all_types({40, 70, 0}, Transpose::no, Transpose::no, Layout::padded, 1.0, beta);
    check_all_types({40, 70, 0}, Transpose::yes, Transpose::yes, Layout::contiguous, 1.0, beta);
  }
}

TEST_P(GemmTest, does_not_read_a_and_b_where_alpha_is_0) {
  for_each_type([&]<class T>() {
    GemmProduct<T> product(ctx, {20, 30, 10});
    product.a.fill([](std::int64_t) { return nan; });
    product.run(ctx, 0.0, 2.0);
    const T before = product.c.element(7);
    product.c.download();
    EXPECT_EQ(product.c[7], 2.0 * static_cast<double>(before));
  });
}

TEST_P(GemmTest, lets_nan_and_infinity_through) {
  for (const Context& context : contexts()) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      GemmProduct<T> product(ctx, {20, 30, 10});
      product.a.fill([](std::int64_t i) {
        return i == 13 ? nan : i == 25 ? std::numeric_limits<double>::infinity() : 1;
      });
      product.b.fill([](std::int64_t) { return 1.0; });
      product.run(context);
      product.c.download();
      for (std::int64_t j = 0; j < 30; ++j) {
        EXPECT_EQ(product.c[j], 10.0);
        EXPECT_TRUE(std::isnan(product.c[30 + j]));
        EXPECT_EQ(product.c[60 + j], std::numeric_limits<double>::infinity());
      }
    });
  }
}

TEST_P(GemmTest, of_nothing_does_nothing) {
  for (const GemmShape& shape : {GemmShape{0, 5, 3}, GemmShape{5, 0, 3}, GemmShape{0, 0, 0}}) {
    GemmProduct<float> product(ctx, shape);
    product.run(ctx, 1.0, 2.0);
    product.c.download();
  }
}

TEST_P(GemmTest, takes_strides_that_do_not_matter) {
  // One row may be any distance from the next, and one column's neighbours are not neighbours.
  TestTensor<float> a(ctx, {1, 4}), b(ctx, {4, 1}), c(ctx, {1, 1});
  a.fill([](std::int64_t i) { return i + 1.0; });
  b.fill([](std::int64_t i) { return i + 1.0; });
  const auto strided = [](const TestTensor<float>& x, const Extents& strides) {
    return TensorRef(static_cast<float*>(x.ref().data()), x.extents(), strides, x.ref().space());
  };
  gemm(ctx, Transpose::no, Transpose::no, 1.0, strided(a, {0, 1}), strided(b, {1, 4}), 0.0, strided(c, {0, 0}));
  c.download();
  EXPECT_EQ(c[0], 30.0);
}

TEST_P(GemmTest, adds_up_long_inner_products_accurately) {
  // All of one sign: the sums grow, and every addition rounds. A BLAS may add one term after the other.
  for (const Context& context : contexts()) {
    GemmProduct<float> product(ctx, {9, 17, 100000});
    product.a.fill_randomly(1, 0.5, 1.0);
    product.b.fill_randomly(2, 0.5, 1.0);
    product.check(context, 1.0, 0.0, context.deterministic() ? product.default_tolerance() : 1e-5);
  }
}

TEST_P(GemmTest, tf32_rounds_operands_to_11_bits_at_most) {
  Context tf32 = ctx;
  tf32.math(Math::tf32);
  GemmProduct<float>(ctx, {200, 150, 300}).check(tf32, 1.0, 0.0, 0x1p-10);
  GemmProduct<double>(ctx, {200, 150, 300}).check(tf32, 1.0, 0.0);
}

TEST_P(GemmTest, gives_the_same_bits_again) {
  const Context deterministic = Context(ctx).deterministic(true);
  for_each_type([&]<class T>() {
    GemmProduct<T> product(ctx, {70, 90, 5000});
    product.run(deterministic);
    product.c.download();
    const TestTensor<T> first = product.c;
    for (int round = 0; round < 3; ++round) {
      product.c.fill([](std::int64_t) { return nan; });
      product.run(deterministic);
      product.c.download();
      for (std::int64_t i = 0; i < 70 * 90; ++i) ASSERT_TRUE(same_bits(first.element(i), product.c.element(i))) << i;
    }
  });
}

TEST_P(GemmTest, own_products_of_hosts_are_those_of_deterministic_mode) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "the fallback is for hosts";
  for_each_type([&]<class T>() {
    GemmProduct<T> own(ctx, {70, 90, 3000}), deterministic(ctx, {70, 90, 3000});
    own.run(Context(ctx).products(Products::own));
    deterministic.run(Context(ctx).deterministic(true));
    own.c.download();
    deterministic.c.download();
    for (std::int64_t i = 0; i < 70 * 90; ++i) {
      ASSERT_TRUE(same_bits(own.c.element(i), deterministic.c.element(i))) << i;
    }
  });
}

TEST_P(GemmTest, deterministic_bits_do_not_depend_on_the_number_of_threads) {
  // The host backends of a build have different numbers of threads.
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a GPU's threads are what they are";
  const Context serial(enabled_backends().back());
  for_each_type([&]<class T>() {
    GemmProduct<T> here(ctx, {130, 90, 700}), there(serial, {130, 90, 700});
    here.run(Context(ctx).deterministic(true));
    there.run(Context(serial).deterministic(true));
    here.c.download();
    there.c.download();
    for (std::int64_t i = 0; i < 130 * 90; ++i) ASSERT_TRUE(same_bits(here.c.element(i), there.c.element(i))) << i;
  });
}

TEST_P(GemmTest, calls_of_two_contexts_and_two_host_threads_keep_apart) {
  if (enabled_backends() == std::vector{Backend::serial}) {
    GTEST_SKIP() << "a Kokkos with Serial alone may have no atomics, which threads that share an instance need";
  }
  // On cuda the second stream is the one that CUDA calls cudaStreamPerThread: each host thread has its own.
  void* const stream = ctx.backend() == Backend::cuda ? reinterpret_cast<void*>(2) : nullptr;
  const auto check = [&](const std::array<Context, 2>& contexts) {
    const auto work = [&](const GemmShape& shape) {
      std::vector<GemmProduct<float>> products;
      for (const Context& context : contexts) products.emplace_back(context, shape);
      for (int round = 0; round < 20; ++round) {
        for (std::size_t k = 0; k < 2; ++k) products[k].run(contexts[k]);
      }
      for (std::size_t k = 0; k < 2; ++k) products[k].check(contexts[k], 1.0, 0.0);
    };
    std::thread other(work, GemmShape{61, 130, 40});
    work({150, 30, 600});
    other.join();
  };
  const Context first(ctx.backend()), second(ctx.backend(), stream);
  check({first, second});
  if (has_kokkos_kernels) check({with_kokkos_kernels(first), with_kokkos_kernels(second)});
}

TEST_P(GemmTest, takes_a_workspace) {
  GemmProduct<f16> product(ctx, {40, 50, 3000});
  product.run(ctx);
  product.c.download();
  const TestTensor<f16> without = product.c;
  const auto bytes = static_cast<std::int64_t>(blas::gemm_workspace(ctx));
  EXPECT_EQ(bytes > 0, ctx.backend() == Backend::cuda);
  const Tensor memory(ElementType::f32, {bytes / 4 + 64}, default_memory_space(ctx.backend()));
  void* data = memory.data<void>();
  std::size_t space = static_cast<std::size_t>(bytes) + 256;
  const Workspace workspace{std::align(256, static_cast<std::size_t>(bytes), data, space),
                            static_cast<std::size_t>(bytes)};
  product.c.fill([](std::int64_t) { return nan; });
  gemm(ctx, Transpose::no, Transpose::no, 1.0, product.a, product.b, 0.0, product.c, {}, workspace);
  product.c.download();
  for (std::int64_t i = 0; i < 40 * 50; ++i) ASSERT_TRUE(same_bits(without.element(i), product.c.element(i))) << i;
}

}  // namespace
}  // namespace portops::test
