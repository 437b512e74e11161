// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/element_type.hpp"
#include "portops/core/config.hpp"

namespace portops::impl {

/// Whether this build has kernels for the element type.
constexpr bool is_compiled(ElementType type) {
  switch (type) {
#if defined(PORTOPS_HAS_F64)
    case ElementType::f64: return true;
#endif
#if defined(PORTOPS_HAS_F32)
    case ElementType::f32: return true;
#endif
#if defined(PORTOPS_HAS_F16)
    case ElementType::f16: return true;
#endif
#if defined(PORTOPS_HAS_BF16)
    case ElementType::bf16: return true;
#endif
    default: return false;
  }
}

}  // namespace portops::impl
