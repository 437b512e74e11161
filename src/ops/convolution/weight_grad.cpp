// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/weight_grad.hpp"

#include <algorithm>

namespace portops::impl {

WeightGrad::WeightGrad(MemoryLayout& layout, const TensorRef& weight_grad, std::int64_t steps, std::int64_t padding) {
  const int levels = weight_grad ? Cascade::levels(steps) : 0;
  for (int level = 0; level < levels; ++level) {
    const std::int64_t row = weight_grad.size() / std::max<std::int64_t>(weight_grad.extent(0), 1);
    levels_[static_cast<std::size_t>(level)] =
        TemporaryArray(layout, weight_grad.size() + padding * row, arithmetic_size(weight_grad.type()));
  }
}

void WeightGrad::multiply(const Context& ctx, const Windows& windows, std::int64_t index, const TensorRef& grads,
                          const TensorRef& columns, void* memory, Workspace workspace) const {
  const Matrices matrix(ctx, arithmetic_type(grads.type()));
  const std::int64_t m = grads.extent(1), k = windows.group_column();
  blas::gemm(of_products(ctx), blas::Transpose::yes, blas::Transpose::no, 1.0, grads, columns,
             Cascade::begins(index) ? 0.0 : 1.0, matrix(sums(0, memory), m, k, k),
             blas::Batch{windows.groups, m, k, m * k}, workspace);
}

}  // namespace portops::impl
