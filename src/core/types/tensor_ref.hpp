// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/element_type.hpp"
#include "portops/core/macros.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace portops {

/// The largest number of axes of a tensor.
inline constexpr int max_rank = 8;

/// Where a tensor's elements lie, and so which backends can reach them: `host` serial and openmp; `cuda` cuda;
/// `cuda_pinned` (page-locked host memory) and `cuda_managed` all of them.
enum class MemorySpace : std::uint8_t { host, cuda, cuda_pinned, cuda_managed };

/// "host", "cuda", "cuda_pinned" or "cuda_managed".
PORTOPS_EXPORT std::string_view name_of(MemorySpace space);

/// Up to max_rank extents or strides, one an axis. Throws Error when given more.
class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values) : Extents(std::span(values.begin(), values.size())) {}
  PORTOPS_EXPORT explicit Extents(std::span<const std::int64_t> values);
  /// All zeros.
  PORTOPS_EXPORT static Extents of_rank(int rank);

  int rank() const { return rank_; }
  std::int64_t& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }

  /// The product of all; 1 for rank 0. Throws Error where 64 bits cannot hold it.
  PORTOPS_EXPORT std::int64_t product() const;
  /// The strides of a contiguous tensor of these extents, last axis fastest. Throws Error as product() does.
  PORTOPS_EXPORT Extents row_major_strides() const;
  /// "[3, 4]"
  PORTOPS_EXPORT std::string to_string() const;

  friend bool operator==(const Extents& a, const Extents& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::int64_t times(std::int64_t count, std::int64_t extent) const;

  std::array<std::int64_t, max_rank> values_{};
  int rank_ = 0;
};

/// Specialise this to make a type convert to TensorRef: `static TensorRef convert(const Tensor&)`.
/// <portops/core/kokkos.hpp> does it for Kokkos::View, <portops/core/dlpack.hpp> for DLPack tensors.
template <class Tensor>
struct TensorAdapter;

class TensorRef;

template <class Tensor>
concept AdaptableTensor = requires(const Tensor& tensor) {
  { TensorAdapter<Tensor>::convert(tensor) } -> std::same_as<TensorRef>;
};

/// A non-owning reference to a strided tensor: address, element type, extents, strides (in elements, of either sign)
/// and memory space. A default-constructed TensorRef is empty: an optional input that is not given, an output that is
/// not wanted.
class TensorRef {
 public:
  TensorRef() = default;

  /// A contiguous tensor, last axis fastest. A pointer to const makes it read-only.
  template <class T>
    requires Element<std::remove_const_t<T>>
  TensorRef(T* data, const Extents& extents, MemorySpace space = MemorySpace::host)
      : TensorRef(data, extents, extents.row_major_strides(), space) {}

  /// A strided tensor. Throws Error when extents and strides differ in rank or an extent is negative.
  template <class T>
    requires Element<std::remove_const_t<T>>
  TensorRef(T* data, const Extents& extents, const Extents& strides, MemorySpace space = MemorySpace::host)
      : TensorRef(const_cast<std::remove_const_t<T>*>(data), ElementTypeOf<std::remove_const_t<T>>::value, extents,
                  strides, space, std::is_const_v<T>) {}

  /// The same, for an element type that is known at run time only.
  PORTOPS_EXPORT TensorRef(void* data, ElementType type, const Extents& extents, const Extents& strides,
                           MemorySpace space, bool read_only = false);

  /// A Kokkos::View, a DLPack tensor, or what else TensorAdapter is specialised for.
  template <AdaptableTensor Tensor>
  TensorRef(const Tensor& tensor) : TensorRef(TensorAdapter<Tensor>::convert(tensor)) {}  // NOLINT: implicit by design

  /// Extents and element type without elements: enough for an input that the schema lists under `no_need_buffer`.
  PORTOPS_EXPORT static TensorRef without_data(ElementType type, const Extents& extents);

  /// False for an empty reference: no tensor at all, which is something else than a tensor without elements.
  explicit operator bool() const { return given_; }

  void* data() const { return data_; }
  ElementType type() const { return type_; }
  MemorySpace space() const { return space_; }
  bool read_only() const { return read_only_; }
  /// False for a reference made by without_data.
  bool has_data() const { return has_data_; }

  int rank() const { return extents_.rank(); }
  const Extents& extents() const { return extents_; }
  const Extents& strides() const { return strides_; }
  std::int64_t extent(int axis) const { return extents_[axis]; }
  std::int64_t stride(int axis) const { return strides_[axis]; }
  std::int64_t size() const { return extents_.product(); }

 private:
  void* data_ = nullptr;
  Extents extents_;
  Extents strides_;
  ElementType type_ = ElementType::f32;
  MemorySpace space_ = MemorySpace::host;
  bool read_only_ = false;
  bool given_ = false;
  bool has_data_ = false;
};

/// A tensor, or a number that stands for a tensor of that value and of extents [].
class TensorOrNumber {
 public:
  TensorOrNumber(double number) : number_(number), is_tensor_(false) {}  // NOLINT: implicit by design
  TensorOrNumber(const TensorRef& tensor) : tensor_(tensor) {}           // NOLINT: implicit by design
  template <AdaptableTensor Tensor>
  TensorOrNumber(const Tensor& tensor) : tensor_(tensor) {}  // NOLINT: implicit by design

  bool is_tensor() const { return is_tensor_; }
  /// Empty when this is a number.
  const TensorRef& tensor() const { return tensor_; }
  double number() const { return number_; }

 private:
  TensorRef tensor_;
  double number_ = 0.0;
  bool is_tensor_ = true;
};

}  // namespace portops
