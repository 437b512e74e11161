// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sparse_rows/embedding_sparse_gradient/embedding_sparse_gradient.hpp"

#include <string_view>

namespace portops::impl {

struct EmbeddingSparseGradientExtents {
  ExpectedExtents out_grad;
  ExpectedExtents rows;
  ExpectedExtents values;
  ExpectedExtents count;
};

/// Throws Error where embedding does.
EmbeddingSparseGradientExtents embedding_sparse_gradient_extents(std::string_view op, const TensorRef& weight,
                                                                 const TensorRef& ids,
                                                                 const EmbeddingSparseGradientParams& params);

}  // namespace portops::impl
