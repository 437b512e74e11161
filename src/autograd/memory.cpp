// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/memory.hpp"

#include "core/exec/runtime.hpp"
#include "core/types/fail.hpp"

namespace portops::impl {
namespace {

std::size_t bytes_of(const char* label, ElementType type, const Extents& extents) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(extents.product(), static_cast<std::ptrdiff_t>(size_of(type)), &bytes)) {
    fail(label, ": extents ", extents.to_string(), " are more than memory can hold");
  }
  return static_cast<std::size_t>(bytes);
}

std::shared_ptr<Memory> make_memory(const Context& ctx, const char* label, std::size_t bytes) {
  if (ctx.workspace().data == nullptr) return std::make_shared<Memory>(ctx, label, bytes);
  return std::make_shared<Memory>(Context(ctx).workspace({}), label, bytes);
}

}  // namespace

bool is_contiguous(const TensorRef& tensor) {
  const Extents expected = tensor.extents().row_major_strides();
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) > 1 && tensor.stride(axis) != expected[axis]) return false;
  }
  return true;
}

Value make_value(const Context& ctx, const char* label, ElementType type, const Extents& extents,
                 const Levels& levels) {
  Value value;
  value.memory = make_memory(ctx, label, bytes_of(label, type, extents));
  value.tensor =
      TensorRef(value.memory->data(), type, extents, extents.row_major_strides(), default_memory_space(ctx.backend()));
  value.levels = levels;
  return value;
}

}  // namespace portops::impl
