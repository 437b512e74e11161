// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/dropout.hpp>

#include <memory>

namespace portops::perf {
namespace {

Case dropout_case(bool is_gradient, ElementType type, const Extents& extents) {
  return {(is_gradient ? "dropout_grad/" : "dropout/") + std::string(name_of(type)) + "/" + text(extents),
          2 * static_cast<std::int64_t>(size_of(type)) * extents.product(), [=](const Context& ctx) -> Call {
            const auto x = std::make_shared<const Tensor>(random_tensor(ctx, type, extents));
            const auto out = std::make_shared<const Tensor>(random_tensor(ctx, type, extents));
            const DropoutParams params{.p = 0.1, .seed = 1};
            return [=] { is_gradient ? dropout_grad(ctx, *x, *out, params) : dropout(ctx, *x, *out, params); };
          }};
}

void register_cases(Backend backend) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::f64}) {
    register_case(backend, dropout_case(false, type, {16384, 4096}));
    register_case(backend, dropout_case(false, type, {4099, 1003}));
  }
  register_case(backend, dropout_case(true, ElementType::f32, {16384, 4096}));
  register_host_time(backend, dropout_case(false, ElementType::f32, {64, 64}));
}

const Benchmarks benchmarks("dropout", register_cases);

}  // namespace
}  // namespace portops::perf
