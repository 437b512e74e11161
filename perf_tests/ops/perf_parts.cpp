// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/concat.hpp>
#include <portops/ops/split.hpp>

#include <memory>
#include <numeric>

namespace portops::perf {
namespace {

/// The parts' extents but for the axis, and their lengths along it.
struct Parts {
  std::string name;
  Extents extents;
  int axis;
  std::vector<std::int64_t> lengths;

  Extents whole() const {
    Extents result = extents;
    result[axis] = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    return result;
  }
};

Parts equal(std::int64_t count, const Extents& extents, int axis) {
  return {std::to_string(count) + "x" + text(extents) + "/axis:" + std::to_string(axis), extents, axis,
          std::vector<std::int64_t>(static_cast<std::size_t>(count), extents[axis])};
}

/// A call's tensors, which it keeps.
struct Tensors {
  Tensor whole;
  std::vector<Tensor> memory;
  std::vector<TensorRef> parts;
  std::vector<TensorRef> shapes;  // of the parts
  std::vector<std::int64_t> lengths;
  int axis;

  Tensors(const Context& ctx, ElementType type, const Parts& of)
      : whole(random_tensor(ctx, type, of.whole())), lengths(of.lengths), axis(of.axis) {
    for (const std::int64_t length : of.lengths) {
      Extents extents = of.extents;
      extents[of.axis] = length;
      memory.push_back(random_tensor(ctx, type, extents));
      parts.emplace_back(memory.back());
      shapes.push_back(TensorRef::without_data(type, extents));
    }
  }
};

using Operator = void (*)(const Context& ctx, const Tensors& tensors);

Case parts_case(const std::string& op, Operator call, ElementType type, const Parts& parts) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {op + "/" + std::string(name_of(type)) + "/" + parts.name, 2 * size * parts.whole().product(),
          [=](const Context& ctx) -> Call {
            const auto tensors = std::make_shared<const Tensors>(ctx, type, parts);
            return [=] { call(ctx, *tensors); };
          }};
}

void join(const Context& ctx, const Tensors& t) { concat(ctx, t.parts, t.whole, {.axis = t.axis}); }
void join_grad(const Context& ctx, const Tensors& t) { concat_grad(ctx, t.shapes, t.whole, t.parts, {.axis = t.axis}); }
void divide(const Context& ctx, const Tensors& t) {
  split(ctx, t.whole, t.parts, {.sections = t.lengths, .axis = t.axis});
}
void divide_grad(const Context& ctx, const Tensors& t) {
  split_grad(ctx, t.parts, t.whole, {.sections = t.lengths, .axis = t.axis});
}

/// concat, split and their gradients: many small tensors, few large ones, runs of odd lengths.
void register_cases(Backend backend) {
  const std::int64_t side = backend == Backend::cuda ? 4096 : 2048;
  Parts different{"1000x32x1..31/axis:1", {32, 1}, 1, {}}, unbalanced{"1_large_and_30_small/axis:1", {side, 1}, 1, {}};
  for (std::int64_t i = 0; i < 1000; ++i) different.lengths.push_back(1 + i % 31);
  unbalanced.lengths.push_back(2 * side);
  for (std::int64_t i = 0; i < 30; ++i) unbalanced.lengths.push_back(1 + i);
  const std::vector<Parts> all{equal(1000, {32, 16}, 0),
                               equal(1000, {32, 16}, 1),
                               equal(4, {side, side}, 0),
                               equal(4, {side, side}, 1),
                               equal(64, {512, 300}, 1),
                               equal(64, {512, 301}, 1),
                               different,
                               unbalanced};
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{6}}) {
    register_host_time(backend, parts_case("concat", join, ElementType::f32, all[k]));
    register_host_time(backend, parts_case("split", divide, ElementType::f32, all[k]));
  }
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16}) {
    for (const Parts& parts : all) {
      register_case(backend, parts_case("concat", join, type, parts));
      register_case(backend, parts_case("split", divide, type, parts));
      if (type != ElementType::f32) continue;
      register_case(backend, parts_case("concat_grad", join_grad, type, parts));
      register_case(backend, parts_case("split_grad", divide_grad, type, parts));
    }
  }
}

const Benchmarks benchmarks("parts", register_cases);

}  // namespace
}  // namespace portops::perf
