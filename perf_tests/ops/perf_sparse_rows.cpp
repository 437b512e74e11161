// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/core/runtime.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/embedding_sparse_gradient.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace portops::perf {
namespace {

/// How the rows of a gradient spread over the table.
enum class Spread {
  uniform,   ///< each place as likely as any other
  distinct,  ///< no place twice
  zipf,      ///< the k-th place k times as rare as the first, as words are
  one        ///< all rows have one place
};

std::string name_of(Spread spread) {
  switch (spread) {
    case Spread::uniform: return "uniform";
    case Spread::distinct: return "distinct";
    case Spread::zipf: return "zipf";
    case Spread::one: break;
  }
  return "one";
}

struct Shape {
  std::int64_t rows, columns, height;
  Spread spread;

  std::string name() const {
    return portops::perf::text({rows, columns}) + "/of:" + std::to_string(height) + "/" + name_of(spread);
  }
};

std::vector<std::int64_t> places_of(const Shape& shape) {
  std::mt19937_64 engine(7);
  std::vector<std::int64_t> places(static_cast<std::size_t>(shape.rows), 0);
  if (shape.spread == Spread::distinct) {
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), engine);
  } else if (shape.spread == Spread::uniform) {
    std::uniform_int_distribution<std::int64_t> distribution(0, shape.height - 1);
    for (std::int64_t& place : places) place = distribution(engine);
  } else if (shape.spread == Spread::zipf) {
    // The inverse of the logarithm, which is what the sum of 1/k comes to.
    std::uniform_real_distribution<double> distribution(0.0, std::log(static_cast<double>(shape.height) + 1.0));
    for (std::int64_t& place : places) {
      place = std::min(shape.height - 1, static_cast<std::int64_t>(std::exp(distribution(engine))) - 1);
    }
  }
  return places;
}

std::int64_t places_that_occur(std::vector<std::int64_t> places) {
  std::sort(places.begin(), places.end());
  return std::unique(places.begin(), places.end()) - places.begin();
}

Tensor index_tensor(const Context& ctx, const std::vector<std::int64_t>& values) {
  const Extents extents{static_cast<std::int64_t>(values.size())};
  const Tensor result(ElementType::i64, extents, default_memory_space(ctx.backend()));
  copy(ctx, TensorRef(values.data(), extents), result);
  ctx.fence();
  return result;
}

std::string case_name(const std::string& op, ElementType type, const Shape& shape) {
  return op + "/" + std::string(portops::name_of(type)) + "/" + shape.name();
}

Case merge(ElementType type, const Shape& shape) {
  const std::vector<std::int64_t> places = places_of(shape);
  const auto row = shape.columns * static_cast<std::int64_t>(size_of(type));
  return {case_name("merge_rows", type, shape), shape.rows * (row + 16) + places_that_occur(places) * row,
          [=](const Context& ctx) -> Call {
            const Tensor rows = index_tensor(ctx, places);
            const Tensor values = random_tensor(ctx, type, {shape.rows, shape.columns});
            const MemorySpace space = values.ref().space();
            const Tensor out_rows(ElementType::i64, {shape.rows}, space), count(ElementType::i64, {}, space);
            const Tensor out_values(type, {shape.rows, shape.columns}, space);
            return [=] { merge_rows(ctx, rows, values, out_rows, out_values, count, {.height = shape.height}); };
          }};
}

/// A step in place, which reads and writes the rows that occur of so many tables. `step(ctx, rows, values, tables)`
template <class Step>
Case update(const std::string& op, ElementType type, const Shape& shape, int tables, const Step& step) {
  const std::vector<std::int64_t> places = places_of(shape);
  const auto row = shape.columns * static_cast<std::int64_t>(size_of(type));
  return {case_name(op, type, shape), shape.rows * (row + 8) + 2 * tables * places_that_occur(places) * row,
          [=](const Context& ctx) -> Call {
            const Tensor rows = index_tensor(ctx, places);
            const Tensor values = random_tensor(ctx, type, {shape.rows, shape.columns});
            std::vector<Tensor> kept;
            for (int k = 0; k < tables; ++k) {
              kept.push_back(random_tensor(ctx, type, {shape.height, shape.columns}, Random::positive));
            }
            return [=] { step(ctx, rows, values, kept); };
          }};
}

Case sgd(ElementType type, const Shape& shape) {
  return update("sparse_sgd", type, shape, 1,
                [](const Context& ctx, const TensorRef& rows, const TensorRef& values, const std::vector<Tensor>& t) {
                  sparse_sgd(ctx, t[0], rows, values, t[0], {.learning_rate = 1e-3});
                });
}

Case momentum(ElementType type, const Shape& shape) {
  return update("sparse_momentum", type, shape, 2,
                [](const Context& ctx, const TensorRef& rows, const TensorRef& values, const std::vector<Tensor>& t) {
                  sparse_momentum(ctx, t[0], rows, values, t[1], t[0], t[1], {.learning_rate = 1e-3});
                });
}

Case adam(ElementType type, const Shape& shape) {
  return update("sparse_adam", type, shape, 3,
                [](const Context& ctx, const TensorRef& rows, const TensorRef& values, const std::vector<Tensor>& t) {
                  sparse_adam(ctx, t[0], rows, values, t[1], t[2], t[0], t[1], t[2],
                              {.learning_rate = 1e-3, .beta1_pow = 0.5, .beta2_pow = 0.5});
                });
}

/// The rows of the table that occur are read once.
Case lookup(ElementType type, const Shape& shape) {
  const std::vector<std::int64_t> places = places_of(shape);
  const auto row = shape.columns * static_cast<std::int64_t>(size_of(type));
  return {case_name("embedding", type, shape), shape.rows * (row + 8) + places_that_occur(places) * row,
          [=](const Context& ctx) -> Call {
            const Tensor ids = index_tensor(ctx, places);
            const Tensor weight = random_tensor(ctx, type, {shape.height, shape.columns});
            const Tensor out(type, {shape.rows, shape.columns}, weight.ref().space());
            return [=] { embedding(ctx, weight, ids, out); };
          }};
}

Case lookup_grad(ElementType type, const Shape& shape) {
  const std::vector<std::int64_t> places = places_of(shape);
  const auto row = shape.columns * static_cast<std::int64_t>(size_of(type));
  return {case_name("embedding_grad", type, shape), shape.rows * (row + 8) + shape.height * row,
          [=](const Context& ctx) -> Call {
            const TensorRef weight = TensorRef::without_data(type, {shape.height, shape.columns});
            const Tensor ids = index_tensor(ctx, places);
            const Tensor out_grad = random_tensor(ctx, type, {shape.rows, shape.columns});
            const Tensor weight_grad(type, {shape.height, shape.columns}, out_grad.ref().space());
            return [=] { embedding_grad(ctx, weight, ids, out_grad, weight_grad); };
          }};
}

/// The first row of the table, the most frequent one of a zipf, is the padding.
Case lookup_sparse_gradient(ElementType type, const Shape& shape) {
  const std::vector<std::int64_t> places = places_of(shape);
  const auto row = shape.columns * static_cast<std::int64_t>(size_of(type));
  const std::int64_t kept = shape.rows - std::count(places.begin(), places.end(), 0);
  return {case_name("embedding_sparse_gradient", type, shape),
          shape.rows * 16 + kept * row + places_that_occur(places) * row, [=](const Context& ctx) -> Call {
            const TensorRef weight = TensorRef::without_data(type, {shape.height, shape.columns});
            const Tensor ids = index_tensor(ctx, places);
            const Tensor out_grad = random_tensor(ctx, type, {shape.rows, shape.columns});
            const MemorySpace space = out_grad.ref().space();
            const Tensor rows(ElementType::i64, {shape.rows}, space), count(ElementType::i64, {}, space);
            const Tensor values(type, {shape.rows, shape.columns}, space);
            return
                [=] { embedding_sparse_gradient(ctx, weight, ids, out_grad, rows, values, count, {.padding_idx = 0}); };
          }};
}

/// merge_rows, sparse_sgd, sparse_momentum, sparse_adam and embedding with its gradients.
void register_cases(Backend backend) {
  constexpr std::int64_t million = 1000000;
  const Shape tiny{100, 64, 1000, Spread::uniform};
  const Shape mark{million, 64, 200000, Spread::uniform};
  register_host_time(backend, merge(ElementType::f32, tiny));
  register_host_time(backend, adam(ElementType::f32, tiny));
  for (const Shape& shape :
       {tiny, Shape{10000, 64, 200000, Spread::uniform}, mark, Shape{million, 64, million, Spread::distinct},
        Shape{million, 64, 200000, Spread::zipf}, Shape{million, 64, 200000, Spread::one},
        Shape{million, 7, 200000, Spread::uniform}, Shape{100000, 1000, 50000, Spread::uniform}}) {
    register_case(backend, merge(ElementType::f32, shape));
  }
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    register_case(backend, merge(type, mark));
  }
  for (const Shape& shape :
       {tiny, mark, Shape{million, 64, million, Spread::distinct}, Shape{million, 64, 200000, Spread::zipf}}) {
    register_case(backend, sgd(ElementType::f32, shape));
    register_case(backend, momentum(ElementType::f32, shape));
    register_case(backend, adam(ElementType::f32, shape));
  }
  register_case(backend, adam(ElementType::bf16, mark));
  // Few rows.
  for (const Shape& shape : {Shape{2000, 512, 50000, Spread::uniform}, Shape{10000, 64, 200000, Spread::zipf},
                             Shape{10000, 64, 200000, Spread::one}}) {
    register_case(backend, merge(ElementType::f32, shape));
    register_case(backend, sgd(ElementType::f32, shape));
  }
  register_case(backend, sgd(ElementType::f16, {4000, 256, 20000, Spread::zipf}));

  const Shape words{262144, 64, 200000, Spread::uniform};
  register_host_time(backend, lookup(ElementType::f32, tiny));
  register_host_time(backend, lookup_grad(ElementType::f32, tiny));
  for (const auto& make : {lookup, lookup_grad, lookup_sparse_gradient}) {
    for (const Shape& shape : {tiny, words, Shape{262144, 64, 200000, Spread::zipf},
                               Shape{65536, 768, 50000, Spread::zipf}, Shape{262144, 33, 200000, Spread::uniform}}) {
      register_case(backend, make(ElementType::f32, shape));
    }
    for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
      register_case(backend, make(type, words));
    }
  }
}

const Benchmarks benchmarks("sparse_rows", register_cases);

}  // namespace
}  // namespace portops::perf
