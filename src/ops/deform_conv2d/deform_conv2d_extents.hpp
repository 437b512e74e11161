// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"
#include "ops/deform_conv2d/deform_conv2d.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// The extents that x and weight give to the other tensors of deform_conv2d and deform_conv2d_grad: offset, mask, bias,
/// out, and the same names with _grad. Throws Error, in the name of `op`, where ranks or attributes are wrong or x and
/// weight do not fit together.
std::map<std::string, Extents, std::less<>> deform_conv2d_extents(std::string_view op, const TensorRef& x,
                                                                  const TensorRef& weight,
                                                                  const DeformConv2dParams& params);

}  // namespace portops::impl
