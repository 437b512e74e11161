// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/tensor_ref.hpp"

#include <Kokkos_Core.hpp>

// Makes Kokkos::View convert to TensorRef and Kokkos' execution-space instances to Context.

namespace portops {

namespace impl {

/// Views hold `const T` or `T`; Kokkos' own 16-bit types count where they take 16 bits.
template <class T>
consteval bool is_view_element() {
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
  if (std::is_same_v<T, Kokkos::Experimental::half_t>) return true;
#endif
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
  if (std::is_same_v<T, Kokkos::Experimental::bhalf_t>) return true;
#endif
  return requires { ElementTypeOf<T>::value; };
}

template <class T>
consteval ElementType view_element_type() {
  if constexpr (requires { ElementTypeOf<T>::value; }) {
    return ElementTypeOf<T>::value;
  } else {
    return std::is_same_v<T, Kokkos::Experimental::half_t> ? ElementType::f16 : ElementType::bf16;
  }
}

template <class Space>
consteval MemorySpace memory_space() {
#if defined(KOKKOS_ENABLE_CUDA)
  if (std::is_same_v<Space, Kokkos::CudaSpace>) return MemorySpace::cuda;
  if (std::is_same_v<Space, Kokkos::CudaUVMSpace>) return MemorySpace::cuda_managed;
  if (std::is_same_v<Space, Kokkos::CudaHostPinnedSpace>) return MemorySpace::cuda_pinned;
#endif
  return MemorySpace::host;
}

}  // namespace impl

/// Any Kokkos::View of f64, f32, f16, bf16 or std::int64_t: every layout, strided subviews, const elements. Views of
/// rank 0 to 8.
template <class View>
  requires Kokkos::is_view_v<View> && (impl::is_view_element<typename View::non_const_value_type>())
struct TensorAdapter<View> {
  static TensorRef convert(const View& view) {
    Extents extents = Extents::of_rank(View::rank());
    Extents strides = extents;
    for (int axis = 0; axis < static_cast<int>(View::rank()); ++axis) {
      extents[axis] = static_cast<std::int64_t>(view.extent(axis));
      strides[axis] = static_cast<std::int64_t>(view.stride(axis));
    }
    using T = typename View::value_type;
    return TensorRef(const_cast<std::remove_const_t<T>*>(view.data()),
                     impl::view_element_type<std::remove_const_t<T>>(), extents, strides,
                     impl::memory_space<typename View::memory_space>(), std::is_const_v<T>);
  }
};

#if defined(KOKKOS_ENABLE_SERIAL)
template <>
struct ExecutionSpaceAdapter<Kokkos::Serial> {
  static constexpr Backend backend = Backend::serial;
};
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
template <>
struct ExecutionSpaceAdapter<Kokkos::OpenMP> {
  static constexpr Backend backend = Backend::openmp;
};
#endif
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct ExecutionSpaceAdapter<Kokkos::Cuda> {
  static constexpr Backend backend = Backend::cuda;
};
#endif

}  // namespace portops
