// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "element_cast.hpp"

#include <portops/core/context.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// The elements of a contiguous tensor of any type but i64. Returns when everything enqueued on the context is done.
inline std::vector<double> values_of(const Context& ctx, const TensorRef& x) {
  Tensor copied;
  TensorRef host = x;
  if (x.space() != MemorySpace::host) {
    copied = Tensor(x.type(), x.extents());
    copy(ctx, x, copied);
    host = copied;
  }
  ctx.fence();
  std::vector<double> values(static_cast<std::size_t>(host.size()));
  with_type(host.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const elements = static_cast<const T*>(host.data());
    std::transform(elements, elements + values.size(), values.begin(), element_cast<double, T>);
  });
  return values;
}

/// Indices, i64 [n], where the context's backend has its tensors by default. Returns when they are there.
inline Tensor indices_on_backend(const Context& ctx, const std::vector<std::int64_t>& values) {
  const Tensor host(ElementType::i64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), host.data<std::int64_t>());
  return to_backend(ctx, host);
}

}  // namespace portops::apps
