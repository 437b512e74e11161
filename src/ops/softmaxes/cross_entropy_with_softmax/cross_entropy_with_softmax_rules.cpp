// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax_rules.hpp"

#include "core/types/fail.hpp"

#include <algorithm>
#include <array>

namespace portops::impl {

CrossEntropyWithSoftmaxExtents cross_entropy_with_softmax_extents(std::string_view op, const TensorRef& logits,
                                                                  const TensorRef& label,
                                                                  const CrossEntropyWithSoftmaxParams& params) {
  const int rank = std::max(logits.rank(), 1);  // extents [] are taken for [1]
  if (params.axis < -rank || params.axis >= rank) {
    fail("portops::", op, ": axis is ", params.axis, ", expected ", -rank, " to ", rank - 1, " (logits has rank ",
         logits.rank(), ")");
  }
  const std::array axis{params.axis};
  const Reduction rows = reduction_of(op, {"logits", logits}, axis, false, false);
  CrossEntropyWithSoftmaxExtents result;
  result.reduced = rows.reduced;
  for (int k = 0; k < logits.rank(); ++k) {
    if (rows.reduced[static_cast<std::size_t>(k)]) result.classes = logits.extent(k);
  }
  if (result.classes == 0) {
    fail("portops::", op, ": logits has extents ", logits.extents().to_string(),
         ", expected a class or more along axis ", params.axis);
  }
  if (params.soft_label) {
    check_extents(op, {"label", label}, logits.extents(), "the extents of logits");
  } else if (label.rank() != rows.out.extents.rank() &&
             label.extents() == reduced_extents(logits.extents(), rows.reduced, true)) {
    result.label_has_axis = true;
  } else {
    check_extents(op, {"label", label}, rows.out.extents, rows.out.origin);
  }
  result.log_sum_exp = rows.out;
  if (params.reduction == "none") {
    result.loss = rows.out;
  } else if (params.reduction == "mean" || params.reduction == "sum") {
    result.loss = {{}, "one number for the reduction " + params.reduction};
  } else {
    fail("portops::", op, ": reduction is '", params.reduction, "', expected mean, sum or none");
  }
  return result;
}

}  // namespace portops::impl
