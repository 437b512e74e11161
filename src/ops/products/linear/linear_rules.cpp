// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/linear/linear_rules.hpp"

namespace portops::impl {

LinearExtents linear_extents(std::string_view op, const TensorRef& x, const TensorRef& weight,
                             const LinearParams& /*params*/) {
  if (x.rank() == 0) fail("portops::", op, ": x has extents [], expected one axis or more");
  const std::int64_t inputs = x.extent(x.rank() - 1);
  if (weight.rank() != 2 || weight.extent(0) != inputs) {
    fail("portops::", op, ": weight has extents ", weight.extents().to_string(), ", expected [", inputs,
         ", the outputs] (x has extents ", x.extents().to_string(), ")");
  }
  Extents out = x.extents();
  out[out.rank() - 1] = weight.extent(1);
  return {{{weight.extent(1)}, "the columns of weight"}, {out, "the extents of x, the last one that of weight"}};
}

}  // namespace portops::impl
