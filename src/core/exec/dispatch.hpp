// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/compiled_types.hpp"
#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

namespace portops::impl {

/// Calls f.template operator()<T>() with the C++ type of an element type that this build computes with. It is made for
/// no other.
template <class F>
decltype(auto) dispatch_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::f64:
      if constexpr (is_compiled(ElementType::f64)) return f.template operator()<double>();
      break;
    case ElementType::f32:
      if constexpr (is_compiled(ElementType::f32)) return f.template operator()<float>();
      break;
    case ElementType::f16:
      if constexpr (is_compiled(ElementType::f16)) return f.template operator()<f16>();
      break;
    case ElementType::bf16:
      if constexpr (is_compiled(ElementType::bf16)) return f.template operator()<bf16>();
      break;
    case ElementType::i64: break;
  }
  fail("portops: no kernel computes with element type ", name_of(type));  // the checks refuse it before
}

/// Calls f.template operator()<B>() with the backend.
template <class F>
decltype(auto) dispatch_backend(Backend backend, F&& f) {
  switch (backend) {
#if defined(PORTOPS_HAS_CUDA)
    case Backend::cuda: return f.template operator()<Backend::cuda>();
#endif
#if defined(PORTOPS_HAS_OPENMP)
    case Backend::openmp: return f.template operator()<Backend::openmp>();
#endif
#if defined(PORTOPS_HAS_SERIAL)
    case Backend::serial: return f.template operator()<Backend::serial>();
#endif
    default: break;  // a Context of another backend cannot be made
  }
  fail("portops: this build has no backend ", name_of(backend));
}

/// Calls f.template operator()<B, T>() with the backend and the C++ type of an element type.
template <class F>
decltype(auto) dispatch(Backend backend, ElementType type, F&& f) {
  return dispatch_type(type, [&]<class T>() -> decltype(auto) {
    return dispatch_backend(backend, [&]<Backend B>() -> decltype(auto) { return f.template operator()<B, T>(); });
  });
}

}  // namespace portops::impl
