// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "element_cast.hpp"

#include <portops/core/context.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace portops::apps {

/// The tensor where the context's backend has its tensors by default: `x` itself if it lies there, a copy otherwise.
/// Returns when the copy is done.
inline Tensor to_backend(const Context& ctx, const Tensor& x) {
  const MemorySpace space = default_memory_space(ctx.backend());
  if (x.ref().space() == space) return x;
  Tensor copied(x.ref().type(), x.ref().extents(), space);
  copy(ctx, x, copied);
  ctx.fence();
  return copied;
}

/// Zeros where the context's backend has its tensors by default. Returns when they are there.
inline Tensor zeros(const Context& ctx, ElementType type, const Extents& extents) {
  const Tensor result(type, extents);
  std::memset(result.ref().data(), 0, static_cast<std::size_t>(result.ref().size()) * size_of(type));
  return to_backend(ctx, result);
}

/// The tensor in host memory: `x` itself if it lies there, a copy otherwise. Returns when everything enqueued on the
/// context is done.
inline Tensor to_host(const Context& ctx, const Tensor& x) {
  if (x.ref().space() == MemorySpace::host) {
    ctx.fence();
    return x;
  }
  Tensor copied(x.ref().type(), x.ref().extents());
  copy(ctx, x, copied);
  ctx.fence();
  return copied;
}

/// The elements of a tensor of any type but i64. Returns when everything enqueued on the context is done.
inline std::vector<double> values_of(const Context& ctx, const Tensor& tensor) {
  const Tensor host = to_host(ctx, tensor);
  std::vector<double> values(static_cast<std::size_t>(host.ref().size()));
  with_type(host.ref().type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(host.data<T>(), host.data<T>() + values.size(), values.begin(), element_cast<double, T>);
  });
  return values;
}

}  // namespace portops::apps
