// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/element_type.hpp"

#include "core/types/compiled_types.hpp"

namespace portops {

std::vector<ElementType> enabled_element_types() {
  std::vector<ElementType> types;
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    if (impl::is_compiled(type)) types.push_back(type);
  }
  return types;
}

}  // namespace portops
