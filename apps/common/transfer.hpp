// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

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

}  // namespace portops::apps
