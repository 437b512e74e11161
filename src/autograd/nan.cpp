// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/node.hpp"
#include "core/types/fail.hpp"
#include "portops/core/runtime.hpp"
#include "portops/core/tensor.hpp"

#include <cmath>

namespace portops::impl {
namespace {

/// The position of the first NaN; count where there is none.
template <class T>
std::int64_t find_nan(const Tensor& tensor) {
  const T* data = tensor.data<T>();
  const std::int64_t count = tensor.ref().size();
  std::int64_t i = 0;
  while (i < count && !std::isnan(static_cast<double>(data[i]))) ++i;
  return i;
}

std::int64_t find_nan(const Tensor& tensor) {
  switch (tensor.ref().type()) {
    case ElementType::f64: return find_nan<double>(tensor);
    case ElementType::f32: return find_nan<float>(tensor);
    case ElementType::f16: return find_nan<f16>(tensor);
    case ElementType::bf16: return find_nan<bf16>(tensor);
    case ElementType::i64: break;
  }
  return tensor.ref().size();
}

}  // namespace

void check_nan(const Context& ctx, const char* op, const std::string& name, const TensorRef& tensor) {
  if (!is_contiguous(tensor)) return;
  const Tensor on_host(tensor.type(), tensor.extents());
  copy(ctx, tensor, on_host);
  ctx.fence();
  const std::int64_t found = find_nan(on_host);
  if (found == on_host.ref().size()) return;
  fail("portops::", op, ": ", name, " of extents ", tensor.extents().to_string(),
       " is the first with a NaN, at element ", found);
}

}  // namespace portops::impl
