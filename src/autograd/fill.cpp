// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/fill.hpp"

#include "autograd/fill_kernels.hpp"
#include "core/exec/dispatch.hpp"

namespace portops::impl {

void fill(const Context& ctx, const TensorRef& out, double number) {
  if (out.size() == 0) return;
  dispatch(ctx.backend(), out.type(), [&]<Backend B, class T>() {
    FillKernels<B, T>::fill(ctx, static_cast<T*>(out.data()), out.size(), static_cast<T>(number));
  });
}

void limit_rows(const Context& ctx, ElementType type, const TensorRef& rows, std::int64_t most) {
  if (rows.size() == 0) return;
  dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
    FillKernels<B, T>::limit_rows(ctx, static_cast<std::int64_t*>(rows.data()), rows.size(), most);
  });
}

void mark_refused(const Context& ctx, ElementType type, const TensorRef& count, std::int64_t* last_row) {
  dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
    FillKernels<B, T>::mark_refused(ctx, static_cast<const std::int64_t*>(count.data()), last_row);
  });
}

}  // namespace portops::impl
