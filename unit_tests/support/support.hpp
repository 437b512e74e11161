// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sanitized.hpp"

#include <portops/core/context.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// What the tests share: tensors of any layout on any backend, filled and read through the host. The tests are compiled
// without Kokkos and run on every backend of the build.

namespace portops::test {

/// How a tensor lies in memory.
enum class Layout {
  contiguous,  ///< last axis fastest
  reversed,    ///< first axis fastest
  padded,      ///< rows longer than the tensor's, and the first element misaligned
  negative,    ///< every axis backwards
  every_other  ///< every other element of the last axis
};

inline constexpr Layout all_layouts[] = {Layout::contiguous, Layout::reversed, Layout::padded, Layout::negative,
                                         Layout::every_other};

/// Whether this build computes with T. Indices are always there.
template <class T>
bool has_type() {
  const std::vector<ElementType> types = enabled_element_types();
  const ElementType type = ElementTypeOf<T>::value;
  return type == ElementType::i64 || std::find(types.begin(), types.end(), type) != types.end();
}

/// Ends the test as skipped where this build does not compute with T.
template <class T>
void need_type() {
  if (has_type<T>()) return;
  const std::string reason = "this build leaves out " + std::string(name_of(ElementTypeOf<T>::value));
  [&] { GTEST_SKIP() << reason; }();
  throw testing::AssertionException({testing::TestPartResult::kSkip, __FILE__, __LINE__, reason.c_str()});
}

/// Random numbers, the same on every machine: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators). Tests draw many millions of them under sanitizers, where the standard library's take ten times as long.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [low, high).
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }

 private:
  std::uint64_t state_;
};

/// A tensor in a backend's memory with a copy on the host. Memory between and around the elements is filled with a
/// pattern, which must never change. A test that makes one of an element type that this build leaves out is skipped.
template <class T>
class TestTensor {
 public:
  static constexpr int margin = 16;  ///< elements before the first and after the last

  TestTensor() = default;
  TestTensor(const Context& ctx, const Extents& extents, Layout layout = Layout::contiguous)
      : ctx_(&ctx), extents_(extents), strides_(extents.row_major_strides()) {
    need_type<T>();
    lay_out(layout);
    host_.assign(static_cast<std::size_t>(span_ + 2 * margin), T{});
    std::memset(host_.data(), 0x5c, host_.size() * sizeof(T));
    const auto count = static_cast<std::int64_t>(host_.size());
    memory_ = Tensor(ElementTypeOf<T>::value, {count}, default_memory_space(ctx.backend()));
    upload();
  }

  /// Elements in the order of their indices, last axis fastest.
  template <class Value>
  void fill(Value&& value) {
    const std::int64_t count = size();
    for (std::int64_t i = 0; i < count; ++i) host_[at(i)] = static_cast<T>(value(i));
    upload();
  }
  void fill_randomly(unsigned seed, double low = -2.0, double high = 2.0) {
    Random random(seed);
    fill([&](std::int64_t) { return random.uniform(low, high); });
  }

  TensorRef ref() const { return {memory_.data<T>() + first_, extents_, strides_, memory_.ref().space()}; }
  operator TensorRef() const { return ref(); }       // NOLINT: implicit for brevity in the tests
  operator TensorOrNumber() const { return ref(); }  // NOLINT: implicit for brevity in the tests
  const Extents& extents() const { return extents_; }
  std::int64_t size() const { return extents_.product(); }

  /// Waits, reads the tensor back and checks that nothing around its elements has changed.
  void download() {
    ctx_->fence();
    std::vector<T> before = host_;
    copy(*ctx_, memory_, host_ref());
    ctx_->fence();
    const std::int64_t count = size();
    for (std::int64_t i = 0; i < count; ++i) before[at(i)] = host_[at(i)];
    EXPECT_EQ(std::memcmp(before.data(), host_.data(), host_.size() * sizeof(T)), 0)
        << "memory around a tensor of extents " << extents_.to_string() << " was written";
  }

  T element(std::int64_t index) const { return host_[at(index)]; }
  double operator[](std::int64_t index) const { return static_cast<double>(element(index)); }

  /// The element to which index i of a tensor of extents `shape` broadcasts.
  double broadcast(const Extents& shape, std::int64_t i) const { return (*this)[broadcast_index(shape, i)]; }
  std::int64_t broadcast_index(const Extents& shape, std::int64_t i) const {
    if (extents_ == shape) return i;
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t along = i % shape[axis];
      i /= shape[axis];
      const int own = axis - (shape.rank() - extents_.rank());
      if (own < 0) continue;
      if (extents_[own] != 1) index += along * stride;
      stride *= extents_[own];
    }
    return index;
  }

 private:
  void lay_out(Layout layout) {
    if (layout == Layout::reversed) {
      std::int64_t stride = 1;
      for (int axis = 0; axis < extents_.rank(); ++axis) {
        strides_[axis] = stride;
        stride *= extents_[axis];
      }
    } else if (layout == Layout::padded || layout == Layout::every_other) {
      std::int64_t stride = layout == Layout::padded ? 1 : 2;
      for (int axis = extents_.rank() - 1; axis >= 0; --axis) {
        strides_[axis] = stride;
        stride *= extents_[axis] + (layout == Layout::padded && axis == extents_.rank() - 1 ? 3 : 0);
      }
    } else if (layout == Layout::negative) {
      for (int axis = 0; axis < extents_.rank(); ++axis) strides_[axis] = -strides_[axis];
    }
    first_ = margin + (layout == Layout::padded ? 1 : 0);
    span_ = 2;
    for (int axis = 0; axis < extents_.rank(); ++axis) {
      const std::int64_t reach = strides_[axis] * std::max<std::int64_t>(extents_[axis] - 1, 0);
      if (reach < 0) first_ -= reach;
      span_ += std::abs(reach);
    }
    if (layout == Layout::contiguous) return;
    positions_.resize(static_cast<std::size_t>(size()));
    for (std::size_t i = 0; i < positions_.size(); ++i) positions_[i] = position_of(static_cast<std::int64_t>(i));
  }

  /// Where the element lies in host_.
  std::size_t at(std::int64_t index) const {
    return positions_.empty() ? static_cast<std::size_t>(first_ + index) : positions_[static_cast<std::size_t>(index)];
  }

  std::size_t position_of(std::int64_t index) const {
    std::int64_t position = first_;
    for (int axis = extents_.rank() - 1; axis >= 0; --axis) {
      position += index % extents_[axis] * strides_[axis];
      index /= extents_[axis];
    }
    return static_cast<std::size_t>(position);
  }

  TensorRef host_ref() { return {host_.data(), memory_.ref().extents()}; }

  void upload() {
    copy(*ctx_, host_ref(), memory_);
    ctx_->fence();
  }

  const Context* ctx_ = nullptr;
  Extents extents_;
  Extents strides_;
  std::int64_t first_ = 0;
  std::int64_t span_ = 0;
  std::vector<std::size_t> positions_;  ///< in host_; empty where elements follow each other
  std::vector<T> host_;
  Tensor memory_;
};

/// Tests over the backends that this build has and this machine can run. (On OpenMP those of portops_tests write all
/// outputs past the caches: see host_caches.cpp.)
class OnEveryBackend : public testing::TestWithParam<Backend> {
 protected:
  Context ctx{GetParam()};
};

inline std::string backend_test_name(const testing::TestParamInfo<Backend>& info) {
  return std::string(name_of(info.param));
}

#define PORTOPS_ON_EVERY_BACKEND(Suite) \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(portops::enabled_backends()), portops::test::backend_test_name)

/// Calls f.template operator()<T>() for every element type of this build; under a sanitizer not for bf16, whose
/// elements lie where those of f16 do.
template <class F>
void for_each_type(F&& f) {
  if (has_type<double>()) f.template operator()<double>();
  if (has_type<float>()) f.template operator()<float>();
  if (has_type<f16>()) f.template operator()<f16>();
  if (has_type<bf16>() && !is_sanitized()) f.template operator()<bf16>();
}

/// The relative error that one rounding to T makes.
template <class T>
constexpr double rounding() {
  return std::is_same_v<T, double>  ? 0x1p-53
         : std::is_same_v<T, float> ? 0x1p-24
         : std::is_same_v<T, f16>   ? 0x1p-11
                                    : 0x1p-8;
}

/// Numbers that a chain of additions rounds in one direction for long. Random numbers do not show such a drift.
inline constexpr double drifting_constants[] = {1.1, 0.1, -0.7};

/// An element as an unsigned integer of its size.
template <class T>
auto bits_of(T value) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  return std::bit_cast<Bits>(value);
}

/// Whether two elements have the same bits, or both are NaN.
template <class T>
bool same_bits(T a, T b) {
  return bits_of(a) == bits_of(b) || (a != a && b != b);
}

/// That two tensors have the same bits.
template <class T>
void expect_same_bits(TestTensor<T>& found, TestTensor<T>& expected, const std::string& what) {
  found.download();
  expected.download();
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::int64_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(same_bits(found.element(i), expected.element(i)))
        << what << "[" << i << "] is " << found[i] << ", expected " << expected[i];
  }
}

/// That f throws portops::Error with exactly this message.
inline void expect_error(const std::function<void()>& f, const std::string& message) {
  try {
    f();
    ADD_FAILURE() << "expected the error: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

}  // namespace portops::test
