// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/core/error.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>
#include <portops/ops/lerp.hpp>

#include <cstdio>
#include <vector>

#if defined(KOKKOS_VERSION) || defined(__CUDACC__)
#error "this application is to be compiled by a host compiler, without Kokkos"
#endif

/// Whether what the library throws is what an application catches.
bool refuses(const portops::Context& ctx, const portops::Tensor& x) {
  try {
    portops::lerp(ctx, x, x, 0.25, {});
  } catch (const portops::Error&) {
    return true;
  }
  return false;
}

/// lerp on every backend, with tensors in the memory where that backend has them.
int main() {
  using portops::ElementType;
  const portops::Runtime runtime;
  const std::vector<float> x(6, 0.0f), y(6, 8.0f);
  for (const portops::Backend backend : portops::enabled_backends()) {
    const portops::Context ctx(backend);
    const portops::MemorySpace space = portops::default_memory_space(backend);
    const portops::Tensor from(ElementType::f32, {2, 3}, space), to(ElementType::f32, {2, 3}, space);
    const portops::Tensor out(ElementType::f32, {2, 3}, space);
    std::vector<float> result(6);
    portops::copy(ctx, portops::TensorRef(x.data(), {2, 3}), from);
    portops::copy(ctx, portops::TensorRef(y.data(), {2, 3}), to);
    portops::lerp(ctx, from, to, 0.25, out);
    portops::copy(ctx, out, portops::TensorRef(result.data(), {2, 3}));
    ctx.fence();
    if (result != std::vector<float>(6, 2.0f) || !refuses(ctx, from)) return 1;
  }
  std::printf("%zu operators, right on %zu backends\n", portops::operators().size(),
              portops::enabled_backends().size());
}
