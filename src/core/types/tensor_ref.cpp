// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/tensor_ref.hpp"

#include "core/types/fail.hpp"

namespace portops {

std::string_view name_of(MemorySpace space) {
  switch (space) {
    case MemorySpace::host: return "host";
    case MemorySpace::cuda: return "cuda";
    case MemorySpace::cuda_pinned: return "cuda_pinned";
    case MemorySpace::cuda_managed: return "cuda_managed";
  }
  return "?";
}

Extents::Extents(std::span<const std::int64_t> values) : rank_(static_cast<int>(values.size())) {
  if (values.size() > max_rank) {
    impl::fail("portops::Extents: ", values.size(), " axes given, expected at most ", max_rank);
  }
  std::copy(values.begin(), values.end(), values_.begin());
}

Extents Extents::of_rank(int rank) {
  if (rank < 0 || rank > max_rank) {
    impl::fail("portops::Extents: ", rank, " axes given, expected 0 to ", max_rank);
  }
  Extents result;
  result.rank_ = rank;
  return result;
}

std::int64_t Extents::product() const {
  if (std::find(begin(), end(), 0) != end()) return 0;
  std::int64_t result = 1;
  for (const std::int64_t extent : *this) result = times(result, extent);
  return result;
}

Extents Extents::row_major_strides() const {
  Extents result = of_rank(rank_);
  std::int64_t stride = 1;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    result[axis] = stride;
    if (axis > 0) stride = times(stride, (*this)[axis]);
  }
  return result;
}

std::int64_t Extents::times(std::int64_t count, std::int64_t extent) const {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(count, extent, &result)) {
    impl::fail("portops::Extents: ", to_string(), " has more elements than 64 bits can count");
  }
  return result;
}

std::string Extents::to_string() const {
  std::string result = "[";
  for (const std::int64_t value : *this) result += (result.size() > 1 ? ", " : "") + std::to_string(value);
  return result + "]";
}

TensorRef::TensorRef(void* data, ElementType type, const Extents& extents, const Extents& strides, MemorySpace space,
                     bool read_only)
    : data_(data),
      extents_(extents),
      strides_(strides),
      type_(type),
      space_(space),
      read_only_(read_only),
      given_(true),
      has_data_(data != nullptr) {
  if (extents.rank() != strides.rank()) {
    impl::fail("portops::TensorRef: ", strides.rank(), " strides given for extents ", extents.to_string(),
               ", expected ", extents.rank());
  }
  for (const std::int64_t extent : extents) {
    if (extent < 0) impl::fail("portops::TensorRef: extents ", extents.to_string(), " given, expected none negative");
  }
}

TensorRef TensorRef::without_data(ElementType type, const Extents& extents) {
  return {nullptr, type, extents, extents.row_major_strides(), MemorySpace::host};
}

}  // namespace portops
