// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/core/runtime.hpp>
#include <portops/ops/full_like.hpp>

#include "harness.hpp"

namespace portops::perf {
namespace {

/// By a number, or by a tensor of one in the type of sums.
Case full_case(ElementType type, const Extents& extents, bool by_tensor) {
  const auto bytes = static_cast<std::int64_t>(size_of(type)) * extents.product();
  return {"full_like/" + std::string(name_of(type)) + (by_tensor ? "/tensor/" : "/number/") + text(extents), bytes,
          [=](const Context& ctx) -> Call {
            const Tensor out(type, extents, default_memory_space(ctx.backend()));
            const Tensor number = random_tensor(ctx, type == ElementType::f64 ? type : ElementType::f32, {});
            return [=] { full_like(ctx, out, by_tensor ? TensorOrNumber(number.ref()) : TensorOrNumber(0.5), out); };
          }};
}

void register_cases(Backend backend) {
  const Extents matrix{backend == Backend::cuda ? 16384 : 4096, 4096};
  register_host_time(backend, full_case(ElementType::f32, {}, false));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const bool by_tensor : {false, true}) {
      for (const Extents& extents : {matrix, Extents{}, Extents{3, 5, 197, 175}}) {
        register_case(backend, full_case(type, extents, by_tensor));
      }
    }
  }
}

const Benchmarks benchmarks("full_like", register_cases);

}  // namespace
}  // namespace portops::perf
