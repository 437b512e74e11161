// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/host_numbers.hpp"

#include "core/exec/runtime.hpp"
#include "core/types/fail.hpp"

namespace portops::impl {
namespace {

/// Of all types, also those that the build does not compute with: statistics of a build for 16 bits alone are f32.
template <class F>
void with_elements(const TensorRef& tensor, F&& f) {
  switch (tensor.type()) {
    case ElementType::f64: return f(static_cast<double*>(tensor.data()));
    case ElementType::f32: return f(static_cast<float*>(tensor.data()));
    case ElementType::f16: return f(static_cast<f16*>(tensor.data()));
    case ElementType::bf16: return f(static_cast<bf16*>(tensor.data()));
    case ElementType::i64: break;
  }
  fail("portops::nn: numbers are of f64, f32, f16 or bf16, not ", name_of(tensor.type()));
}

struct Write {
  const std::vector<double>& numbers;

  template <class T>
  void operator()(T* out) const {
    for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = static_cast<T>(numbers[i]);
  }
};

struct Read {
  std::vector<double>& numbers;

  template <class T>
  void operator()(const T* x) const {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(x[i]);
  }
};

}  // namespace

void write_numbers(const Context& ctx, const std::vector<double>& numbers, const TensorRef& out) {
  const Tensor host(out.type(), out.extents());
  with_elements(host, Write{numbers});
  copy(ctx, host, out);
  ctx.fence();
}

std::vector<double> read_numbers(const Context& ctx, const TensorRef& tensor) {
  const Tensor host(tensor.type(), tensor.extents());
  copy(ctx, tensor, host);
  ctx.fence();
  std::vector<double> numbers(static_cast<std::size_t>(tensor.size()));
  with_elements(host, Read{numbers});
  return numbers;
}

Tensor make_numbers(const Context& ctx, ElementType type, const Extents& extents, const std::vector<double>& numbers) {
  Tensor tensor(type, extents, default_memory_space(ctx.backend()));
  write_numbers(ctx, numbers, tensor);
  return tensor;
}

Tensor make_numbers(const Context& ctx, ElementType type, const Extents& extents, double number) {
  return make_numbers(ctx, type, extents, std::vector<double>(static_cast<std::size_t>(extents.product()), number));
}

}  // namespace portops::impl
