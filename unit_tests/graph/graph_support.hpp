// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/autograd_support.hpp"

#include <portops/core/registry.hpp>
#include <portops/graph/execution.hpp>
#include <portops/graph/program.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// Programs of the tests.

namespace portops::test {

namespace graph = portops::graph;
using graph::CompiledProgram;
using graph::CompileParams;
using graph::Execution;
using graph::Program;
using graph::ValueId;
using Integers = std::vector<std::int64_t>;

/// A constant with random elements of an element type.
template <class T>
Tensor random_tensor(const Context& ctx, const Extents& extents, unsigned seed, double low = -1.0, double high = 1.0) {
  Random random(seed);
  std::vector<T> elements(static_cast<std::size_t>(extents.product()));
  for (T& each : elements) each = static_cast<T>(random.uniform(low, high));
  return tensor_of(ctx, extents, elements);
}

/// Of each value whether the program holds its elements.
inline std::vector<std::uint8_t> constants_of(const graph::Program& program) {
  std::vector<std::uint8_t> constants;
  for (const graph::ValueInfo& value : program.values()) constants.push_back(value.origin == graph::Origin::constant);
  return constants;
}

/// The bytes of a tensor on the host. Waits.
inline std::vector<unsigned char> bytes_of(const Context& ctx, const TensorRef& tensor) {
  const Tensor host(tensor.type(), tensor.extents());
  copy(ctx, tensor, host);
  ctx.fence();
  const auto* const begin = host.data<unsigned char>();
  return {begin, begin + static_cast<std::size_t>(tensor.size()) * size_of(tensor.type())};
}

/// Values by what they are called, as bytes.
using Results = std::map<std::string, std::vector<unsigned char>>;

/// Random elements for every input: f32, other types are zeros.
inline std::map<std::string, Tensor> random_inputs(const Context& ctx, const graph::Program& program, unsigned seed) {
  std::map<std::string, Tensor> inputs;
  for (const graph::ValueId id : program.inputs()) {
    const graph::ValueInfo& value = program.value(id);
    if (value.type == ElementType::f32) {
      inputs.emplace(value.name, random_tensor<float>(ctx, value.extents, ++seed));
    } else {
      const Tensor zeros(value.type, value.extents);
      std::memset(zeros.data<void>(), 0, static_cast<std::size_t>(zeros.ref().size()) * size_of(value.type));
      Tensor there(value.type, value.extents, default_memory_space(ctx.backend()));
      copy(ctx, zeros, there);
      ctx.fence();
      inputs.emplace(value.name, there);
    }
  }
  return inputs;
}

/// The outputs of a program by plain calls, each value in memory of its own.
Results plain_results(const Context& ctx, const graph::Program& program, const std::map<std::string, Tensor>& inputs);

/// The outputs of an execution, which reads copies of the inputs.
Results run_results(const Context& ctx, graph::Execution& execution, const graph::Program& program,
                    const std::map<std::string, Tensor>& inputs);

/// That elements of type T are near each other: by tolerance · max(1, |want|).
template <class T = float>
void expect_near(const Results& got, const Results& want, double tolerance) {
  for (const auto& [name, bytes] : got) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T a{}, b{};
      std::memcpy(&a, &bytes[i], sizeof(T));
      std::memcpy(&b, &want.at(name)[i], sizeof(T));
      const auto wanted = static_cast<double>(b);
      ASSERT_NEAR(static_cast<double>(a), wanted, tolerance * std::max(1.0, std::abs(wanted)))
          << name << " at " << i / sizeof(T);
    }
  }
}

}  // namespace portops::test
