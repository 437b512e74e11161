// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <limits>
#include <set>

namespace portops::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Extents with_width(const Extents& ids, std::int64_t width) {
  Extents out = Extents::of_rank(ids.rank() + 1);
  std::copy(ids.begin(), ids.end(), &out[0]);
  out[ids.rank()] = width;
  return out;
}

/// Of the extents alone, which is what embedding_grad needs of weight.
TensorRef weight_for(const TensorRef& weight_grad) {
  return TensorRef::without_data(weight_grad.type(), weight_grad.extents());
}

class EmbeddingTest : public OnEveryBackend {
 protected:
  TestTensor<std::int64_t> ids_of(const Places& places, const Extents& extents, Layout layout = Layout::contiguous) {
    TestTensor<std::int64_t> ids(ctx, extents, layout);
    ids.fill([&](std::int64_t i) { return static_cast<double>(places[static_cast<std::size_t>(i)]); });
    return ids;
  }

  /// embedding, to the bit, and embedding_grad. The table lies as ids do.
  template <class T>
  void check(const Extents& extents, std::int64_t width, const Places& places, std::int64_t rows,
             Layout layout = Layout::contiguous, Layout ids_layout = Layout::contiguous,
             const EmbeddingParams& params = {}) {
    SCOPED_TRACE(testing::Message() << "ids " << extents.to_string() << " of " << rows << " x " << width << ", layouts "
                                    << static_cast<int>(layout) << ", " << static_cast<int>(ids_layout));
    const TestTensor<std::int64_t> ids = ids_of(places, extents, ids_layout);
    TestTensor<T> weight(ctx, {rows, width}, ids_layout), out(ctx, with_width(extents, width), layout);
    weight.fill_randomly(1);
    embedding(ctx, weight, ids, out, params);
    out.download();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const std::int64_t from = places[static_cast<std::size_t>(i / width)] * width + i % width;
      ASSERT_TRUE(same_bits(out.element(i), weight.element(from))) << i;
    }

    TestTensor<T> out_grad(ctx, out.extents(), layout), weight_grad(ctx, {rows, width}, layout);
    out_grad.fill_randomly(2);
    weight_grad.fill([](std::int64_t) { return nan; });
    ReferenceSums expected({rows, width});
    for (std::int64_t i = 0; i < out_grad.size(); ++i) {
      const std::int64_t row = places[static_cast<std::size_t>(i / width)];
      if (row != params.padding_idx) expected.add(row * width + i % width, out_grad[i], std::abs(out_grad[i]));
    }
    embedding_grad(ctx, weight_for(weight_grad), ids, out_grad, weight_grad, params);
    expect_near(weight_grad, expected, "weight_grad");
  }

  /// The bits of weight_grad, for ids as they lie in `layout`.
  std::vector<float> gradient(const Context& its, Layout layout, Layout ids_layout, const Places& places,
                              const Extents& extents) {
    const TestTensor<std::int64_t> ids = ids_of(places, extents, ids_layout);
    TestTensor<float> out_grad(ctx, with_width(extents, 12), layout), weight_grad(ctx, {90, 12});
    out_grad.fill_randomly(2);
    embedding_grad(its, weight_for(weight_grad), ids, out_grad, weight_grad);
    weight_grad.download();
    std::vector<float> bits;
    for (std::int64_t i = 0; i < weight_grad.size(); ++i) bits.push_back(weight_grad.element(i));
    return bits;
  }
};

PORTOPS_ON_EVERY_BACKEND(EmbeddingTest);

TEST_P(EmbeddingTest, equals_the_reference_for_ids_of_any_rank_and_rows_of_any_width) {
  for_each_type([&]<class T>() {
    for (const std::int64_t width : {1, 2, 3, 4, 7, 8, 33, 64, 250, 256}) {
      check<T>({}, width, {3}, 5);
      check<T>({1}, width, {4}, 5);
      check<T>({700}, width, random_places(700, 90), 90);
      check<T>({700}, width, uneven_places(700, 90), 90);
      check<T>({4, 5, 6}, width, random_places(120, 1000), 1000);
    }
    check<T>({2, 1, 3, 1, 2, 1, 2}, 6, random_places(24, 7), 7);
  });
}

TEST_P(EmbeddingTest, reads_and_writes_any_layout) {
  const Places places = random_places(240, 50);
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout ids_layout : all_layouts) {
        check<T>({240}, 8, places, 50, layout, ids_layout);
        check<T>({8, 30}, 16, places, 50, layout, ids_layout);
        check<T>({5, 6, 8}, 5, places, 50, layout, ids_layout);
      }
    }
  });
}

TEST_P(EmbeddingTest, reads_broadcast_operands_where_they_lie) {
  TestTensor<float> row(ctx, {1, 4}), out(ctx, {2, 3, 4}), weight_grad(ctx, {9, 4});
  TestTensor<std::int64_t> column = ids_of({7, 2}, {2, 1});
  row.fill_randomly(1);
  const TensorRef weight(static_cast<float*>(row.ref().data()), {9, 4}, {0, 1}, row.ref().space());
  const TensorRef ids(static_cast<std::int64_t*>(column.ref().data()), {2, 3}, {1, 0}, column.ref().space());
  embedding(ctx, weight, ids, out);
  out.download();
  for (std::int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], row[i % 4]);
  for (const Extents& strides : {Extents{0, 0, 1}, Extents{0, 0, 0}}) {
    const TensorRef out_grad(static_cast<float*>(row.ref().data()), {2, 3, 4}, strides, row.ref().space());
    embedding_grad(ctx, weight, ids, out_grad, weight_grad);
    weight_grad.download();
    for (std::int64_t i = 0; i < weight_grad.size(); ++i) {
      const float value = i / 4 == 7 || i / 4 == 2 ? row.element(strides[2] * (i % 4)) : 0.0f;
      EXPECT_EQ(weight_grad.element(i), value + value + value) << i;
    }
  }
}

/// Rows that begin at multiples of fewer bytes than they have.
TEST_P(EmbeddingTest, reads_and_writes_columns_of_wider_tensors) {
  const Places places = random_places(70, 40);
  const TestTensor<std::int64_t> ids = ids_of(places, {70});
  for_each_type([&]<class T>() {
    for (const std::int64_t row : {8, 9, 10, 12, 16, 24}) {
      for (const std::int64_t out_row : {8, 9, 10, 12, 16, 24}) {
        TestTensor<T> table(ctx, {40, row}), wide(ctx, {70, out_row});
        table.fill_randomly(1);
        wide.fill([](std::int64_t) { return 7.0; });
        const MemorySpace space = wide.ref().space();
        embedding(ctx, TensorRef(static_cast<T*>(table.ref().data()), {40, 8}, {row, 1}, space), ids,
                  TensorRef(static_cast<T*>(wide.ref().data()), {70, 8}, {out_row, 1}, space));
        wide.download();
        for (std::int64_t i = 0; i < wide.size(); ++i) {
          const std::int64_t column = i % out_row;
          const double expected =
              column < 8 ? table[places[static_cast<std::size_t>(i / out_row)] * row + column] : 7.0;
          ASSERT_EQ(wide[i], expected) << row << " " << out_row << " " << i;
        }
      }
    }
  });
}

TEST_P(EmbeddingTest, gives_the_row_of_padding_idx_no_gradient) {
  for_each_type([&]<class T>() {
    const Places places = uneven_places(900, 40);
    for (const std::int64_t padding_idx : {0, 1, 39}) {
      check<T>({30, 30}, 8, places, 40, Layout::contiguous, Layout::contiguous, {padding_idx});
      check<T>({30, 30}, 8, places, 40, Layout::reversed, Layout::every_other, {padding_idx});
    }
    check<T>({5}, 3, {2, 2, 2, 2, 2}, 4, Layout::contiguous, Layout::contiguous, {2});
  });
}

TEST_P(EmbeddingTest, does_not_drift_where_many_ids_are_one) {
  const Places places(20000, 1);
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      TestTensor<T> one(ctx, {1}), weight_grad(ctx, {3, 4});
      one.fill([&](std::int64_t) { return constant; });
      const TensorRef out_grad(static_cast<T*>(one.ref().data()), {200, 100, 4}, {0, 0, 0}, one.ref().space());
      ReferenceSums expected({3, 4});
      for (std::int64_t i = 0; i < 20000 * 4; ++i) expected.add(4 + i % 4, one[0], std::abs(one[0]));
      embedding_grad(ctx, weight_for(weight_grad), ids_of(places, {200, 100}), out_grad, weight_grad);
      expect_near(weight_grad, expected, "weight_grad");
    }
  });
}

TEST_P(EmbeddingTest, gradient_is_rounded_once) {
  TestTensor<f16> out_grad(ctx, {4, 1}), weight_grad(ctx, {1, 1});
  const double elements[] = {60000, 60000, -60000, 0.25};
  out_grad.fill([&](std::int64_t i) { return elements[i]; });
  embedding_grad(ctx, weight_for(weight_grad), ids_of({0, 0, 0, 0}, {4}), out_grad, weight_grad);
  weight_grad.download();
  EXPECT_EQ(weight_grad[0], static_cast<double>(f16(60000.25f)));
}

TEST_P(EmbeddingTest, gradient_has_the_same_bits_on_every_run_in_both_modes_and_every_layout) {
  // Few rows, and so many that they are sorted, by where they lie.
  for (const std::int64_t n : {9000, 12000}) {
    const Places places = uneven_places(n, 90);
    const Extents extents{n / 100, 100}, other_extents{n / 1000, 10, 100};
    const std::vector<float> first = gradient(ctx, Layout::contiguous, Layout::contiguous, places, extents);
    const auto same = [&](const std::vector<float>& again) {
      return std::memcmp(again.data(), first.data(), first.size() * sizeof(float)) == 0;
    };
    EXPECT_TRUE(same(gradient(ctx, Layout::contiguous, Layout::contiguous, places, extents)));
    EXPECT_TRUE(same(gradient(Context(ctx).deterministic(true), Layout::contiguous, Layout::contiguous, places, {n})));
    for (const Layout layout : all_layouts) {
      EXPECT_TRUE(same(gradient(ctx, layout, Layout::contiguous, places, extents))) << static_cast<int>(layout);
      EXPECT_TRUE(same(gradient(ctx, Layout::contiguous, layout, places, other_extents))) << static_cast<int>(layout);
    }
  }
}

/// What the page says of the sparse gradient.
TEST_P(EmbeddingTest, ids_and_out_grad_are_the_sparse_gradient) {
  const Places places = uneven_places(600, 90);
  const TestTensor<std::int64_t> ids = ids_of(places, {20, 30});
  TestTensor<float> out_grad(ctx, {20, 30, 12}), weight_grad(ctx, {90, 12}), out_values(ctx, {600, 12});
  TestTensor<std::int64_t> out_rows(ctx, {600}), count(ctx, {});
  out_grad.fill_randomly(2);
  embedding_grad(ctx, weight_for(weight_grad), ids, out_grad, weight_grad);
  const TensorRef rows(static_cast<std::int64_t*>(ids.ref().data()), {600}, ids.ref().space());
  const TensorRef values(static_cast<float*>(out_grad.ref().data()), {600, 12}, out_grad.ref().space());
  merge_rows(ctx, rows, values, out_rows, out_values, count, {.height = 90});
  weight_grad.download();
  out_rows.download();
  out_values.download();
  const std::int64_t merged = merged_count(ctx, count);
  EXPECT_EQ(merged, static_cast<std::int64_t>(std::set<std::int64_t>(places.begin(), places.end()).size()));
  for (std::int64_t i = 0; i < merged * 12; ++i) {
    const std::int64_t at = out_rows.element(i / 12) * 12 + i % 12;
    ASSERT_TRUE(same_bits(out_values.element(i), weight_grad.element(at))) << i;
  }
  TestTensor<float> param(ctx, {90, 12});
  param.fill([](std::int64_t) { return 0.0; });
  sparse_sgd(Context(ctx).deterministic(true), param, rows, values, param, {.learning_rate = -1.0});
  param.download();
  for (std::int64_t i = 0; i < param.size(); ++i) ASSERT_EQ(param[i], weight_grad[i]) << i;
}

TEST_P(EmbeddingTest, carries_nan_and_inf_to_their_rows_alone) {
  TestTensor<float> weight(ctx, {3, 2}), out(ctx, {4, 2}), weight_grad(ctx, {3, 2});
  const double elements[] = {inf, 1, nan, 2, 3, -inf};
  weight.fill([&](std::int64_t i) { return elements[i]; });
  const TestTensor<std::int64_t> ids = ids_of({1, 0, 2, 0}, {4});
  embedding(ctx, weight, ids, out);
  embedding_grad(ctx, weight, ids, out, weight_grad);
  weight_grad.download();
  EXPECT_EQ(weight_grad[0], inf);
  EXPECT_EQ(weight_grad[1], 2.0);
  EXPECT_TRUE(std::isnan(weight_grad[2]));
  EXPECT_EQ(weight_grad[3], 2.0);
  EXPECT_EQ(weight_grad[4], 3.0);
  EXPECT_EQ(weight_grad[5], -inf);
}

TEST_P(EmbeddingTest, gradient_agrees_with_central_differences) {
  const EmbeddingParams params{2};
  const TestTensor<std::int64_t> ids = ids_of({3, 0, 3, 1, 2, 3}, {2, 3});
  TestTensor<double> weight(ctx, {4, 2}), out(ctx, {2, 3, 2}), out_grad(ctx, {2, 3, 2}), weight_grad(ctx, {4, 2});
  weight.fill_randomly(1);
  out_grad.fill_randomly(2);
  embedding_grad(ctx, weight, ids, out_grad, weight_grad);
  expect_slopes(weight, weight_grad, [&] {
    embedding(ctx, weight, ids, out, params);
    return weighted_sum(out, out_grad);
  });
}

/// On hosts the calls are refused; on a GPU such rows are NaN, and add nothing.
TEST_P(EmbeddingTest, refuses_ids_outside_of_the_table) {
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    for (const Layout layout : {Layout::contiguous, Layout::reversed, Layout::negative}) {
      for_each_type([&]<class T>() {
        const TestTensor<std::int64_t> ids = ids_of({4, 1, 0, 4, wrong, wrong}, {2, 3}, layout);
        TestTensor<T> weight(ctx, {5, 3}), out(ctx, {2, 3, 3}), weight_grad(ctx, {5, 3});
        weight.fill_randomly(1);
        const std::string message =
            ": ids[1, 1] is " + std::to_string(wrong) + ", expected at least 0 and less than 5 (the rows of weight)";
        if (ctx.backend() != Backend::cuda) {
          expect_error([&] { embedding(ctx, weight, ids, out); }, "portops::embedding" + message);
          expect_error([&] { embedding_grad(ctx, weight, ids, out, weight_grad); },
                       "portops::embedding_grad" + message);
          return;
        }
        embedding(ctx, weight, ids, out);
        embedding_grad(ctx, weight, ids, out, weight_grad);
        out.download();
        weight_grad.download();
        for (std::int64_t i = 0; i < 3; ++i) {
          EXPECT_EQ(out[i], weight[12 + i]);
          EXPECT_TRUE(std::isnan(out[12 + i]) && std::isnan(out[15 + i])) << i;
          EXPECT_EQ(weight_grad[i], weight[i]);
          EXPECT_EQ(weight_grad[6 + i], 0.0);
        }
      });
    }
  }
}

TEST_P(EmbeddingTest, accepts_tensors_without_elements) {
  for (const Extents& ids : {Extents{0}, Extents{3, 0}, Extents{0, 2}}) {
    TestTensor<float> weight(ctx, {3, 2}), out(ctx, with_width(ids, 2)), weight_grad(ctx, {3, 2}), none(ctx, {0, 2});
    const TestTensor<std::int64_t> no_ids(ctx, ids);
    weight_grad.fill([](std::int64_t) { return 7.0; });
    EXPECT_NO_THROW(embedding(ctx, weight, no_ids, out));
    embedding_grad(ctx, weight, no_ids, out, weight_grad);
    weight_grad.download();
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(weight_grad[i], 0.0);
    EXPECT_NO_THROW(embedding(ctx, none, no_ids, out));
    EXPECT_NO_THROW(embedding_grad(ctx, none, no_ids, out, none));
    EXPECT_NO_THROW(embedding_grad(ctx, weight, no_ids, out, {}));
  }
  TestTensor<float> narrow(ctx, {3, 0}), out(ctx, {2, 0});
  const TestTensor<std::int64_t> ids = ids_of({2, 1}, {2});
  EXPECT_NO_THROW(embedding(ctx, narrow, ids, out));
  EXPECT_NO_THROW(embedding_grad(ctx, narrow, ids, out, narrow));
}

TEST_P(EmbeddingTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  const Places places = uneven_places(12000, 200);
  const TestTensor<std::int64_t> ids = ids_of(places, {120, 100});
  TestTensor<float> out_grad(ctx, {120, 100, 8}), weight_grad(ctx, {200, 8}), lent(ctx, {200, 8});
  out_grad.fill_randomly(1);
  embedding_grad(ctx, weight_for(weight_grad), ids, out_grad, weight_grad);
  const std::size_t bytes = embedding_grad_workspace(ctx, weight_for(lent), ids, out_grad, lent);
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(embedding_grad_workspace(ctx, weight_for(lent), ids, out_grad, {}), 0u);
  LentMemory memory(ctx, bytes);
  embedding_grad(Context(ctx).workspace(memory.workspace()), weight_for(lent), ids, out_grad, lent);
  weight_grad.download();
  lent.download();
  for (std::int64_t i = 0; i < lent.size(); ++i) ASSERT_TRUE(same_bits(lent.element(i), weight_grad.element(i))) << i;
  EXPECT_TRUE(memory.is_untouched_outside());
}

TEST_P(EmbeddingTest, a_call_by_name_computes_what_the_function_computes) {
  TestTensor<float> weight(ctx, {4, 2}), out(ctx, {3, 2}), named(ctx, {3, 2}), weight_grad(ctx, {4, 2});
  const TestTensor<std::int64_t> ids = ids_of({3, 0, 3}, {3});
  weight.fill_randomly(1);
  embedding(ctx, weight, ids, out);
  const auto arguments = Arguments().set("weight", weight.ref()).set("ids", ids.ref());
  run("embedding", ctx, Arguments(arguments).set("out", named.ref()));
  out.download();
  named.download();
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(named[i], out[i]);
  run("embedding_grad", ctx,
      Arguments(arguments).set("padding_idx", 0).set("out_grad", out.ref()).set("weight_grad", weight_grad.ref()));
  weight_grad.download();
  EXPECT_EQ(weight_grad[0], 0.0);
  EXPECT_EQ(weight_grad[6], 2.0f * weight.element(6));

  const Levels sentences = Levels::from_lengths({2, 0, 1});
  const auto specs = infer("embedding", Arguments(arguments).set("ids", RaggedRef{ids.ref(), sentences}));
  EXPECT_EQ(specs.at("out").extents, (Extents{3, 2}));
  EXPECT_EQ(specs.at("out").levels, sentences);
}

TEST_P(EmbeddingTest, refuses_wrong_calls) {
  TestTensor<float> weight(ctx, {4, 2}), out(ctx, {3, 2}), other(ctx, {4, 2});
  TestTensor<double> doubles(ctx, {3, 2});
  const TestTensor<std::int64_t> ids = ids_of({3, 0, 3}, {3}), deep = ids_of({1}, {1, 1, 1, 1, 1, 1, 1, 1});
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  refused([&] { embedding(ctx, TestTensor<float>(ctx, {4}), ids, out); },
          "embedding: weight has extents [4], expected 2 axes");
  refused([&] { embedding(ctx, weight, deep, out); },
          "embedding: ids has extents [1, 1, 1, 1, 1, 1, 1, 1], expected 7 axes or fewer");
  refused([&] { embedding(ctx, weight, ids, out, {4}); },
          "embedding: padding_idx is 4, expected -1 or a row of weight, less than 4");
  refused([&] { embedding_grad(ctx, weight, ids, out, other, {-2}); },
          "embedding_grad: padding_idx is -2, expected -1 or a row of weight, less than 4");
  refused([&] { embedding(ctx, weight, ids, other); },
          "embedding: out has extents [4, 2], expected [3, 2] (the extents of ids, then a row of weight)");
  refused([&] { embedding(ctx, weight, out, out); }, "embedding: ids has element type f32, expected i64");
  refused([&] { embedding(ctx, weight, ids, doubles); },
          "embedding: out has element type f64, expected f32 (the element type of weight)");
  refused([&] { embedding(ctx, {}, ids, out); }, "embedding: weight is empty, expected a tensor");
  refused([&] { embedding(ctx, TensorRef::without_data(ElementType::f32, {4, 2}), ids, out); },
          "embedding: weight has no data, but its elements are needed");
  const TensorRef inside(static_cast<float*>(weight.ref().data()) + 2, {3, 2}, weight.ref().space());
  refused([&] { embedding(ctx, weight, ids, inside); },
          "embedding: out overlaps weight in memory, expected disjoint tensors");
  refused([&] { embedding_grad(ctx, other, ids, inside, weight); },
          "embedding_grad: weight_grad overlaps out_grad in memory, expected disjoint tensors");
  refused([&] { embedding_grad(ctx, weight, ids, other, other); },
          "embedding_grad: out_grad has extents [4, 2], expected [3, 2] (the extents of ids, then a row of weight)");
  refused([&] { embedding_grad(ctx, weight, ids, out, out); },
          "embedding_grad: weight_grad has extents [3, 2], expected [4, 2] (the extents of weight)");
}

}  // namespace
}  // namespace portops::test
