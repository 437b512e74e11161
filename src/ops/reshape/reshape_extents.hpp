// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"
#include "ops/reshape/reshape.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// The extents that the shape gives to a tensor with the elements of one of extents x. Throws Error, in the name of
/// `op`, where it gives none.
Extents reshaped_extents(std::string_view op, const Extents& x, const std::vector<std::int64_t>& shape);

/// The extents that x gives to the other tensors of reshape and reshape_grad: out, out_grad and x_grad.
std::map<std::string, Extents, std::less<>> reshape_extents(std::string_view op, const TensorRef& x,
                                                            const ReshapeParams& params);

}  // namespace portops::impl
