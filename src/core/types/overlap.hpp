// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"

namespace portops::impl {

/// Whether two tensors have an element's bytes in common. Exact for tensors that interleave, such as two column blocks
/// of one matrix, as long as deciding it is cheap; where it is not, the answer is yes.
bool may_overlap(const TensorRef& a, const TensorRef& b);

/// Whether two elements of the tensor may share an address. Exact whenever the axes nest, as those of all subviews do.
bool may_overlap_itself(const TensorRef& tensor);

/// Whether the tensor has elements and they lie side by side, last axis fastest. Then no two share an address.
bool is_row_major(const TensorRef& tensor);

/// Whether both have the same elements at the same addresses.
bool coincide(const TensorRef& a, const TensorRef& b);

}  // namespace portops::impl
