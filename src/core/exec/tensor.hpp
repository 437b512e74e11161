// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <memory>

namespace portops {

/// A contiguous tensor (last axis fastest) that owns its elements, for applications that have no container of their
/// own; converts to TensorRef. Copies share the elements. Its elements are uninitialised.
class Tensor {
 public:
  Tensor() = default;
  /// Allocates in `space`, labelled `portops::Tensor`. Throws Error when there is no such space in this build or not
  /// enough memory.
  PORTOPS_EXPORT Tensor(ElementType type, const Extents& extents, MemorySpace space = MemorySpace::host);

  const TensorRef& ref() const { return ref_; }

  template <class T>
  T* data() const {
    return static_cast<T*>(ref_.data());
  }

 private:
  std::shared_ptr<void> memory_;
  TensorRef ref_;
};

template <>
struct TensorAdapter<Tensor> {
  static TensorRef convert(const Tensor& tensor) { return tensor.ref(); }
};

/// Copies the elements of x to out, both contiguous (last axis fastest), of the same element type and extents, in any
/// two memory spaces that the context's backend can reach or copy to. Asynchronous, like every call.
PORTOPS_EXPORT void copy(const Context& ctx, const TensorRef& x, const TensorRef& out);

}  // namespace portops
