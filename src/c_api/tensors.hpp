// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"

#include <portops.h>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// DLPack's tensors become TensorRefs. Nothing of them is believed: what no tensor can be is refused, in a message that
// begins with `where` and names the argument, before anything is computed with it. What is left are numbers that fit
// together: the bytes from the first to the last element are fewer than 2^57, and so are those of all elements.

namespace portops::impl {

/// NULL is an empty reference. Throws Error.
TensorRef tensor_of(std::string_view where, std::string_view name, const DLTensor* tensor);
std::vector<TensorRef> list_of(std::string_view where, std::string_view name, const DLTensor* const* tensors,
                               std::size_t count);

/// The number of the GPU that a tensor lies on; -1 for NULL, and for one that is not in the memory of a single GPU.
int device_of(const DLTensor* tensor);
/// Throws Error where a tensor lies on another GPU than that of the context.
void check_device(std::string_view where, std::string_view name, const Context& ctx, int device);

/// "x[2]"
std::string item_name(std::string_view name, std::size_t index);

DLDataType data_type_of(ElementType type);

}  // namespace portops::impl
