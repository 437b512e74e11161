// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/slice.hpp>
#include <portops/ops/transpose.hpp>

namespace portops::perf {
namespace {

Case transposition(ElementType type, const Extents& extents, const std::vector<std::int64_t>& perm) {
  return {"transpose/" + std::string(name_of(type)) + "/" + text(extents) + "/perm:" + text(Extents(perm)),
          2 * extents.product() * static_cast<std::int64_t>(size_of(type)), [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, extents);
            const Tensor out(type, transposed(x, perm).extents(), x.ref().space());
            return [=] { transpose(ctx, x, out, {perm}); };
          }};
}

/// From `start` to `end` along one axis.
Case part(bool is_gradient, ElementType type, const Extents& extents, std::int64_t axis, std::int64_t start,
          std::int64_t end) {
  const SliceParams params{{axis}, {start}, {end}};
  const Extents taken = sliced(TensorRef::without_data(type, extents), params).extents();
  const std::int64_t moved = taken.product() + (is_gradient ? extents : taken).product();
  return {(is_gradient ? "slice_grad/" : "slice/") + std::string(name_of(type)) + "/" + text(extents) +
              "/axis:" + std::to_string(axis),
          moved * static_cast<std::int64_t>(size_of(type)), [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, extents), out = random_tensor(ctx, type, taken);
            return [=] { is_gradient ? slice_grad(ctx, x, out, x, params) : slice(ctx, x, out, params); };
          }};
}

/// transpose, slice and its gradient.
void register_cases(Backend backend) {
  const std::int64_t rows = backend == Backend::cuda ? 16384 : 4096;
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    register_case(backend, transposition(type, {rows, 4096}, {1, 0}));
    register_case(backend, transposition(type, {32, 64, 112, 112}, {0, 2, 3, 1}));
    register_case(backend, transposition(type, {64, 12, 512, 64}, {0, 2, 1, 3}));
    for (const bool is_gradient : {false, true}) {
      register_case(backend, part(is_gradient, type, {rows, 4096}, 0, rows / 16, rows / 2));
      register_case(backend, part(is_gradient, type, {rows, 4096}, 1, 100, 3000));
    }
  }
}

const Benchmarks benchmarks("transpose", register_cases);

}  // namespace
}  // namespace portops::perf
