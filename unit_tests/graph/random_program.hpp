// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/graph_support.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/subtract.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/transpose.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

// Programs that nobody would write: calls of all kinds on whatever is there, results that are inputs, that are there
// twice, or that are left in an input.

namespace portops::test {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed, int calls = 16) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const Extents extents = random_extents();
      keep(program_.add_input("input" + std::to_string(i), ElementType::f32, extents));
      // Another one of the same extents, so that results can be left in each other's place.
      if (chance(0.5)) keep(program_.add_input("twin" + std::to_string(i), ElementType::f32, extents));
    }
    for (int i = 0; i < 2; ++i) {
      Tensor elements(ElementType::f32, random_extents());
      for (std::int64_t j = 0; j < elements.ref().size(); ++j) {
        elements.data<float>()[j] = static_cast<float>(random_.uniform(-1, 1));
      }
      keep(program_.add_constant("constant" + std::to_string(i), elements));
    }
    for (int i = 0; i < calls; ++i) add_call();
    add_outputs();
  }

  const graph::Program& program() const { return program_; }

 private:
  static constexpr std::size_t remembered = 12;  ///< older values are rarely read

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.bits() % static_cast<std::uint64_t>(bound));
  }
  bool chance(double p) { return random_.uniform(0, 1) < p; }
  Extents random_extents() {
    Extents extents = Extents::of_rank(2 + static_cast<int>(below(2)));
    for (int axis = 0; axis < extents.rank(); ++axis) extents[axis] = 1 + below(5);
    return extents;
  }
  void keep(graph::ValueId value) { values_.push_back(value); }
  graph::ValueId any() {
    const auto count = static_cast<std::int64_t>(values_.size());
    const std::int64_t from =
        chance(0.8) ? std::max<std::int64_t>(0, count - static_cast<std::int64_t>(remembered)) : 0;
    return values_[static_cast<std::size_t>(from + below(count - from))];
  }
  const Extents& extents(graph::ValueId value) const { return program_.value(value).extents; }
  /// One of these extents; none where there is none.
  graph::ValueId like(const Extents& wanted) {
    std::vector<graph::ValueId> found;
    std::copy_if(values_.begin(), values_.end(), std::back_inserter(found),
                 [&](graph::ValueId value) { return extents(value) == wanted; });
    return found[static_cast<std::size_t>(below(static_cast<std::int64_t>(found.size())))];
  }
  std::int64_t axis_of(graph::ValueId value) { return below(extents(value).rank()); }

  void add_call() {
    const graph::ValueId x = any();
    const int rank = extents(x).rank();
    switch (below(16)) {
      case 0: return keep(program_.call("relu", {{"x", x}}));
      case 1: return keep(program_.call("gelu", {{"x", x}}));
      case 2: return keep(program_.call("add", {{"x", x}, {"y", like(extents(x))}}));
      case 3: return keep(program_.call("multiply", {{"x", x}, {"y", like(extents(x))}}));
      case 4: return keep(program_.call("lerp", {{"x", x}, {"y", like(extents(x))}, {"weight", 0.25}}));
      case 5: return keep(program_.call("softmax", {{"x", x}}, {{"axis", axis_of(x)}}));
      case 6: {
        // A sum along an axis, spread over the whole again.
        const graph::ValueId sum =
            program_.call("sum", {{"x", x}}, {{"axis", Integers{axis_of(x)}}, {"keepdim", true}});
        keep(sum);
        return keep(program_.call("subtract", {{"x", x}, {"y", sum}}));
      }
      case 7: return keep(program_.call("reshape", {{"x", x}}, {{"shape", Integers{-1, extents(x)[rank - 1]}}}));
      case 8: {
        Integers perm;
        for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
        if (chance(0.5)) std::rotate(perm.begin(), perm.begin() + 1, perm.end());
        return keep(program_.call("transpose", {{"x", x}}, {{"perm", perm}}));
      }
      case 9: {
        const std::int64_t axis = axis_of(x);
        const std::int64_t extent = extents(x)[static_cast<int>(axis)];
        const bool is_backwards = chance(0.3);
        const std::int64_t start = below(extent);
        return keep(program_.call("slice", {{"x", x}},
                                  {{"axes", Integers{axis}},
                                   {"starts", Integers{start}},
                                   {"ends", Integers{is_backwards ? -extent - 1 : extent}},
                                   {"strides", Integers{is_backwards ? -1 : 1 + below(2)}}}));
      }
      case 10: return keep(program_.call("concat", {{"x", {x, like(extents(x))}}}, {{"axis", axis_of(x)}}));
      case 11: {
        const std::int64_t axis = axis_of(x);
        const std::int64_t extent = extents(x)[static_cast<int>(axis)];
        const std::int64_t first = below(extent + 1);
        const std::vector<graph::ValueId> parts =
            program_
                .add_call({.op = "split",
                           .inputs = {{"x", x}},
                           .attributes = {{"sections", Integers{first, extent - first}}, {"axis", axis}}})
                .results("out");
        for (const graph::ValueId part : parts) {
          if (extents(part).product() > 0) keep(part);
        }
        return;
      }
      case 12: {
        const graph::ValueId y = like(extents(x));
        return keep(program_.call("matmul", {{"x", x}, {"y", y}}, {{"transpose_y", true}}));
      }
      case 13:
        return keep(
            program_.add_call({.op = "layer_norm", .inputs = {{"x", x}}, .attributes = {{"begin_norm_axis", 1}}})
                .result("out"));
      case 14: {
        // Extents alone are read of x, unless the gradient of y is wanted.
        const graph::ValueId grad = like(extents(x));
        std::vector<std::string> wanted = {"x_grad"};
        if (chance(0.5)) wanted.emplace_back("y_grad");
        const graph::Call call = program_.add_call({.op = "multiply_grad",
                                                    .inputs = {{"x", x}, {"y", like(extents(x))}, {"out_grad", grad}},
                                                    .wanted = wanted});
        for (const std::string& name : wanted) keep(call.result(name));
        return;
      }
      default: {
        // A step of an optimizer: lists, in place.
        const graph::ValueId other = any();
        const graph::Call call = program_.add_call({.op = "momentum",
                                                    .inputs = {{"param", {x, other}},
                                                               {"grad", {like(extents(x)), like(extents(other))}},
                                                               {"velocity", {like(extents(x)), like(extents(other))}},
                                                               {"learning_rate", 0.5}}});
        for (const char* output : {"param_out", "velocity_out"}) {
          for (const graph::ValueId value : call.results(output)) keep(value);
        }
      }
    }
  }

  void add_outputs() {
    const std::int64_t count = 1 + below(4);
    for (std::int64_t i = 0; i < count; ++i) {
      program_.add_output("output" + std::to_string(i), chance(0.1) ? program_.inputs().front() : any());
    }
    // Some left in inputs, which may be results themselves.
    int number = 0;
    for (const graph::ValueId input : program_.inputs()) {
      if (chance(0.5)) continue;
      const graph::ValueId value = like(extents(input));
      program_.add_output("left" + std::to_string(number++), value, input);
    }
  }

  Random random_;
  graph::Program program_;
  std::vector<graph::ValueId> values_;
};

}  // namespace portops::test
