// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/error.hpp"
#include "portops/core/tensor_ref.hpp"

#include <string>

// Makes DLPack tensors convert to TensorRef. The structures are the application's own, from its <dlpack/dlpack.h>: any
// type with the members of DLTensor, of DLManagedTensor or of DLManagedTensorVersioned will do.

namespace portops {

template <class T>
concept DlTensor = requires(const T& tensor) {
  tensor.data;
  tensor.device.device_type;
  tensor.ndim;
  tensor.dtype.code;
  tensor.dtype.bits;
  tensor.dtype.lanes;
  tensor.shape;
  tensor.strides;
  tensor.byte_offset;
};

template <class T>
concept DlManagedTensor = requires(const T& managed) {
  managed.dl_tensor;
  managed.manager_ctx;
};

namespace impl {

/// DLPack's numbers: kDLInt = 0, kDLFloat = 2, kDLBfloat = 4.
inline ElementType element_type_of_dlpack(int code, int bits, int lanes) {
  if (lanes == 1 && code == 2 && bits == 64) return ElementType::f64;
  if (lanes == 1 && code == 2 && bits == 32) return ElementType::f32;
  if (lanes == 1 && code == 2 && bits == 16) return ElementType::f16;
  if (lanes == 1 && code == 4 && bits == 16) return ElementType::bf16;
  if (lanes == 1 && code == 0 && bits == 64) return ElementType::i64;
  throw Error("portops::TensorRef: DLPack element type (code " + std::to_string(code) + ", " + std::to_string(bits) +
              " bits, " + std::to_string(lanes) + " lanes) found, expected f64, f32, f16, bf16 or i64");
}

/// DLPack's numbers: kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13.
inline MemorySpace memory_space_of_dlpack(int device) {
  switch (device) {
    case 1: return MemorySpace::host;
    case 2: return MemorySpace::cuda;
    case 3: return MemorySpace::cuda_pinned;
    case 13: return MemorySpace::cuda_managed;
    default: break;
  }
  throw Error("portops::TensorRef: DLPack device type " + std::to_string(device) +
              " found, expected 1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA managed)");
}

}  // namespace impl

/// Strides may be null, which means contiguous. Throws Error for other element types, devices, and more than 8 axes.
/// A DLManagedTensorVersioned whose read-only flag is set cannot be an output.
template <DlTensor T>
struct TensorAdapter<T> {
  static TensorRef convert(const T& tensor) { return convert(tensor, false); }

  static TensorRef convert(const T& tensor, bool read_only) {
    if (tensor.shape == nullptr && tensor.ndim > 0) {
      throw Error("portops::TensorRef: DLPack tensor of " + std::to_string(tensor.ndim) +
                  " axes without a shape found, expected their extents");
    }
    const Extents extents(std::span(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
    const Extents strides = tensor.strides == nullptr
                                ? extents.row_major_strides()
                                : Extents(std::span(tensor.strides, static_cast<std::size_t>(tensor.ndim)));
    const ElementType type = impl::element_type_of_dlpack(
        static_cast<int>(tensor.dtype.code), static_cast<int>(tensor.dtype.bits), static_cast<int>(tensor.dtype.lanes));
    return {tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset,
            type,
            extents,
            strides,
            impl::memory_space_of_dlpack(static_cast<int>(tensor.device.device_type)),
            read_only};
  }
};

template <DlManagedTensor T>
struct TensorAdapter<T> {
  static TensorRef convert(const T& managed) {
    bool read_only = false;
    if constexpr (requires { managed.flags; }) read_only = (managed.flags & 1u) != 0;
    return TensorAdapter<decltype(managed.dl_tensor)>::convert(managed.dl_tensor, read_only);
  }
};

}  // namespace portops
