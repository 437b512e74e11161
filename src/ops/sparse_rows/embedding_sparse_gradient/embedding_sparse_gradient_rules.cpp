// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/embedding_sparse_gradient/embedding_sparse_gradient_rules.hpp"

#include "ops/sparse_rows/looked_up.hpp"

namespace portops::impl {

EmbeddingSparseGradientExtents embedding_sparse_gradient_extents(std::string_view op, const TensorRef& weight,
                                                                 const TensorRef& ids,
                                                                 const EmbeddingSparseGradientParams& params) {
  const ExpectedExtents out_grad = looked_up_extents(op, weight, ids, params.padding_idx);
  const std::int64_t n = ids.size();
  return {out_grad,
          {{n}, "as many as ids has elements"},
          {{n, weight.extent(1)}, "a row of weight for each element of ids"},
          {{}, "one number"}};
}

}  // namespace portops::impl
