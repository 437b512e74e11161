// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/flat_plan.hpp"
#include "core/map/sum_plan.hpp"
#include "support.hpp"

#include <map>
#include <random>

// Loops and their plans, carried out one element after the other on the host. No memory is touched: the value of an
// input's element is a number made from its address, and results are kept by address. Sums wrap around in 64 bits, so
// that their order does not matter.

namespace portops::test {

using Value = std::uint64_t;
using Results = std::map<std::uintptr_t, Value>;

inline Value value_at(std::uintptr_t address) { return (address + 1) * 0x9e3779b97f4a7c15u >> 7; }
inline Value value_of(double number) {
  return static_cast<Value>(static_cast<std::int64_t>(number * 4096)) * 0xc2b2ae3d27d4eb4fu;
}

/// What the emulated operator makes of the sum of its inputs' values.
inline Value output_value(Value inputs, int output) {
  return (inputs ^ (inputs >> 9)) * static_cast<Value>(2 * output + 3);
}

/// A call of an element-wise operator with operands that broadcast.
struct Call {
  ElementType type{};
  Extents extents;
  std::vector<TensorOrNumber> inputs;
  std::vector<TensorRef> outputs;

  impl::Loop loop() const {
    std::vector<const TensorOrNumber*> in;
    std::vector<const TensorRef*> out;
    for (const TensorOrNumber& input : inputs) in.push_back(&input);
    for (const TensorRef& output : outputs) out.push_back(&output);
    return impl::make_loop(type, extents, in, out);
  }

  /// Straight from the definition.
  Results results() const {
    Results result;
    for (std::int64_t index = 0; index < extents.product(); ++index) {
      Value sum = 0;
      for (const TensorOrNumber& input : inputs) {
        sum += input.is_tensor() ? value_at(address(input.tensor(), index)) : value_of(input.number());
      }
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k]) result[address(outputs[k], index)] += output_value(sum, static_cast<int>(k));
      }
    }
    return result;
  }

  std::string describe() const {
    std::string text = std::string(name_of(type)) + " " + extents.to_string();
    const auto add = [&](const char* kind, const TensorRef& tensor) {
      text += std::string("; ") + kind + " " + (tensor ? tensor.extents().to_string() : "none") + " strides " +
              tensor.strides().to_string() + " at ..." + std::to_string(base(tensor) % 64);
    };
    for (const TensorOrNumber& input : inputs) add("in", input.tensor());
    for (const TensorRef& output : outputs) add("out", output);
    return text;
  }

 private:
  static std::uintptr_t base(const TensorRef& tensor) { return reinterpret_cast<std::uintptr_t>(tensor.data()); }

  /// Of the element that takes part at an index of the broadcast extents.
  std::uintptr_t address(const TensorRef& tensor, std::int64_t index) const {
    std::int64_t offset = 0;
    for (int axis = extents.rank() - 1; axis >= 0; --axis) {
      const int own = axis - (extents.rank() - tensor.rank());
      if (own >= 0 && tensor.extent(own) != 1) offset += index % extents[axis] * tensor.stride(own);
      index /= extents[axis];
    }
    return base(tensor) + static_cast<std::uintptr_t>(offset) * size_of(type);
  }
};

/// Random calls: of one to three inputs and one to three outputs, of any layouts and broadcast patterns.
class RandomCalls {
 public:
  explicit RandomCalls(unsigned seed) : engine_(seed) {}

  Call next(ElementType type) {
    Call call;
    call.type = type;
    call.extents = extents();
    place_ = 0x10000000;
    const int inputs = number(1, 3);
    const int outputs = number(1, 3);
    for (int k = 0; k < inputs; ++k) {
      if (number(0, 5) == 0) {
        call.inputs.emplace_back(0.25 * number(-8, 8));
      } else {
        call.inputs.emplace_back(tensor(call, false));
      }
    }
    for (int k = 0; k < outputs; ++k) call.outputs.push_back(number(0, 6) == 0 ? TensorRef() : tensor(call, true));
    return call;
  }

  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

 private:
  /// Of some thousand elements at most; with a long last axis where the others are short.
  Extents extents() {
    constexpr std::int64_t choices[] = {1, 2, 3, 5, 8, 31, 64, 131};
    Extents result = Extents::of_rank(number(0, 5));
    for (int axis = 0; axis < result.rank(); ++axis) result[axis] = choices[number(0, 7)];
    while (result.product() > 6000) result[number(0, result.rank() - 1)] = number(1, 3);
    if (result.rank() > 0 && result.product() < 40) result[result.rank() - 1] = number(100, 3000);
    return result;
  }

  /// A tensor that broadcasts to the extents: full, or with some axes of extent 1, or with fewer axes.
  TensorRef tensor(const Call& call, bool is_output) {
    const int rank = call.extents.rank();
    const bool full = number(0, 2) == 0;
    const int missing = full ? 0 : number(0, rank);
    Extents extents = Extents::of_rank(rank - missing);
    for (int axis = 0; axis < extents.rank(); ++axis) {
      extents[axis] = full || number(0, 1) == 0 ? call.extents[missing + axis] : 1;
    }
    return lay_out(call.type, extents, is_output);
  }

  TensorRef lay_out(ElementType type, const Extents& extents, bool is_output) {
    std::vector<int> order;
    for (int axis = 0; axis < extents.rank(); ++axis) order.insert(order.begin(), axis);
    if (number(0, 3) == 0) std::shuffle(order.begin(), order.end(), engine_);
    const bool padded = number(0, 3) == 0;
    const bool spread = number(0, 7) == 0;
    const bool backwards = number(0, 3) == 0;
    Extents strides = extents;
    std::int64_t stride = spread ? 2 : 1;
    std::int64_t lowest = 0;
    for (const int axis : order) {
      strides[axis] = backwards && number(0, 1) == 0 ? -stride : stride;
      lowest += std::min<std::int64_t>(strides[axis] * (extents[axis] - 1), 0);
      stride *= extents[axis] + (padded ? number(0, 4) : 0);
    }
    // An input may also be spread over memory by hand, such as a broadcast View.
    if (!is_output && extents.rank() > 0 && number(0, 9) == 0) strides[number(0, extents.rank() - 1)] = 0;
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    const std::int64_t shift = number(0, 1) == 0 ? 0 : number(0, 15);
    auto* data = reinterpret_cast<std::byte*>(place_) + (shift - lowest) * bytes;
    place_ += 0x1000000;
    return {data, type, extents, strides, MemorySpace::host};
  }

  std::mt19937 engine_;
  std::uintptr_t place_ = 0;
};

/// What a loop computes.
Results results_of(const impl::Loop& loop);

/// What its plan for a backend computes: the flat or the tiled one, with the sums that follow. Adds a failure to the
/// test when a result is written twice or a partial sum is read that nobody wrote.
Results results_of_plan(const impl::Loop& loop, Backend backend);

}  // namespace portops::test
