// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/optimizers/step_lists.hpp"

#include <algorithm>
#include <numeric>

namespace portops::impl {
namespace {

/// Leaves out the axes of extent 1, along which strides mean nothing.
StepItem make_item(std::span<const std::span<const TensorRef>> operands, std::size_t place) {
  StepItem item;
  const TensorRef& first = operands.front()[place];
  for (int axis = 0; axis < first.rank(); ++axis) {
    if (first.extent(axis) == 1) continue;
    item.extent[static_cast<std::size_t>(item.rank)] = first.extent(axis);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      item.stride[k][static_cast<std::size_t>(item.rank)] = operands[k][place].stride(axis);
    }
    ++item.rank;
  }
  for (std::size_t k = 0; k < operands.size(); ++k) item.data[k] = operands[k][place].data();
  return item;
}

/// Whether all tensors have the strides of the first one, and these leave no gaps.
bool is_dense(const StepItem& item, int operands) {
  for (int k = 1; k < operands; ++k) {
    const auto& stride = item.stride[static_cast<std::size_t>(k)];
    if (!std::equal(stride.begin(), stride.begin() + item.rank, item.stride[0].begin())) return false;
  }
  const auto strides = item.stride[0].begin();
  std::int64_t expected = 1;
  for (int found = 0; found < item.rank; ++found) {
    const auto next = std::find(strides, strides + item.rank, expected);
    if (next == strides + item.rank) return false;
    expected *= item.extent[static_cast<std::size_t>(next - strides)];
  }
  return true;
}

}  // namespace

std::int64_t StepItem::elements() const {
  return std::accumulate(extent.begin(), extent.begin() + rank, std::int64_t{1}, std::multiplies<>());
}

StepLists make_step_lists(std::initializer_list<std::span<const TensorRef>> operands) {
  const std::vector<std::span<const TensorRef>> given(operands);
  StepLists lists;
  lists.operands = static_cast<int>(given.size());
  for (std::size_t place = 0; place < given.front().size(); ++place) {
    if (given.front()[place].size() == 0) continue;
    const StepItem item = make_item(given, place);
    if (!is_dense(item, lists.operands)) {
      lists.strided.push_back(item);
      continue;
    }
    for (int k = 0; k < lists.operands; ++k) {
      lists.dense.push_back(
          static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(item.data[static_cast<std::size_t>(k)])));
    }
    lists.dense.push_back(item.elements());
  }
  return lists;
}

}  // namespace portops::impl
