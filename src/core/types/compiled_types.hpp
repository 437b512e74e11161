// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/element_type.hpp"
#include "portops/core/config.hpp"

namespace portops::impl {

/// The element types that this build has kernels for.
inline constexpr ElementType compiled_types[] = {
#if defined(PORTOPS_HAS_F64)
    ElementType::f64,
#endif
#if defined(PORTOPS_HAS_F32)
    ElementType::f32,
#endif
#if defined(PORTOPS_HAS_F16)
    ElementType::f16,
#endif
#if defined(PORTOPS_HAS_BF16)
    ElementType::bf16,
#endif
};

constexpr bool is_compiled(ElementType type) {
  for (const ElementType compiled : compiled_types) {
    if (compiled == type) return true;
  }
  return false;
}

}  // namespace portops::impl
