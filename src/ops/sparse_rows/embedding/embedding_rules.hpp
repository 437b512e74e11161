// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sparse_rows/embedding/embedding.hpp"

#include <string_view>

namespace portops::impl {

struct EmbeddingExtents {
  ExpectedExtents out;
};

/// Throws Error unless weight is a table of which padding_idx, if given, is a row, and out has a rank for ids.
EmbeddingExtents embedding_extents(std::string_view op, const TensorRef& weight, const TensorRef& ids,
                                   const EmbeddingParams& params);

}  // namespace portops::impl
