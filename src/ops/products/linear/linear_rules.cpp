// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/linear/linear_rules.hpp"

namespace portops::impl {

LinearExtents linear_extents(std::string_view op, const TensorRef& x, const TensorRef& weight,
                             const LinearParams& params) {
  if (x.rank() == 0) fail("portops::", op, ": x has extents [], expected one axis or more");
  const std::int64_t inputs = x.extent(x.rank() - 1);
  const int of_inputs = params.transpose_weight ? 1 : 0;
  if (weight.rank() != 2 || weight.extent(of_inputs) != inputs) {
    const auto refuse = [&](const auto&... expected) {
      fail("portops::", op, ": weight has extents ", weight.extents().to_string(), ", expected ", expected...,
           " (x has extents ", x.extents().to_string(), params.transpose_weight ? ", transpose_weight is true)" : ")");
    };
    params.transpose_weight ? refuse("[the outputs, ", inputs, "]") : refuse("[", inputs, ", the outputs]");
  }
  const std::int64_t outputs = weight.extent(1 - of_inputs);
  Extents out = x.extents();
  out[out.rank() - 1] = outputs;
  return {{{outputs}, "the outputs of weight"}, {out, "the extents of x, the last one the outputs of weight"}};
}

}  // namespace portops::impl
