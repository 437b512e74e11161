// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"
#include "support/lent_memory.hpp"

#include <portops/ops/merge_rows.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <numeric>

// The optimizers' steps by sparse gradients: sparse_sgd, sparse_momentum and sparse_adam.

namespace portops::test {
namespace {

enum class Step { sgd, momentum, nesterov, adam };
constexpr Step all_steps[] = {Step::sgd, Step::momentum, Step::nesterov, Step::adam};

constexpr double learning_rate = 0.05;
constexpr double mu = 0.9;
constexpr double beta1 = 0.9;
constexpr double beta2 = 0.99;
constexpr double epsilon = 1e-6;
constexpr int step_number = 3;

/// A number and how far a computation may be from it.
struct Approximate {
  double value;
  double error;
};

/// What a step makes of one element: the table's, then the optimizer's own. `gradient.error` is what its sum may be
/// off.
std::vector<Approximate> expected_step(Step step, const std::vector<double>& before, const Approximate& gradient) {
  const double g = gradient.value;
  const double e = gradient.error;
  const double p = before[0];
  if (step == Step::sgd) return {{p - learning_rate * g, learning_rate * e}};
  if (step == Step::adam) {
    const double m = beta1 * before[1] + (1 - beta1) * g;
    const double v = beta2 * before[2] + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, step_number));
    const double v_hat = v / (1 - std::pow(beta2, step_number));
    const double v_error = (1 - beta2) * 2 * std::abs(g) * e;
    const double ratio = m_hat / (std::sqrt(v_hat) + epsilon);
    const double ratio_error = 5 * e / (std::sqrt(v_hat) + epsilon) + std::abs(ratio) * v_error / (v + 1e-30);
    return {{p - learning_rate * ratio, learning_rate * ratio_error}, {m, (1 - beta1) * e}, {v, v_error}};
  }
  const double v = mu * before[1] + g;
  const double by = step == Step::nesterov ? g + mu * v : v;
  return {{p - learning_rate * by, learning_rate * 2 * e}, {v, e}};
}

int tensors_of(Step step) { return step == Step::sgd ? 1 : step == Step::adam ? 3 : 2; }

/// A table, what the optimizer keeps for it, a gradient, and the tensors after the step.
template <class T>
struct Update {
  Update(const Context& context, Step which, const Places& where, std::int64_t height, Extents extents,
         Layout layout = Layout::contiguous)
      : ctx(context), step(which), places(where), rows(index_tensor(ctx, where, layout)) {
    extents[0] = static_cast<std::int64_t>(places.size());
    values = TestTensor<T>(ctx, extents, layout);
    values.fill_randomly(11);
    extents[0] = height;
    for (int k = 0; k < tensors_of(step); ++k) {
      before.emplace_back(ctx, extents, layout);
      // A second moment is positive.
      before.back().fill_randomly(static_cast<unsigned>(20 + k), k == 2 ? 0.5 : -2.0, 2.0);
      after.emplace_back(ctx, extents, layout == Layout::padded ? Layout::contiguous : layout);
      after.back().fill([](std::int64_t) { return -77.0; });
    }
  }

  void call(const Context& with, const std::vector<TensorRef>& out, const TensorRef& by_rows,
            const TensorRef& by_values, const TensorRef& count = {}) {
    switch (step) {
      case Step::sgd:
        return sparse_sgd(with, before[0], by_rows, by_values, out[0],
                          {.count = count, .learning_rate = learning_rate});
      case Step::momentum:
      case Step::nesterov:
        return sparse_momentum(
            with, before[0], by_rows, by_values, before[1], out[0], out[1],
            {.count = count, .learning_rate = learning_rate, .mu = mu, .use_nesterov = step == Step::nesterov});
      case Step::adam:
        return sparse_adam(with, before[0], by_rows, by_values, before[1], before[2], out[0], out[1], out[2],
                           {.count = count,
                            .learning_rate = learning_rate,
                            .beta1_pow = std::pow(beta1, step_number),
                            .beta2_pow = std::pow(beta2, step_number),
                            .beta1 = beta1,
                            .beta2 = beta2,
                            .epsilon = epsilon});
    }
  }
  void call() { call(ctx, refs(after), rows, values); }

  static std::vector<TensorRef> refs(const std::vector<TestTensor<T>>& tensors) {
    return {tensors.begin(), tensors.end()};
  }

  /// That `found` is what the step makes of `before`.
  void check(std::vector<TestTensor<T>>& found, const std::vector<TestTensor<T>>& from) {
    const MergedReference merged(places, values);
    const double rounded = std::is_same_v<T, double> ? 1e-14 : 5e-7;
    const double summed = std::is_same_v<T, double> ? 1e-12 : 2e-6;
    // In any order, each block of rows, 32 or more of up to 32 columns, is added to the table by itself, and rounded.
    const double additions = is_in_any_order() ? std::ceil(static_cast<double>(places.size()) / 32) + 1 : 0.0;
    for (auto& tensor : found) tensor.download();
    const std::int64_t height = from[0].extents()[0];
    const std::int64_t columns = height == 0 ? 0 : from[0].extents().product() / height;
    for (std::int64_t i = 0; i < height * columns; ++i) {
      const auto row = merged.rows.find(i / columns);
      const auto column = static_cast<std::size_t>(i % columns);
      std::vector<double> elements;
      for (const auto& tensor : from) elements.push_back(tensor[i]);
      std::vector<Approximate> expected;
      if (row != merged.rows.end()) {
        const double magnitude = row->second.magnitude[column];
        expected = expected_step(step, elements, {row->second.value[column], summed * magnitude});
        expected[0].error += additions * rounding<T>() * (std::abs(elements[0]) + learning_rate * magnitude);
      }
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (expected.empty()) {
          ASSERT_TRUE(same_bits(found[k].element(i), from[k].element(i))) << "tensor " << k << ", " << i;
          continue;
        }
        const auto [value, error] = expected[k];
        const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
        const double tolerance = error + rounded * (std::abs(value) + 4.0) + last * std::abs(value);
        ASSERT_LE(std::abs(found[k][i] - value), tolerance)
            << "tensor " << k << ", " << i << " is " << found[k][i] << ", expected " << value;
      }
    }
  }

  bool is_in_any_order() const {
    return step == Step::sgd && sizeof(T) >= 4 && ctx.backend() == Backend::cuda && !ctx.deterministic();
  }

  const Context& ctx;
  Step step;
  Places places;
  TestTensor<std::int64_t> rows;
  TestTensor<T> values;
  std::vector<TestTensor<T>> before, after;
};

class SparseUpdateTest : public OnEveryBackend {
 protected:
  template <class T>
  void check(Step step, const Places& places, std::int64_t height, const Extents& extents,
             Layout layout = Layout::contiguous) {
    SCOPED_TRACE(testing::Message() << "step " << static_cast<int>(step) << ", " << places.size() << " rows of "
                                    << height << ", " << extents.to_string() << ", "
                                    << name_of(ElementTypeOf<T>::value));
    for (const bool deterministic : {false, true}) {
      if (deterministic && step != Step::sgd) continue;
      const Context in_mode = Context(ctx).deterministic(deterministic);
      Update<T> update(in_mode, step, places, height, extents, layout);
      update.call();
      update.check(update.after, update.before);
    }
  }

  void check_all(const Places& places, std::int64_t height, const Extents& extents,
                 Layout layout = Layout::contiguous) {
    for (const Step step : all_steps) {
      for_each_type([&]<class T>() { check<T>(step, places, height, extents, layout); });
    }
  }
};
PORTOPS_ON_EVERY_BACKEND(SparseUpdateTest);

TEST_P(SparseUpdateTest, changes_the_rows_of_the_gradient_alone) {
  for (const std::int64_t columns : {1, 7, 64}) check_all(random_places(500, 300), 300, {0, columns});
  check_all(random_places(70, 90), 90, {0, 1000});
  check_all(uneven_places(3000, 200), 200, {0, 8});
}

TEST_P(SparseUpdateTest, by_one_row_and_by_rows_of_one_place) {
  check_all({3}, 5, {0, 6});
  check_all({0}, 1, {0, 6});
  check_all(Places(1000, 2), 4, {0, 16});
}

TEST_P(SparseUpdateTest, does_not_drift_over_constant_gradients) {
  const Context deterministic = Context(ctx).deterministic(true);
  for (const Step step : all_steps) {
    for_each_type([&]<class T>() {
      Update<T> update(deterministic, step, Places(30000, 2), 4, {0, 3});
      update.values.fill([](std::int64_t) { return 1.1 / 16; });  // the squares of the sums fit f16
      update.call();
      update.check(update.after, update.before);
    });
  }
}

TEST_P(SparseUpdateTest, reads_and_writes_any_layout) {
  for (const Layout layout : all_layouts) {
    check_all(random_places(100, 40), 40, {0, 16}, layout);
    check_all(random_places(100, 40), 40, {0, 3, 4}, layout);
    check_all(random_places(100, 40), 40, {0}, layout);
  }
}

TEST_P(SparseUpdateTest, without_elements) {
  check_all({}, 4, {0, 3});
  check_all({}, 0, {0, 3});
  check_all({1, 1}, 4, {0, 0});
}

TEST_P(SparseUpdateTest, in_place) {
  for (const Step step : all_steps) {
    for_each_type([&]<class T>() {
      Update<T> update(ctx, step, random_places(400, 150), 150, {0, 24});
      std::vector<TestTensor<T>> kept;
      for (const auto& tensor : update.before) {
        kept.emplace_back(ctx, tensor.extents());
        kept.back().fill([&](std::int64_t i) { return tensor[i]; });
      }
      update.call(ctx, update.refs(update.before), update.rows, update.values);
      update.check(update.before, kept);
    });
  }
}

/// In place, as the sum is the same, merged rows give the same bits: the element type holds the sums exactly.
TEST_P(SparseUpdateTest, by_merged_rows_is_the_same) {
  const Context deterministic = Context(ctx).deterministic(true);
  for (const Step step : all_steps) {
    Update<double> update(deterministic, step, uneven_places(700, 90), 90, {0, 8});
    update.call();
    TestTensor<std::int64_t> rows(ctx, {700}), count(ctx, {});
    TestTensor<double> values(ctx, {700, 8});
    values.fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });  // never read from count on
    merge_rows(ctx, update.rows, update.values, rows, values, count, {.height = 90});
    std::vector<TestTensor<double>> found;
    for (const auto& tensor : update.after) found.emplace_back(ctx, tensor.extents());
    update.call(ctx, update.refs(found), rows, values, count);
    for (std::size_t k = 0; k < found.size(); ++k) {
      found[k].download();
      update.after[k].download();
      for (std::int64_t i = 0; i < found[k].extents().product(); ++i) {
        ASSERT_TRUE(same_bits(found[k].element(i), update.after[k].element(i))) << "tensor " << k << ", " << i;
      }
    }
  }
}

TEST_P(SparseUpdateTest, has_the_same_bits_on_every_run_and_backend) {
  const Context deterministic = Context(ctx).deterministic(true);
  for (const Step step : all_steps) {
    for_each_type([&]<class T>() {
      const Places places = uneven_places(5000, 100);
      Update<T> first(deterministic, step, places, 100, {0, 16});
      first.call();
      for (auto& tensor : first.after) tensor.download();
      for (const Backend backend : enabled_backends()) {
        const Context other = Context(backend).deterministic(true);
        Update<T> again(other, step, places, 100, {0, 16});
        again.call();
        for (std::size_t k = 0; k < first.after.size(); ++k) {
          again.after[k].download();
          for (std::int64_t i = 0; i < 100 * 16; ++i) {
            ASSERT_TRUE(same_bits(first.after[k].element(i), again.after[k].element(i))) << "tensor " << k << ", " << i;
          }
        }
      }
    });
  }
}

/// Blocks of 32 rows and of 128, the last one not full; places of which a block has one row, some and all; columns
/// that several teams share.
TEST_P(SparseUpdateTest, sgd_adds_many_rows_in_any_order) {
  for_each_type([&]<class T>() {
    check<T>(Step::sgd, random_places(20011, 5000), 5000, {0, 5});
    check<T>(Step::sgd, uneven_places(65537, 300), 300, {0, 8});
    check<T>(Step::sgd, uneven_places(70001, 3000), 3000, {0, 3});
    check<T>(Step::sgd, Places(66000, 1), 2, {0, 4});
    check<T>(Step::sgd, random_places(300, 90), 90, {0, 700});
  });
}

TEST_P(SparseUpdateTest, sgd_needs_no_workspace_for_any_order) {
  const Update<float> update(ctx, Step::sgd, uneven_places(12000, 200), 200, {0, 8});
  const auto bytes = [&](bool deterministic) {
    return sparse_sgd_workspace(Context(ctx).deterministic(deterministic), update.before[0], update.rows, update.values,
                                update.after[0], {});
  };
  EXPECT_EQ(bytes(false) == 0, ctx.backend() == Backend::cuda);
  EXPECT_GT(bytes(true), 0u);
}

TEST_P(SparseUpdateTest, uses_a_lent_workspace_of_the_size_that_it_names) {
  const Context deterministic = Context(ctx).deterministic(true);
  Update<float> update(deterministic, Step::adam, uneven_places(12000, 200), 200, {0, 8});
  const std::vector<TensorRef> out = update.refs(update.after);
  const std::size_t bytes = sparse_adam_workspace(deterministic, update.before[0], update.rows, update.values,
                                                  update.before[1], update.before[2], out[0], out[1], out[2], {});
  ASSERT_EQ(bytes, sparse_sgd_workspace(deterministic, update.before[0], update.rows, update.values, out[0], {}));
  ASSERT_EQ(bytes, sparse_momentum_workspace(deterministic, update.before[0], update.rows, update.values,
                                             update.before[1], out[0], out[1], {}));
  ASSERT_GT(bytes, 0u);
  LentMemory memory(ctx, bytes);
  update.call(Context(deterministic).workspace(memory.workspace()), out, update.rows, update.values);
  update.check(update.after, update.before);
  EXPECT_TRUE(memory.is_untouched_outside());
}

/// On hosts the call is refused; on a GPU such rows are passed over.
TEST_P(SparseUpdateTest, refuses_places_outside_of_the_table) {
  for (const Step step : all_steps) {
    Update<float> update(ctx, step, {2, 7, 2, -1}, 5, {0, 4});
    if (ctx.backend() == Backend::cuda) {
      update.call();
      update.check(update.after, update.before);
    } else {
      EXPECT_THROW(update.call(), Error);
      update.after[0].download();
      EXPECT_EQ(update.after[0][0], -77.0);
    }
  }
}

}  // namespace
}  // namespace portops::test
