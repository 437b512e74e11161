// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"
#include "support/lent_memory.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/embedding_sparse_gradient.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <limits>
#include <set>

namespace portops::test {
namespace {

/// What is behind the merged rows of values.
constexpr double untouched = -77.0;

/// A call and what it gives.
template <class T>
struct SparseGradient {
  SparseGradient(const Context& context, const Places& where, const Extents& extents, std::int64_t table_rows,
                 std::int64_t its_width, std::int64_t its_padding = -1, Layout layout = Layout::contiguous,
                 Layout ids_layout = Layout::contiguous)
      : ctx(context),
        places(where),
        height(table_rows),
        width(its_width),
        padding(its_padding),
        ids(ctx, extents, ids_layout),
        out_grad(ctx, looked_up(extents, width), layout),
        rows(ctx, {ids.size()}, layout == Layout::every_other ? layout : Layout::contiguous),
        values(ctx, {ids.size(), width}, layout) {
    ids.fill([&](std::int64_t i) { return static_cast<double>(places[static_cast<std::size_t>(i)]); });
    out_grad.fill_randomly(3);
    rows.fill([](std::int64_t) { return -7.0; });
    values.fill([](std::int64_t) { return untouched; });
  }

  static Extents looked_up(const Extents& extents, std::int64_t width) {
    Extents out = Extents::of_rank(extents.rank() + 1);
    std::copy(extents.begin(), extents.end(), &out[0]);
    out[extents.rank()] = width;
    return out;
  }

  TensorRef weight() const { return TensorRef::without_data(ElementTypeOf<T>::value, {height, width}); }

  void call(const Context& its) {
    embedding_sparse_gradient(its, weight(), ids, out_grad, rows, values, count, {padding});
    rows.download();
    values.download();
    count.download();
  }

  void call_and_check() {
    call(ctx);
    MergedReference expected(places, out_grad);
    expected.rows.erase(padding);
    const auto places_found = static_cast<std::int64_t>(expected.rows.size());
    ASSERT_EQ(count.element(0), places_found);
    EXPECT_EQ(merged_count(ctx, count), places_found);
    std::int64_t u = 0;
    for (const auto& [place, row] : expected.rows) {
      ASSERT_EQ(rows.element(u), place) << u;
      for (std::int64_t c = 0; c < width; ++c) {
        ASSERT_NO_FATAL_FAILURE(expect_close<T>(values[u * width + c], row.value[static_cast<std::size_t>(c)],
                                                row.magnitude[static_cast<std::size_t>(c)],
                                                "row " + std::to_string(u) + ", column " + std::to_string(c)));
      }
      ++u;
    }
    for (; u < ids.size(); ++u) {
      ASSERT_EQ(rows.element(u), height) << u;
      for (std::int64_t c = 0; c < width; ++c) ASSERT_EQ(values[u * width + c], untouched) << u << " was written";
    }
  }

  const Context& ctx;
  Places places;
  std::int64_t height, width, padding;
  TestTensor<std::int64_t> ids;
  TestTensor<T> out_grad;
  TestTensor<std::int64_t> rows;
  TestTensor<T> values;
  TestTensor<std::int64_t> count{ctx, {}};
};

class EmbeddingSparseGradientTest : public OnEveryBackend {
 protected:
  template <class T, class... Layouts>
  void check(const Extents& extents, const Places& places, std::int64_t height, std::int64_t width,
             std::int64_t padding, Layouts... layouts) {
    SCOPED_TRACE(testing::Message() << "ids " << extents.to_string() << " of " << height << " x " << width
                                    << ", padding " << padding << ", " << name_of(ElementTypeOf<T>::value));
    SparseGradient<T>(ctx, places, extents, height, width, padding, layouts...).call_and_check();
  }
};
PORTOPS_ON_EVERY_BACKEND(EmbeddingSparseGradientTest);

TEST_P(EmbeddingSparseGradientTest, equals_the_reference_for_ids_of_any_rank_and_rows_of_any_width) {
  for_each_type([&]<class T>() {
    for (const std::int64_t padding : {-1, 0, 3}) {
      for (const std::int64_t width : {1, 3, 8, 33, 64}) {
        check<T>({}, {3}, 5, width, padding);
        check<T>({700}, random_places(700, 90), 90, width, padding);
        check<T>({7, 100}, uneven_places(700, 90), 90, width, padding);
        check<T>({4, 5, 6}, random_places(120, 1000), 1000, width, padding);
      }
    }
    check<T>({2, 1, 3, 1, 2, 1, 2}, random_places(24, 7), 7, 6, 6);
  });
}

/// Rows that cross chunks on several levels, beside as many of the padding.
TEST_P(EmbeddingSparseGradientTest, of_ids_that_occur_many_times) {
  for_each_type([&]<class T>() {
    Places places(20000, 1);
    for (std::size_t i = 0; i < places.size(); i += 3) places[i] = 2;
    for (const std::int64_t padding : {-1, 0, 1, 2}) check<T>({200, 100}, places, 3, 4, padding);
  });
}

TEST_P(EmbeddingSparseGradientTest, of_nothing_but_padding) {
  for_each_type([&]<class T>() {
    check<T>({300}, Places(300, 2), 3, 5, 2);
    check<T>({1}, {0}, 1, 5, 0);
  });
}

/// Keys of places have as many bits as the height has, and one value more where there is padding.
TEST_P(EmbeddingSparseGradientTest, of_tables_around_powers_of_two) {
  for (const std::int64_t height : {1, 2, 3, 4, 7, 8, 255, 256, 65535, 65536}) {
    check<float>({500}, random_places(500, height), height, 4, -1);
    check<float>({500}, random_places(500, height), height, 4, height - 1);
  }
  const std::int64_t limit = (std::int64_t{1} << 32) - 1;
  for (const std::int64_t height : {limit - 2, limit - 1, limit, limit + 1, std::int64_t{1} << 40}) {
    check<double>({4}, {height - 1, 0, height - 1, height - 2}, height, 3, -1);
    check<double>({5}, {height - 1, 0, height - 1, height - 2, 0}, height, 3, height - 1);
    check<double>({5}, {height - 1, 0, height - 1, height - 2, 0}, height, 3, 0);
  }
}

TEST_P(EmbeddingSparseGradientTest, reads_and_writes_any_layout) {
  const Places places = random_places(240, 50);
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout ids_layout : all_layouts) {
        check<T>({240}, places, 50, 8, 7, layout, ids_layout);
        check<T>({5, 6, 8}, places, 50, 5, 7, layout, ids_layout);
      }
    }
  });
}

TEST_P(EmbeddingSparseGradientTest, reads_broadcast_operands_where_they_lie) {
  SparseGradient<float> grad(ctx, {7, 2, 7, 2, 7, 2}, {2, 3}, 9, 4, 2);
  TestTensor<float> row(ctx, {1, 4});
  row.fill_randomly(1);
  const TensorRef out_grad(static_cast<float*>(row.ref().data()), {2, 3, 4}, {0, 0, 1}, row.ref().space());
  const TensorRef ids(static_cast<std::int64_t*>(grad.ids.ref().data()), {2, 3}, {1, 0}, grad.ids.ref().space());
  embedding_sparse_gradient(ctx, grad.weight(), ids, out_grad, grad.rows, grad.values, grad.count, {2});
  EXPECT_EQ(merged_count(ctx, grad.count), 1);
  grad.rows.download();
  grad.values.download();
  EXPECT_EQ(grad.rows.element(0), 7);
  for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ(grad.values[c], static_cast<float>(3.0 * row[c]));
}

/// The dense gradient to the bit, on every backend and in both modes, and through sparse_sgd.
TEST_P(EmbeddingSparseGradientTest, is_the_dense_gradient) {
  for_each_type([&]<class T>() {
    const Places places = uneven_places(9000, 90);
    for (const std::int64_t padding : {-1, 1}) {
      SparseGradient<T> grad(ctx, places, {90, 100}, 90, 12, padding);
      TestTensor<T> dense(ctx, {90, 12}), param(ctx, {90, 12});
      embedding_grad(ctx, grad.weight(), grad.ids, grad.out_grad, dense, {padding});
      dense.download();
      for (const bool deterministic : {false, true, false}) {
        grad.call(Context(ctx).deterministic(deterministic));
        std::set<std::int64_t> found;
        for (std::int64_t u = 0; u < grad.count.element(0); ++u) {
          const std::int64_t row = grad.rows.element(u);
          found.insert(row);
          for (std::int64_t c = 0; c < 12; ++c) {
            ASSERT_TRUE(same_bits(grad.values.element(u * 12 + c), dense.element(row * 12 + c))) << row;
          }
        }
        std::set<std::int64_t> expected(places.begin(), places.end());
        expected.erase(padding);
        EXPECT_EQ(found, expected);
      }
      param.fill([](std::int64_t) { return 0.0; });
      sparse_sgd(ctx, param, grad.rows, grad.values, param, {.count = grad.count, .learning_rate = -1.0});
      param.download();
      for (std::int64_t i = 0; i < param.size(); ++i) ASSERT_EQ(param[i], dense[i]) << i;
    }
  });
}

TEST_P(EmbeddingSparseGradientTest, carries_nan_and_inf_to_their_rows_alone) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  SparseGradient<float> grad(ctx, {4, 1, 4, 0, 2}, {5}, 5, 1, 2);
  const double elements[] = {inf, 1, -inf, 2, nan};
  grad.out_grad.fill([&](std::int64_t i) { return elements[i]; });
  grad.call(ctx);
  EXPECT_EQ(grad.count.element(0), 3);
  EXPECT_EQ(grad.values[0], 2.0);
  EXPECT_EQ(grad.values[1], 1.0);
  EXPECT_TRUE(std::isnan(grad.values[2]));
}

/// On hosts the call is refused; on a GPU such ids are left out and the count tells. The padding is none of them.
TEST_P(EmbeddingSparseGradientTest, refuses_ids_outside_of_the_table) {
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    for (const std::int64_t padding : {-1, 3}) {
      SparseGradient<float> grad(ctx, {3, 4, 1, wrong, 4, wrong}, {2, 3}, 5, 2, padding);
      if (ctx.backend() != Backend::cuda) {
        expect_error([&] { grad.call(ctx); }, "portops::embedding_sparse_gradient: ids[1, 0] is " +
                                                  std::to_string(wrong) +
                                                  ", expected at least 0 and less than 5 (the rows of weight)");
        continue;
      }
      grad.call(ctx);
      EXPECT_EQ(grad.count.element(0), -4);
      expect_error([&] { merged_count(ctx, grad.count); },
                   "portops::merged_count: rows[3] is not a row of the table, expected at least 0 and less than the "
                   "height");
      const Places expected = padding == 3 ? Places{1, 4, 5, 5, 5, 5} : Places{1, 3, 4, 5, 5, 5};
      for (std::size_t u = 0; u < expected.size(); ++u) {
        EXPECT_EQ(grad.rows.element(static_cast<std::int64_t>(u)), expected[u]) << u;
      }
      EXPECT_EQ(grad.values[0], grad.out_grad[4]);
    }
  }
}

TEST_P(EmbeddingSparseGradientTest, accepts_tensors_without_elements) {
  for (const Extents& extents : {Extents{0}, Extents{3, 0}, Extents{0, 2}}) {
    check<float>(extents, {}, 3, 2, 1);
    check<float>(extents, {}, 0, 2, -1);
  }
  check<float>({2, 2}, {2, 1, 2, 0}, 3, 0, -1);
  check<float>({2, 2}, {2, 1, 2, 0}, 3, 0, 2);
}

TEST_P(EmbeddingSparseGradientTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  SparseGradient<float> grad(ctx, uneven_places(3000, 200), {30, 100}, 200, 8, 1);
  const std::size_t bytes = embedding_sparse_gradient_workspace(ctx, grad.weight(), grad.ids, grad.out_grad, grad.rows,
                                                                grad.values, grad.count, {1});
  ASSERT_GT(bytes, 0u);
  LentMemory memory(ctx, bytes);
  const Context lending = Context(ctx).workspace(memory.workspace());
  SparseGradient<float>(lending, grad.places, {30, 100}, 200, 8, 1).call_and_check();
  EXPECT_TRUE(memory.is_untouched_outside());
  const Context too_small = Context(ctx).workspace({memory.workspace().data, bytes - 1});
  expect_error([&] { grad.call(too_small); }, "portops::embedding_sparse_gradient::rows: the workspace has " +
                                                  std::to_string(bytes - 1) + " bytes, expected at least " +
                                                  std::to_string(bytes));
}

TEST_P(EmbeddingSparseGradientTest, a_call_by_name_computes_what_the_function_computes) {
  SparseGradient<float> grad(ctx, {3, 0, 3, 1}, {2, 2}, 4, 2, 0), named(ctx, {3, 0, 3, 1}, {2, 2}, 4, 2, 0);
  grad.call(ctx);
  const auto arguments = Arguments()
                             .set("weight", grad.weight())
                             .set("ids", grad.ids.ref())
                             .set("out_grad", grad.out_grad.ref())
                             .set("padding_idx", 0);
  const auto specs = infer("embedding_sparse_gradient", arguments);
  EXPECT_EQ(specs.at("rows").type, ElementType::i64);
  EXPECT_EQ(specs.at("rows").extents, Extents{4});
  EXPECT_EQ(specs.at("values").type, ElementType::f32);
  EXPECT_EQ(specs.at("values").extents, (Extents{4, 2}));
  EXPECT_EQ(specs.at("count").type, ElementType::i64);
  EXPECT_EQ(specs.at("count").extents, Extents());
  run("embedding_sparse_gradient", ctx,
      Arguments(arguments)
          .set("rows", named.rows.ref())
          .set("values", named.values.ref())
          .set("count", named.count.ref()));
  named.rows.download();
  named.values.download();
  EXPECT_EQ(merged_count(ctx, named.count), 2);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(named.rows.element(i), grad.rows.element(i)) << i;
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(named.values[i], grad.values[i]) << i;
}

TEST_P(EmbeddingSparseGradientTest, refuses_wrong_calls) {
  const SparseGradient<float> g(ctx, {3, 0, 3}, {3}, 4, 2);
  const TensorRef weight = g.weight();
  const auto refused = [&](const TensorRef& table, const TensorRef& ids, const TensorRef& out_grad,
                           const TensorRef& rows, const TensorRef& values, const TensorRef& count,
                           const std::string& message, std::int64_t padding_idx = -1) {
    expect_error([&] { embedding_sparse_gradient(ctx, table, ids, out_grad, rows, values, count, {padding_idx}); },
                 "portops::embedding_sparse_gradient: " + message);
  };
  refused(TensorRef::without_data(ElementType::f32, {4}), g.ids, g.out_grad, g.rows, g.values, g.count,
          "weight has extents [4], expected 2 axes");
  for (const std::int64_t padding_idx : {4, -2}) {
    refused(weight, g.ids, g.out_grad, g.rows, g.values, g.count,
            "padding_idx is " + std::to_string(padding_idx) + ", expected -1 or a row of weight, less than 4",
            padding_idx);
  }
  const TestTensor<float> other(ctx, {4, 2});
  const TestTensor<std::int64_t> four(ctx, {4});
  refused(weight, g.ids, other, g.rows, g.values, g.count,
          "out_grad has extents [4, 2], expected [3, 2] (the extents of ids, then a row of weight)");
  refused(weight, g.ids, g.out_grad, four, g.values, g.count,
          "rows has extents [4], expected [3] (as many as ids has elements)");
  refused(weight, g.ids, g.out_grad, g.rows, other, g.count,
          "values has extents [4, 2], expected [3, 2] (a row of weight for each element of ids)");
  refused(weight, g.ids, g.out_grad, g.rows, g.values, g.rows, "count has extents [3], expected [] (one number)");
  refused(weight, g.out_grad, g.out_grad, g.rows, g.values, g.count, "ids has element type f32, expected i64");
  refused(weight, g.ids, g.out_grad, g.rows, TestTensor<double>(ctx, {3, 2}), g.count,
          "values has element type f64, expected f32 (the element type of out_grad)");
  refused(weight, g.ids, g.out_grad, {}, g.values, g.count, "rows is empty, expected a tensor");
  refused(weight, g.ids, TensorRef::without_data(ElementType::f32, {3, 2}), g.rows, g.values, g.count,
          "out_grad has no data, but its elements are needed");
  refused(weight, g.ids, g.out_grad, g.ids, g.values, g.count,
          "rows overlaps ids in memory, expected disjoint tensors");
  refused(weight, g.ids, g.out_grad, g.rows, g.out_grad, g.count,
          "values overlaps out_grad in memory, expected disjoint tensors");
}

}  // namespace
}  // namespace portops::test
