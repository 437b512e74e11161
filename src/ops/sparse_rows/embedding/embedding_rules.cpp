// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/embedding/embedding_rules.hpp"

#include "ops/sparse_rows/looked_up.hpp"

namespace portops::impl {

EmbeddingExtents embedding_extents(std::string_view op, const TensorRef& weight, const TensorRef& ids,
                                   const EmbeddingParams& params) {
  return {looked_up_extents(op, weight, ids, params.padding_idx)};
}

}  // namespace portops::impl
