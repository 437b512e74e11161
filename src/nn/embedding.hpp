// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/generator.hpp"
#include "portops/nn/module.hpp"

#include <cstdint>

namespace portops::nn {

struct EmbeddingParams {
  /// The row that is 0 at first and gets no gradient; -1 is none.
  std::int64_t padding_idx = -1;
  /// Whether the table's gradient is sparse: rows and values, for the sparse steps.
  bool sparse = false;
  ElementType type = ElementType::f32;
};

/// Rows of a table: the operator embedding. ids are i64, of any extents; out has these, then embedding_dim.
///
/// weight [num_embeddings, embedding_dim] is at first normal, with mean 0 and standard deviation 1. Names and numbers
/// are those of torch.nn.Embedding. The errors are those of the operator, and a padding_idx outside of the table.
class Embedding : public Module {
 public:
  PORTOPS_EXPORT Embedding(const Context& ctx, Generator& random, std::int64_t num_embeddings,
                           std::int64_t embedding_dim, const EmbeddingParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& ids) const;
  void describe(Members& members) override { members.parameter("weight", weight); }

  Variable weight;
  EmbeddingParams params;
};

}  // namespace portops::nn
