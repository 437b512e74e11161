// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"

namespace portops::impl {

/// Enqueues one number for all elements of a contiguous tensor.
void fill(const Context& ctx, const TensorRef& out, double number);
/// Enqueues that rows, contiguous, are at most so large; `type` is any that the build computes with.
void limit_rows(const Context& ctx, ElementType type, const TensorRef& rows, std::int64_t most);
/// Enqueues what MarkRefused says for the count of merged rows and the last one of these.
void mark_refused(const Context& ctx, ElementType type, const TensorRef& count, std::int64_t* last_row);

}  // namespace portops::impl
