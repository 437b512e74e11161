// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <portops/autograd/variable.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

// Variables with elements from the host, and back; and what an error says.

namespace portops::test {

namespace ag = portops::autograd;

/// A tensor in the backend's memory with these elements.
template <class T>
Tensor tensor_of(const Context& ctx, const Extents& extents, const std::vector<T>& elements) {
  const Tensor tensor(ElementTypeOf<T>::value, extents, default_memory_space(ctx.backend()));
  copy(ctx, TensorRef(elements.data(), extents), tensor);
  ctx.fence();
  return tensor;
}

/// Waits, and reads the elements.
template <class T>
std::vector<T> elements_of(const Context& ctx, const TensorRef& tensor) {
  std::vector<T> elements(static_cast<std::size_t>(tensor.size()));
  copy(ctx, tensor, TensorRef(elements.data(), tensor.extents()));
  ctx.fence();
  return elements;
}
template <class T = double>
std::vector<T> elements_of(const Context& ctx, const ag::Variable& variable) {
  return elements_of<T>(ctx, variable.tensor());
}

/// f64, with these elements.
inline ag::Variable variable_of(const Context& ctx, const Extents& extents, const std::vector<double>& elements,
                                ag::Gradient gradient = ag::Gradient::wanted) {
  return {tensor_of(ctx, extents, elements), gradient};
}

/// f64, random.
inline ag::Variable random_variable(const Context& ctx, const Extents& extents, unsigned seed,
                                    ag::Gradient gradient = ag::Gradient::wanted) {
  Random random(seed);
  std::vector<double> elements(static_cast<std::size_t>(extents.product()));
  for (double& each : elements) each = random.uniform(0.25, 2.0);
  return variable_of(ctx, extents, elements, gradient);
}

/// What the portops::Error of a call says; empty where it throws none. expect_error() compares the whole of it.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace portops::test
