// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/tensor.hpp"
#include "core/types/tensor_ref.hpp"

#include <vector>

namespace portops::impl {

// A contiguous tensor's elements as numbers of the host. All of these wait.

/// Rounds once.
void write_numbers(const Context& ctx, const std::vector<double>& numbers, const TensorRef& out);
std::vector<double> read_numbers(const Context& ctx, const TensorRef& tensor);

// A tensor in the backend's memory.

Tensor make_numbers(const Context& ctx, ElementType type, const Extents& extents, const std::vector<double>& numbers);
/// One number everywhere.
Tensor make_numbers(const Context& ctx, ElementType type, const Extents& extents, double number);

}  // namespace portops::impl
