// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/element_type.hpp>
#include <portops/core/error.hpp>

#include <type_traits>

namespace portops::apps {

/// `value` in another element type, rounded at most once: f64 to f16 does not pass through f32.
template <class To, class From>
To element_cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (sizeof(From) == 2) {
    return static_cast<To>(static_cast<float>(value));  // exact on the way to float
  } else {
    return static_cast<To>(value);
  }
}

/// Calls `function(std::type_identity<T>{})` with the C++ type T of `type`, which is not i64.
template <class Function>
decltype(auto) with_type(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::f64: return function(std::type_identity<double>{});
    case ElementType::f32: return function(std::type_identity<float>{});
    case ElementType::f16: return function(std::type_identity<f16>{});
    case ElementType::bf16: return function(std::type_identity<bf16>{});
    case ElementType::i64: break;
  }
  throw Error("elements of type i64 are not converted");
}

}  // namespace portops::apps
