// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check/check_parameters.hpp"

namespace portops::impl {

ParameterType parameter_type(std::string_view op, ElementType type, std::string_view leader,
                             std::span<const Named> parameters) {
  for (const auto& [name, tensor] : parameters) {
    if (!tensor) continue;
    if (tensor.type() == type || tensor.type() == sum_type(type)) return {tensor.type(), name};
    const bool is_one = type == sum_type(type);
    fail("portops::", op, ": ", name, " has element type ", name_of(tensor.type()), ", expected ", name_of(type),
         is_one ? "" : " or ", is_one ? "" : name_of(sum_type(type)), " (the element type of ", leader,
         is_one ? ")" : ", or that of its sums)");
  }
  return {type, leader};
}

}  // namespace portops::impl
