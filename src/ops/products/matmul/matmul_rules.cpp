// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/matmul/matmul_rules.hpp"

#include <array>
#include <span>
#include <vector>

namespace portops::impl {
namespace {

/// The axes before those of the matrices.
TensorRef batch_of(const TensorRef& tensor) {
  const int axes = std::max(tensor.rank() - 2, 0);
  return TensorRef::without_data(tensor.type(),
                                 Extents(std::span(tensor.extents().begin(), static_cast<std::size_t>(axes))));
}

/// The extent of the rows, or columns, of the matrices as they are multiplied; `from_last` counts from the last axis.
std::int64_t extent_of(const TensorRef& tensor, int from_last, bool is_transposed) {
  return tensor.extent(tensor.rank() - 1 - (is_transposed ? 1 - from_last : from_last));
}

}  // namespace

MatmulExtents matmul_extents(std::string_view op, const TensorRef& x, const TensorRef& y, const MatmulParams& params) {
  for (const Named& operand : {Named{"x", x}, Named{"y", y}}) {
    if (operand.tensor.rank() == 0) {
      fail("portops::", op, ": ", operand.name, " has extents [], expected one axis or more");
    }
  }
  const bool x_is_vector = x.rank() == 1, y_is_vector = y.rank() == 1;
  const std::int64_t inner = x_is_vector ? x.extent(0) : extent_of(x, 0, params.transpose_x);
  const std::int64_t found = y_is_vector ? y.extent(0) : extent_of(y, 1, params.transpose_y);
  if (found != inner) {
    fail("portops::", op, ": y has extents ", y.extents().to_string(), ", which are ", found, " along its inner axis",
         params.transpose_y && !y_is_vector ? " (transposed)" : "", ", expected ", inner, " (x has extents ",
         x.extents().to_string(), params.transpose_x && !x_is_vector ? ", transposed" : "", ")");
  }
  const TensorRef x_batch = batch_of(x), y_batch = batch_of(y);
  const Extents batch =
      broadcast_extents(op, std::array{Named{"of the batch of x", x_batch}, Named{"of the batch of y", y_batch}});
  std::vector<std::int64_t> out(batch.begin(), batch.end());
  if (!x_is_vector) out.push_back(extent_of(x, 1, params.transpose_x));
  if (!y_is_vector) out.push_back(extent_of(y, 0, params.transpose_y));
  return {{Extents(std::span<const std::int64_t>(out)), "the batch, the rows of x and the columns of y"}};
}

}  // namespace portops::impl
