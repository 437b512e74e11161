// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/types/tensor_ref.hpp"

#include <string>

namespace portops::impl {

/// Channels of 16 bytes: pixels of whole such units are read where they lie.
inline std::int64_t unit_of(ElementType type) { return 16 / static_cast<std::int64_t>(size_of(type)); }
/// Whether the tensor is a matrix of planes, each of which begins at a multiple of 16 bytes.
bool has_planes_at_units(const TensorRef& tensor);

/// A tensor with its channels last: as it lies, or in a copy of all its images in temporary memory, whose pixels begin
/// at multiples of `unit` elements; what lies between them is 0 if that is wanted, and else not written.
class ChannelsLast {
 public:
  ChannelsLast(MemoryLayout& layout, const TensorRef& tensor, bool is_copied, std::int64_t unit = 1,
               bool wants_zeros = false);

  bool is_copied() const { return static_cast<bool>(copy_); }

  /// Without memory, one of the same extents, strides and alignment.
  TensorRef in(void* memory) const;

  /// The same, once the copy, if there is one, is enqueued.
  TensorRef copied_to(const Context& ctx, const std::string& label, void* memory) const;

 private:
  TensorRef tensor_;
  std::int64_t pixel_;  ///< from one to the next in the copy
  bool wants_zeros_;
  TemporaryArray copy_;
};

}  // namespace portops::impl
