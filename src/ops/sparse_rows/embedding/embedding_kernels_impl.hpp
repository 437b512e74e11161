// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/sparse_rows/copy_element.hpp"
#include "ops/sparse_rows/embedding/embedding_kernels.hpp"
#include "ops/sparse_rows/reduce_rows.hpp"
#include "ops/sparse_rows/store_row.hpp"

namespace portops::impl {

template <Backend B, class T>
void EmbeddingKernels<B, T>::grad(const Context& ctx, const SparseRows& sparse, const Loop& zeros) {
  static const SparseRowsLabels labels("embedding_grad");
  static const MapLabels zero_labels("embedding_grad");
  const SparseRowsTemporary temporary(ctx, labels, sparse, false);
  map<B, T>(ctx, zero_labels, CopyElement{}, zeros);
  if (sparse.empty()) return;
  const StoreRow<B, T> sink{RowColumns(sparse), RowTensor<T>(sparse.operand[1])};
  reduce_rows<B, T>(ctx, labels, sparse, temporary, nullptr, sink);
}

}  // namespace portops::impl
