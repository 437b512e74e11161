// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/tensors.hpp"

#include "c_api/status.hpp"
#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/cuda_device.hpp"
#endif

namespace portops::impl {
namespace {

/// What a process can address. Sums of a few such numbers fit 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 57;

/// The name of a tensor in messages.
struct Label {
  std::string_view where;
  std::string_view name;
};

template <class... Parts>
[[noreturn]] void refuse(const Label& label, const Parts&... parts) {
  fail(label.where, ": ", label.name, " has ", parts...);
}

ElementType element_type_of(const Label& label, const DLDataType& type) {
  for (const ElementType known :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i64}) {
    const DLDataType its = data_type_of(known);
    if (type.code == its.code && type.bits == its.bits && type.lanes == its.lanes) return known;
  }
  refuse(label, "the DLPack type {code ", int{type.code}, ", bits ", int{type.bits}, ", lanes ", type.lanes,
         "}, expected f64, f32, f16, bf16 or i64");
}

MemorySpace memory_space_of(const Label& label, std::int32_t device) {
  switch (device) {
    case kDLCPU: return MemorySpace::host;
    case kDLCUDA: return MemorySpace::cuda;
    case kDLCUDAHost: return MemorySpace::cuda_pinned;
    case kDLCUDAManaged: return MemorySpace::cuda_managed;
    default: break;
  }
  refuse(label, "the DLPack device type ", device,
         ", expected 1 (kDLCPU), 2 (kDLCUDA), 3 (kDLCUDAHost) or 13 (kDLCUDAManaged)");
}

Extents extents_of(const Label& label, const DLTensor& tensor, std::int64_t element_bytes) {
  if (tensor.ndim < 0 || tensor.ndim > max_rank) refuse(label, "ndim ", tensor.ndim, ", expected 0 to ", max_rank);
  if (tensor.ndim > 0 && tensor.shape == nullptr) refuse(label, "ndim ", tensor.ndim, ", but shape is NULL");
  const Extents extents(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : extents) {
    if (extent < 0) refuse(label, "extents ", extents.to_string(), ", expected none negative");
    // An extent of 0 makes the others no smaller: operators multiply some of them.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes) || bytes > most_bytes) {
      refuse(label, "extents ", extents.to_string(), ", more elements than a process can address");
    }
  }
  return extents;
}

/// Where a tensor's elements lie, seen from the address of the first: in bytes.
struct Span {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};

/// The strides, and in `span` how far they reach. Those that no address is made with may be anything: they become those
/// of a contiguous tensor.
Extents strides_of(const Label& label, const DLTensor& tensor, const Extents& extents, std::int64_t element_bytes,
                   Span& span) {
  Extents strides = Extents::of_rank(extents.rank());
  std::int64_t contiguous = 1;
  for (int axis = extents.rank() - 1; axis >= 0; --axis) {
    strides[axis] = contiguous;
    contiguous *= std::max<std::int64_t>(extents[axis], 1);
  }
  const bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  if (is_empty) return strides;
  span.behind = element_bytes;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    if (extents[axis] == 1) continue;
    if (tensor.strides != nullptr) strides[axis] = tensor.strides[axis];
    std::int64_t reach = 0;
    const bool overflows = __builtin_mul_overflow(strides[axis], element_bytes * (extents[axis] - 1), &reach);
    const bool is_far = overflows || reach < -most_bytes || reach > most_bytes;
    if (!is_far) (reach < 0 ? span.before : span.behind) += reach < 0 ? -reach : reach;
    if (is_far || span.before > most_bytes || span.behind > most_bytes) {
      refuse(label, "extents ", extents.to_string(), " and strides ",
             Extents(std::span<const std::int64_t>(tensor.strides, static_cast<std::size_t>(tensor.ndim))).to_string(),
             ", which reach further than a process can address");
    }
  }
  return strides;
}

/// NULL where there is no data.
void* address_of(const Label& label, const DLTensor& tensor, const Span& span) {
  if (tensor.data == nullptr) return nullptr;
  if (tensor.byte_offset > static_cast<std::uint64_t>(most_bytes)) {
    refuse(label, "byte_offset ", tensor.byte_offset, ", more than a process can address");
  }
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data));
  const auto offset = static_cast<std::int64_t>(tensor.byte_offset);
  std::int64_t end = 0;
  if (__builtin_sub_overflow(first, span.before, &end) || __builtin_add_overflow(first, offset + span.behind, &end)) {
    refuse(label, "an address from which its strides reach further than a process can address");
  }
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

}  // namespace

TensorRef tensor_of(std::string_view where, std::string_view name, const DLTensor* tensor) {
  if (tensor == nullptr) return {};
  const Label label{where, name};
  const ElementType type = element_type_of(label, tensor->dtype);
  const auto element_bytes = static_cast<std::int64_t>(size_of(type));
  const MemorySpace space = memory_space_of(label, static_cast<std::int32_t>(tensor->device.device_type));
  const Extents extents = extents_of(label, *tensor, element_bytes);
  Span span;
  const Extents strides = strides_of(label, *tensor, extents, element_bytes, span);
  return {address_of(label, *tensor, span), type, extents, strides, space};
}

std::vector<TensorRef> list_of(std::string_view where, std::string_view name, const DLTensor* const* tensors,
                               std::size_t count) {
  check_list_pointer(where, name, tensors, count);
  std::vector<TensorRef> list;
  list.reserve(count);
  for (std::size_t i = 0; i < count; ++i) list.push_back(tensor_of(where, item_name(name, i), tensors[i]));
  return list;
}

int device_of(const DLTensor* tensor) {
  return tensor != nullptr && static_cast<std::int32_t>(tensor->device.device_type) == kDLCUDA
             ? tensor->device.device_id
             : -1;
}

void check_device(std::string_view where, std::string_view name, const Context& ctx, int device) {
#if defined(PORTOPS_HAS_CUDA)
  if (device == -1 || ctx.backend() != Backend::cuda || device == cuda_device(ctx)) return;
  fail(where, ": ", name, " lies on GPU ", device, ", expected GPU ", cuda_device(ctx), ", that of the context");
#else
  static_cast<void>(where), static_cast<void>(name), static_cast<void>(ctx), static_cast<void>(device);
#endif
}

std::string item_name(std::string_view name, std::size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

DLDataType data_type_of(ElementType type) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(type));
  const auto code = type == ElementType::i64 ? kDLInt : type == ElementType::bf16 ? kDLBfloat : kDLFloat;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

}  // namespace portops::impl
