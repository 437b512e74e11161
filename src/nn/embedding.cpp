// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/embedding.hpp"

#include "core/types/fail.hpp"
#include "nn/host_numbers.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/embedding.hpp"

namespace portops::nn {

Embedding::Embedding(const Context& ctx, Generator& random, std::int64_t num_embeddings, std::int64_t embedding_dim,
                     const EmbeddingParams& its_params)
    : params(its_params) {
  if (params.padding_idx < -1 || params.padding_idx >= num_embeddings) {
    impl::fail("portops::nn::Embedding: padding_idx is ", params.padding_idx, ", expected -1 or a row of ",
               num_embeddings);
  }
  using autograd::Gradient;
  weight = normal(ctx, random, params.type, {num_embeddings, embedding_dim},
                  params.sparse ? Gradient::sparse : Gradient::wanted);
  if (params.padding_idx < 0 || embedding_dim == 0) return;
  const TensorRef& table = weight.tensor();
  auto* row = static_cast<char*>(table.data()) +
              static_cast<std::size_t>(params.padding_idx * embedding_dim) * size_of(params.type);
  impl::write_numbers(ctx, std::vector<double>(static_cast<std::size_t>(embedding_dim)),
                      {row, params.type, {embedding_dim}, {1}, table.space()});
}

Variable Embedding::operator()(const Context& ctx, const Variable& ids) const {
  return autograd::embedding(ctx, weight, ids, {.padding_idx = params.padding_idx});
}

}  // namespace portops::nn
