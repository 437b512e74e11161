// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/tensor_ref.hpp"

#include <algorithm>

namespace portops::impl {

/// Tensors of the same extents that lie in any way, for kernels whose work items are elements. Nothing here knows
/// Kokkos.
template <int count>
class StridedTensors {
 public:
  /// Where an element lies in each, in elements.
  using Offsets = std::int64_t[count];

  /// `extents` are of `rank` axes.
  StridedTensors(int rank, const std::int64_t* extents) : rank_(rank) { std::copy_n(extents, rank, extent_); }

  /// Gives tensor k its elements and its strides.
  void set(int k, void* data, const std::int64_t* strides) {
    operand_[k].data = data;
    std::copy_n(strides, rank_, operand_[k].stride);
  }

  /// Of the index-th element, counted with the last axis fastest; offset is 0 before.
  PORTOPS_FUNCTION void locate(std::int64_t index, Offsets& offset) const {
    add_offsets(offset, operand_, index, extent_, 0, rank_);
  }
  template <class T>
  PORTOPS_FUNCTION T& at(int k, const Offsets& offset) const {
    return static_cast<T*>(operand_[k].data)[offset[k]];
  }

 private:
  struct Operand {
    void* data;
    std::int64_t stride[max_rank];
  };

  int rank_;
  std::int64_t extent_[max_rank] = {};
  Operand operand_[count] = {};
};

}  // namespace portops::impl
