// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"
#include "ops/trace/trace.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// A diagonal of each matrix of a tensor.
struct Diagonal {
  int axis1 = 0;
  int axis2 = 1;
  std::int64_t offset = 0;  ///< as given, or the nearest one that is outside of the matrix too
  std::int64_t row = 0;     ///< of its first element
  std::int64_t column = 0;
  std::int64_t length = 0;
  Extents kept;  ///< the extents of the tensor without axis1 and axis2
};

/// Throws Error, in the name of `op`, where the attributes do not fit extents x.
Diagonal find_diagonal(std::string_view op, const Extents& x, const TraceParams& params);

/// The extents that x gives to the other tensors of trace and trace_grad: out, out_grad and x_grad.
std::map<std::string, Extents, std::less<>> trace_extents(std::string_view op, const TensorRef& x,
                                                          const TraceParams& params);

}  // namespace portops::impl
