// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/loop/axes.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax.hpp"

#include <string_view>

namespace portops::impl {

struct CrossEntropyWithSoftmaxExtents {
  ExpectedExtents loss;
  ExpectedExtents log_sum_exp;
  AxisSet reduced{};            ///< the axis of the classes
  std::int64_t classes = 1;     ///< a tensor of extents [] has one
  bool label_has_axis = false;  ///< with extent 1
};

/// Throws Error unless logits have classes along the axis, label fits them, and the reduction is one.
CrossEntropyWithSoftmaxExtents cross_entropy_with_softmax_extents(std::string_view op, const TensorRef& logits,
                                                                  const TensorRef& label,
                                                                  const CrossEntropyWithSoftmaxParams& params);

}  // namespace portops::impl
