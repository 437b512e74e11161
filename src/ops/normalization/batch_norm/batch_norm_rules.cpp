// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/batch_norm/batch_norm_rules.hpp"

#include "core/types/fail.hpp"

namespace portops::impl {

BatchNormExtents batch_norm_extents(std::string_view op, const TensorRef& x, const BatchNormParams& params) {
  if (x.rank() < 2) {
    fail("portops::", op, ": x has extents ", x.extents().to_string(), ", expected two axes or more");
  }
  if (params.data_layout != "NCHW" && params.data_layout != "NHWC") {
    fail("portops::", op, ": data_layout is '", params.data_layout, "', expected NCHW or NHWC");
  }
  const int axis = params.data_layout == "NCHW" ? 1 : x.rank() - 1;
  const ExpectedExtents one{{x.extent(axis)}, "the channels of x"};
  return {axis, one, one, one, one, one, one, one, one};
}

}  // namespace portops::impl
