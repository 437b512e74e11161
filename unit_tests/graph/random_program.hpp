// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/graph_support.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/linear.hpp>
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
#include <array>
#include <cstdint>
#include <string>
#include <vector>

// Programs that nobody would write: calls of all kinds on whatever is there, results that are inputs, that are there
// twice, or that are left in an input.

namespace portops::test {

/// Which calls there are. `products`: linear layers and convolutions with what folds take in, biases and norms, beside
/// calls after which numbers are as near each other as before; `all`: whatever else there is.
enum class Kinds { all, products };

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed, int calls = 16, Kinds kinds = Kinds::all) : kinds_(kinds), random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const Extents extents = random_extents();
      keep(program_.add_input("input" + std::to_string(i), ElementType::f32, extents));
      // Another one of the same extents, so that results can be left in each other's place.
      if (chance(0.5)) keep(program_.add_input("twin" + std::to_string(i), ElementType::f32, extents));
    }
    for (int i = 0; i < 2; ++i) keep(constant(random_extents(), -1, 1));
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
  graph::ValueId constant(const Extents& extents, double low, double high) {
    Tensor elements(ElementType::f32, extents);
    for (std::int64_t i = 0; i < elements.ref().size(); ++i) {
      elements.data<float>()[i] = static_cast<float>(random_.uniform(low, high));
    }
    return program_.add_constant("constant" + std::to_string(constants_++), elements);
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

  std::int64_t any_kind() {
    if (kinds_ == Kinds::all) return below(16);
    static constexpr std::array some = {0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 16, 16, 17, 17};
    return some[static_cast<std::size_t>(below(some.size()))];
  }

  void add_call() {
    const graph::ValueId x = any();
    const int rank = extents(x).rank();
    switch (any_kind()) {
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
        // One of them may have no elements.
        if (kinds_ == Kinds::products) {
          const graph::ValueId positive = program_.call("relu", {{"x", parts[0]}});
          keep(program_.call("concat", {{"x", {positive, parts[1]}}}, {{"axis", axis}}));
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
      case 16: return add_linear(x);
      case 17: return add_convolution(x);
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

  /// Something is added to what a product gives, or nothing is.
  graph::ValueId with_bias(graph::ValueId product, const Extents& its) {
    if (chance(0.2)) return product;
    if (extents(product).rank() < 4 && chance(0.2)) keep(product);  // may be read by others too
    graph::ValueId bias = constant(its, -1, 1);
    if (chance(0.3)) bias = program_.call("gelu", {{"x", bias}});  // not there yet when the product runs
    if (chance(0.5)) std::swap(product, bias);
    return program_.call("add", {{"x", product}, {"y", bias}});
  }
  void add_linear(graph::ValueId x) {
    const std::int64_t out = 1 + below(4);
    const graph::ValueId weight = constant({extents(x)[extents(x).rank() - 1], out}, -0.5, 0.5);
    const graph::ValueId bias = chance(0.3) ? constant({out}, -1, 1) : graph::ValueId();
    const graph::ValueId product = program_.call("linear", {{"x", x}, {"weight", weight}, {"bias", bias}});
    keep(with_bias(product, chance(0.5) ? Extents{out} : Extents{1, out}));
  }
  /// An image of so many channels that it may lie with them last, and what is made of it.
  graph::ValueId widened(graph::ValueId image) {
    const std::int64_t channels = extents(image)[1];
    const graph::ValueId x =
        program_.call("conv2d", {{"x", image}, {"weight", constant({16, channels, 1, 1}, -0.25, 0.25)}});
    const graph::ValueId y = program_.call(chance(0.5) ? "relu" : "gelu", {{"x", x}});
    if (chance(0.3)) return program_.call("concat", {{"x", {x, y}}}, {{"axis", 1}});
    if (chance(0.3)) return program_.call("add", {{"x", y}, {"y", x}});
    return y;
  }
  /// Of the value as one image.
  void add_convolution(graph::ValueId x) {
    const Extents its = extents(x);
    const bool has_channels = its.rank() == 3;
    const std::int64_t out = 1 + below(3);
    const std::int64_t height = its[has_channels ? 1 : 0], width = its[has_channels ? 2 : 1];
    graph::ValueId image =
        program_.call("reshape", {{"x", x}}, {{"shape", Integers{1, has_channels ? its[0] : 1, height, width}}});
    if (chance(0.5)) image = widened(image);
    const Extents taps = {out, extents(image)[1], 1 + below(std::min<std::int64_t>(height, 3)),
                          1 + below(std::min<std::int64_t>(width, 3))};
    const graph::ValueId weight = constant(taps, -0.25, 0.25);
    const graph::ValueId bias = chance(0.5) ? constant({out}, -1, 1) : graph::ValueId();
    graph::ValueId y = program_.call("conv2d", {{"x", image}, {"weight", weight}, {"bias", bias}});
    if (chance(0.5)) {
      y = program_
              .add_call({.op = "batch_norm",
                         .inputs = {{"x", y},
                                    {"mean", constant({out}, -1, 1)},
                                    {"variance", constant({out}, 0.5, 1.5)},
                                    {"scale", constant({out}, -1, 1)},
                                    {"bias", constant({out}, -1, 1)}},
                         .attributes = {{"is_test", true}}})
              .result("out");
    } else {
      y = with_bias(y, {out, 1, 1});
    }
    const Extents result = extents(y);
    keep(program_.call("reshape", {{"x", y}}, {{"shape", Integers{result[1], result[2], result[3]}}}));
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

  Kinds kinds_;
  Random random_;
  graph::Program program_;
  int constants_ = 0;
  std::vector<graph::ValueId> values_;
};

}  // namespace portops::test
