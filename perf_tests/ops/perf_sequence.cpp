// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sequence_softmax.hpp>
#include <portops/ops/sequence_unpad.hpp>

#include <random>

namespace portops::perf {
namespace {

/// Rows in sequences, and how many columns they have.
struct Shape {
  std::string name;
  Levels levels;
  std::int64_t columns;

  std::int64_t rows() const { return levels.rows(); }
  std::int64_t sequences() const { return levels.items(); }
  Extents rows_extents() const { return {rows(), columns}; }
  Extents sequences_extents() const { return {sequences(), columns}; }
};

/// Lengths from 0 to twice the mean, the mean being exact.
std::vector<std::int64_t> random_lengths(std::int64_t sequences, std::int64_t mean) {
  std::mt19937_64 engine(1);
  std::uniform_int_distribution<std::int64_t> distribution(0, mean);
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i + 1 < sequences; i += 2) {
    const std::int64_t from_mean = distribution(engine);
    lengths.push_back(mean + from_mean);
    lengths.push_back(mean - from_mean);
  }
  return lengths;
}

Shape balanced(std::int64_t sequences, std::int64_t mean, std::int64_t columns) {
  return {std::to_string(sequences) + "x" + std::to_string(mean) + "x" + std::to_string(columns),
          Levels::from_lengths(random_lengths(sequences, mean)), columns};
}

/// A long sequence in the middle of short ones.
Shape unbalanced(std::int64_t sequences, std::int64_t mean, std::int64_t longest, std::int64_t columns) {
  auto lengths = random_lengths(sequences, mean);
  lengths.insert(lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2), longest);
  return {std::to_string(sequences) + "x" + std::to_string(mean) + "x" + std::to_string(columns) +
              "/longest:" + std::to_string(longest),
          Levels::from_lengths(lengths), columns};
}

std::int64_t bytes_of(ElementType type, const Extents& extents) {
  return static_cast<std::int64_t>(size_of(type)) * extents.product();
}

std::string name_of_case(const std::string& op, ElementType type, const Shape& shape, const std::string& more = "") {
  return op + "/" + std::string(name_of(type)) + "/" + shape.name + more;
}

Case pool(ElementType type, const Shape& shape, const std::string& pooltype) {
  const bool is_max = pooltype == "max";
  const bool is_edge = pooltype == "first" || pooltype == "last";
  const Extents out_extents = shape.sequences_extents();
  const std::int64_t read = bytes_of(type, is_edge ? out_extents : shape.rows_extents());
  const std::int64_t index_bytes = is_max ? bytes_of(ElementType::i64, out_extents) : 0;
  return {name_of_case("sequence_pool", type, shape, "/" + pooltype), read + bytes_of(type, out_extents) + index_bytes,
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.rows_extents());
            const Tensor out(type, out_extents, x.ref().space());
            const Tensor index(ElementType::i64, out_extents, x.ref().space());
            return [=] {
              sequence_pool(ctx, {x, shape.levels}, out, is_max ? index.ref() : TensorRef(), {.pooltype = pooltype});
            };
          }};
}

Case pool_grad(ElementType type, const Shape& shape, const std::string& pooltype) {
  const bool is_max = pooltype == "max";
  const Extents out_extents = shape.sequences_extents();
  const std::int64_t index_bytes = is_max ? bytes_of(ElementType::i64, out_extents) : 0;
  return {name_of_case("sequence_pool_grad", type, shape, "/" + pooltype),
          bytes_of(type, shape.rows_extents()) + bytes_of(type, out_extents) + index_bytes,
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.rows_extents());
            const Tensor out(type, out_extents, x.ref().space());
            const Tensor index(ElementType::i64, out_extents, x.ref().space());
            const Tensor out_grad = random_tensor(ctx, type, out_extents);
            SequencePoolParams params{.pooltype = pooltype};
            if (is_max) {
              sequence_pool(ctx, {x, shape.levels}, out, index, params);
              params.index = index;
            }
            // x is overwritten: its elements are not needed any more.
            return [=, keep = index] {
              sequence_pool_grad(ctx, {TensorRef::without_data(type, shape.rows_extents()), shape.levels}, out_grad, x,
                                 params);
            };
          }};
}

Case expand(ElementType type, const Shape& shape) {
  return {name_of_case("sequence_expand", type, shape),
          bytes_of(type, shape.rows_extents()) + bytes_of(type, shape.sequences_extents()),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.sequences_extents());
            const Tensor out(type, shape.rows_extents(), x.ref().space());
            return [=] { sequence_expand(ctx, {x, {}}, shape.levels, out); };
          }};
}

Case expand_grad(ElementType type, const Shape& shape) {
  return {name_of_case("sequence_expand_grad", type, shape),
          bytes_of(type, shape.rows_extents()) + bytes_of(type, shape.sequences_extents()),
          [=](const Context& ctx) -> Call {
            const Tensor out_grad = random_tensor(ctx, type, shape.rows_extents());
            const Tensor x_grad(type, shape.sequences_extents(), out_grad.ref().space());
            return [=] {
              const TensorRef x = TensorRef::without_data(type, shape.sequences_extents());
              sequence_expand_grad(ctx, {x, {}}, shape.levels, out_grad, x_grad);
            };
          }};
}

std::int64_t longest_of(const Shape& shape) {
  std::int64_t longest = 0;
  const auto& offsets = shape.levels.offsets();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return longest;
}

Case pad(ElementType type, const Shape& shape) {
  const Extents padded{shape.sequences(), longest_of(shape), shape.columns};
  return {name_of_case("sequence_pad", type, shape), bytes_of(type, shape.rows_extents()) + bytes_of(type, padded),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.rows_extents());
            const Tensor out(type, padded, x.ref().space());
            return [=] { sequence_pad(ctx, {x, shape.levels}, out); };
          }};
}

Case unpad(ElementType type, const Shape& shape) {
  const Extents padded{shape.sequences(), longest_of(shape), shape.columns};
  return {name_of_case("sequence_unpad", type, shape), 2 * bytes_of(type, shape.rows_extents()),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, padded);
            const Tensor out(type, shape.rows_extents(), x.ref().space());
            return [=] { sequence_unpad(ctx, x, shape.levels, out); };
          }};
}

Case reverse(ElementType type, const Shape& shape) {
  return {name_of_case("sequence_reverse", type, shape), 2 * bytes_of(type, shape.rows_extents()),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.rows_extents());
            const Tensor out(type, shape.rows_extents(), x.ref().space());
            return [=] { sequence_reverse(ctx, {x, shape.levels}, out); };
          }};
}

Case softmax(ElementType type, const Shape& shape) {
  return {name_of_case("sequence_softmax", type, shape), 2 * bytes_of(type, shape.rows_extents()),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.rows_extents());
            const Tensor out(type, shape.rows_extents(), x.ref().space());
            return [=] { sequence_softmax(ctx, {x, shape.levels}, out); };
          }};
}

Case softmax_grad(ElementType type, const Shape& shape) {
  return {name_of_case("sequence_softmax_grad", type, shape), 3 * bytes_of(type, shape.rows_extents()),
          [=](const Context& ctx) -> Call {
            const Tensor out = random_tensor(ctx, type, shape.rows_extents(), Random::positive);
            const Tensor out_grad = random_tensor(ctx, type, shape.rows_extents());
            const Tensor x_grad(type, shape.rows_extents(), out.ref().space());
            return [=] {
              const TensorRef x = TensorRef::without_data(type, shape.rows_extents());
              sequence_softmax_grad(ctx, {x, shape.levels}, out, out_grad, x_grad);
            };
          }};
}

/// The operators on ragged tensors: many sequences of different lengths, and one very long one among them.
void register_cases(Backend backend) {
  const Shape rows = balanced(4096, 64, 512);
  const Shape uneven = unbalanced(4096, 64, 1000000, 512);
  const Shape scalars = balanced(65536, 64, 1);
  const Shape uneven_scalars = unbalanced(4096, 64, 10000000, 1);
  const Shape tiny = balanced(16, 4, 64);
  register_host_time(backend, pool(ElementType::f32, tiny, "sum"));
  register_host_time(backend, expand(ElementType::f32, tiny));
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    for (const char* pooltype : {"sum", "average", "max", "last"}) {
      register_case(backend, pool(type, rows, pooltype));
      register_case(backend, pool_grad(type, rows, pooltype));
    }
    for (const Shape& shape : {uneven, scalars, uneven_scalars}) {
      register_case(backend, pool(type, shape, "sum"));
      register_case(backend, pool(type, shape, "max"));
      register_case(backend, pool_grad(type, shape, "sum"));
    }
    for (const Shape& shape : {rows, uneven}) {
      register_case(backend, expand(type, shape));
      register_case(backend, expand_grad(type, shape));
      register_case(backend, reverse(type, shape));
    }
    register_case(backend, pad(type, rows));
    register_case(backend, unpad(type, rows));
    for (const Shape& shape : {rows, scalars, uneven_scalars}) {
      register_case(backend, softmax(type, shape));
      register_case(backend, softmax_grad(type, shape));
    }
  }
  for (const ElementType type : {ElementType::f64, ElementType::bf16}) {
    register_case(backend, pool(type, rows, "sum"));
    register_case(backend, expand(type, rows));
  }
}

const Benchmarks benchmarks("sequence", register_cases);

}  // namespace
}  // namespace portops::perf
