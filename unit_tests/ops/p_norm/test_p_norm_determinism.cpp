// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "p_norm_reference.hpp"
#include "support/sanitized.hpp"

// The same bits on every run, in both modes, on every backend and at every address.

namespace portops::test {
namespace {

/// Those that have the same bits on every backend: those that need no powers.
const std::vector<double> portable_orders{0.0, 1.0, 2.0, inf, -inf, 3.0, 4.0};

struct Case {
  Extents extents;
  std::vector<std::int64_t> axis;
};

/// Rows and columns, short, long, and so long that they are cut in parts, and several axes.
const Case cases[] = {{{700, 33}, {1}},          {{40, 1000}, {1}}, {{3, 33000}, {1}}, {{1, 200001}, {1}},
                      {{300, 70}, {0}},          {{5001, 40}, {0}}, {{70001, 2}, {0}}, {{20, 30, 40}, {0, 2}},
                      {{20, 30, 40}, {0, 1, 2}}, {{300, 250}, {1}}, {{300, 252}, {1}}, {{3, 3000}, {1}},
                      {{999, 3, 3}, {1}}};

/// The elements of a tensor, read back.
template <class T>
std::vector<T> elements_of(TestTensor<T>& tensor) {
  tensor.download();
  std::vector<T> elements;
  for (std::int64_t i = 0; i < tensor.extents().product(); ++i) elements.push_back(tensor.element(i));
  return elements;
}

template <class T>
void expect_same(const std::vector<T>& found, const std::vector<T>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same_bits(found[i], expected[i])) << what << ": " << i;
}

/// The norms and their gradients.
template <class T>
struct Results {
  std::vector<T> out, x_grad;

  Results(const Context& ctx, const TensorRef& x, const PNormParams& params) {
    const Extents extents = out_extents(x.extents(), params);
    TestTensor<T> norms(ctx, extents), out_grad(ctx, extents), gradient(ctx, x.extents());
    out_grad.fill_randomly(2);
    p_norm(ctx, x, norms.ref(), params);
    p_norm_grad(ctx, x, norms.ref(), out_grad.ref(), gradient.ref(), params);
    out = elements_of(norms);
    x_grad = elements_of(gradient);
  }

  void expect_same_as(const Results& other, const std::string& what) const {
    expect_same(out, other.out, what);
    expect_same(x_grad, other.x_grad, "the gradient of " + what);
  }
};

class PNormDeterminismTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(PNormDeterminismTest);

TEST_P(PNormDeterminismTest, on_every_run_and_in_both_modes) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const Case& one : cases) {
      TestTensor<T> x(ctx, one.extents);
      x.fill_randomly(1);
      for (const double p : {2.0, 2.3, inf}) {
        const PNormParams params{.porder = p, .axis = one.axis};
        const Results<T> first(ctx, x, params);
        const std::string what = describe<T>(one.extents, params);
        Results<T>(ctx, x, params).expect_same_as(first, what);
        Results<T>(Context(ctx).deterministic(true), x, params).expect_same_as(first, what + ", deterministic");
        Results<T>(Context(ctx).deterministic(false), x, params).expect_same_as(first, what + ", not deterministic");
      }
    }
  });
}

TEST_P(PNormDeterminismTest, on_every_backend) {
  const Context first(enabled_backends().front());
  if (first.backend() == ctx.backend()) GTEST_SKIP() << "the one that the others are compared with";
  for_each_type([&]<class T>() {
    for (const Case& one : cases) {
      TestTensor<T> here(ctx, one.extents), there(first, one.extents);
      here.fill_randomly(1);
      there.fill_randomly(1);
      for (const double p : portable_orders) {
        const PNormParams params{.porder = p, .axis = one.axis};
        Results<T>(ctx, here, params)
            .expect_same_as(Results<T>(first, there, params), describe<T>(one.extents, params));
      }
    }
  });
}

TEST_P(PNormDeterminismTest, on_every_backend_for_huge_and_tiny_elements) {
  const Context first(enabled_backends().front());
  if (first.backend() == ctx.backend()) GTEST_SKIP() << "the one that the others are compared with";
  for_each_type([&]<class T>() {
    const double most = std::is_same_v<T, double> ? 300.0 : std::is_same_v<T, f16> ? 4.7 : 38.0;
    const double least = std::is_same_v<T, f16> ? -7.0 : -most;
    const auto value = [&](std::int64_t i) {
      return scattered(i) * std::pow(10.0, least + (most - least) * static_cast<double>(i * 29 % 64) / 63.0);
    };
    for (const Case& one : {Case{{40, 33}, {1}}, Case{{40, 36}, {1}}, Case{{2, 33000}, {1}}, Case{{33, 40}, {0}},
                            Case{{5001, 2}, {0}}, Case{{999, 3, 3}, {1}}}) {
      TestTensor<T> here(ctx, one.extents), there(first, one.extents);
      here.fill(value);
      there.fill(value);
      for (const double p : portable_orders) {
        const PNormParams params{.porder = p, .axis = one.axis};
        Results<T>(ctx, here, params)
            .expect_same_as(Results<T>(first, there, params), describe<T>(one.extents, params));
      }
    }
  });
}

TEST_P(PNormDeterminismTest, at_every_address) {
  for_each_type([&]<class T>() {
    for (const Case& one :
         {Case{{7, 130}, {1}}, Case{{7, 132}, {1}}, Case{{9, 136}, {1}}, Case{{9, 136}, {0}}, Case{{2, 33000}, {1}},
          Case{{131, 7}, {0}}, Case{{5001, 6}, {0}}, Case{{20, 3, 40}, {0, 2}}}) {
      constexpr std::int64_t most = 8;
      TestTensor<T> storage(ctx, {one.extents.product() + most});
      const auto value = [](std::int64_t i) { return 3.0 * scattered(i) + 1e-3 * static_cast<double>(i % 1009); };
      const auto shifted_by = [&](std::int64_t shift) {
        storage.fill([&](std::int64_t i) { return value(i - shift); });
        return TensorRef(static_cast<T*>(storage.ref().data()) + shift, one.extents, storage.ref().space());
      };
      for (const double p : {1.0, 2.0, 2.3, inf}) {
        const PNormParams params{.porder = p, .axis = one.axis};
        const Results<T> expected(ctx, shifted_by(0), params);
        for (const std::int64_t shift : {1, 2, 3, 4, 8}) {
          Results<T>(ctx, shifted_by(shift), params)
              .expect_same_as(expected, describe<T>(one.extents, params) + ", shifted by " + std::to_string(shift));
        }
      }
    }
  });
}

TEST_P(PNormDeterminismTest, however_far_rows_are_apart) {
  for_each_type([&]<class T>() {
    for (const Case& one : {Case{{40, 1000}, {1}}, Case{{2, 33000}, {1}}, Case{{300, 70}, {0}}, Case{{5001, 6}, {0}}}) {
      TestTensor<T> dense(ctx, one.extents), padded(ctx, one.extents, Layout::padded);
      dense.fill_randomly(1);
      padded.fill_randomly(1);
      for (const double p : {1.0, 2.0, 2.3, inf}) {
        const PNormParams params{.porder = p, .axis = one.axis};
        Results<T>(ctx, padded, params)
            .expect_same_as(Results<T>(ctx, dense, params), describe<T>(one.extents, params));
      }
    }
  });
}

}  // namespace
}  // namespace portops::test
