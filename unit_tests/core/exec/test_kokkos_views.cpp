// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_support.hpp"

#include <portops/core/error.hpp>
#include <portops/ops/lerp.hpp>

#include <Kokkos_DynRankView.hpp>

#include <cmath>
#include <vector>

namespace portops::test {
namespace {

using Host = Kokkos::HostSpace;

// What a View of portops' element types is, and what is not one.
static_assert(std::is_convertible_v<Kokkos::View<double*>, TensorRef>);
static_assert(std::is_convertible_v<Kokkos::View<const float**, Kokkos::LayoutStride>, TensorRef>);
static_assert(std::is_convertible_v<Kokkos::View<f16***, Kokkos::LayoutLeft>, TensorRef>);
static_assert(std::is_convertible_v<Kokkos::View<bf16[3][4]>, TensorRef>);
static_assert(std::is_convertible_v<Kokkos::View<const std::int64_t*>, TensorRef>);
static_assert(std::is_convertible_v<Kokkos::View<float*>, TensorOrNumber>);
static_assert(!std::is_convertible_v<Kokkos::View<int*>, TensorRef>);
static_assert(!std::is_convertible_v<Kokkos::View<long double*>, TensorRef>);
static_assert(!std::is_convertible_v<Kokkos::View<Kokkos::complex<float>*>, TensorRef>);
static_assert(!std::is_convertible_v<Kokkos::View<std::uint16_t*>, TensorRef>);
static_assert(!std::is_convertible_v<Kokkos::View<std::uint64_t*>, TensorRef>);
static_assert(!std::is_convertible_v<Kokkos::View<int*>, TensorOrNumber>);
static_assert(!std::is_convertible_v<Kokkos::View<float*>*, TensorRef>);
static_assert(!std::is_convertible_v<Kokkos::DynRankView<float>, TensorRef>);

/// Kokkos' own 16-bit types are those of portops, except where Kokkos has none and computes with float.
template <class T>
constexpr bool converts_by_its_size =
    std::is_convertible_v<Kokkos::View<T*>, TensorRef> == (sizeof(T) == 2 || std::is_same_v<T, float>);
static_assert(converts_by_its_size<Kokkos::Experimental::half_t>);
static_assert(converts_by_its_size<Kokkos::Experimental::bhalf_t>);

// What an execution-space instance is.
static_assert(std::is_convertible_v<Kokkos::DefaultExecutionSpace, Context>);
static_assert(std::is_convertible_v<Kokkos::DefaultHostExecutionSpace, Context>);
static_assert(!std::is_convertible_v<Kokkos::HostSpace, Context> && !std::is_convertible_v<int, Context>);

/// That a View becomes a TensorRef of the same elements.
template <class View>
void expect_same(const View& view) {
  const TensorRef tensor = view;
  constexpr bool is_const = std::is_const_v<typename View::value_type>;
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor.data(), view.data());
  EXPECT_EQ(tensor.type(), ElementTypeOf<typename View::non_const_value_type>::value);
  EXPECT_EQ(tensor.space(), MemorySpace::host);
  EXPECT_EQ(tensor.read_only(), is_const);
  ASSERT_EQ(tensor.rank(), static_cast<int>(View::rank()));
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    EXPECT_EQ(tensor.extent(axis), static_cast<std::int64_t>(view.extent(axis))) << "axis " << axis;
    EXPECT_EQ(tensor.stride(axis), static_cast<std::int64_t>(view.stride(axis))) << "axis " << axis;
  }
}

template <class Layout>
void check_all_ranks() {
  expect_same(Kokkos::View<double, Layout, Host>("v"));
  expect_same(Kokkos::View<float*, Layout, Host>("v", 2));
  expect_same(Kokkos::View<f16**, Layout, Host>("v", 2, 3));
  expect_same(Kokkos::View<bf16***, Layout, Host>("v", 2, 3, 4));
  expect_same(Kokkos::View<double****, Layout, Host>("v", 2, 3, 4, 1));
  expect_same(Kokkos::View<float*****, Layout, Host>("v", 2, 3, 4, 1, 2));
  expect_same(Kokkos::View<f16******, Layout, Host>("v", 2, 3, 4, 1, 2, 3));
  expect_same(Kokkos::View<bf16*******, Layout, Host>("v", 2, 3, 4, 1, 2, 3, 2));
  expect_same(Kokkos::View<double********, Layout, Host>("v", 2, 3, 4, 1, 2, 3, 2, 2));
  expect_same(Kokkos::View<float[2][3], Layout, Host>("v"));
  expect_same(Kokkos::View<float* [3], Layout, Host>("v", 4));
  expect_same(Kokkos::View<std::int64_t**, Layout, Host>("v", 2, 3));
  expect_same(Kokkos::View<const float**, Layout, Host>(Kokkos::View<float**, Layout, Host>("v", 2, 3)));
}

TEST(ViewTest, of_every_layout_and_rank_converts) {
  check_all_ranks<Kokkos::LayoutLeft>();
  check_all_ranks<Kokkos::LayoutRight>();
  const Kokkos::LayoutStride strides(3, 50, 4, 1, 5, 7);
  expect_same(Kokkos::View<double***, Kokkos::LayoutStride, Host>("v", strides));
}

TEST(ViewTest, strides_count_elements) {
  const Kokkos::View<f16**, Kokkos::LayoutLeft, Host> left("v", 5, 3);
  const Kokkos::View<f16**, Kokkos::LayoutRight, Host> right("v", 5, 3);
  for (int axis = 0; axis < 2; ++axis) {
    const int i = axis == 0 ? 1 : 0;
    EXPECT_EQ(TensorRef(left).stride(axis), &left(i, 1 - i) - &left(0, 0));
    EXPECT_EQ(TensorRef(right).stride(axis), &right(i, 1 - i) - &right(0, 0));
  }
}

template <class Layout>
void check_subviews() {
  const Kokkos::View<float***, Layout, Host> view("v", 5, 6, 7);
  expect_same(Kokkos::subview(view, Kokkos::ALL, Kokkos::pair(1, 4), 3));
  expect_same(Kokkos::subview(view, 2, Kokkos::ALL, Kokkos::pair(2, 7)));
  expect_same(Kokkos::subview(view, Kokkos::pair(1, 5), Kokkos::pair(1, 2), Kokkos::pair(0, 6)));
  expect_same(Kokkos::subview(view, 1, 2, 3));
  const Kokkos::View<const float***, Layout, Host> constant = view;
  expect_same(Kokkos::subview(constant, Kokkos::ALL, 1, Kokkos::ALL));
  EXPECT_EQ(TensorRef(Kokkos::subview(view, 4, 5, 6)).data(), &view(4, 5, 6));
}

TEST(ViewTest, subviews_convert) {
  check_subviews<Kokkos::LayoutLeft>();
  check_subviews<Kokkos::LayoutRight>();
}

TEST(ViewTest, unmanaged_and_random_access_views_convert) {
  std::vector<double> data(12);
  using Traits = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  const Kokkos::View<double**, Kokkos::LayoutRight, Host, Traits> view(data.data(), 3, 4);
  expect_same(view);
  EXPECT_EQ(TensorRef(view).data(), data.data());
  using Reading = Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::RandomAccess>;
  expect_same(Kokkos::View<const double**, Kokkos::LayoutRight, Host, Reading>(view));
}

TEST(ViewTest, without_elements_converts) {
  const TensorRef tensor = Kokkos::View<float**, Host>("v", 3, 0);
  EXPECT_TRUE(tensor);
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_TRUE(TensorRef(Kokkos::View<float*, Host>())) << "a tensor without elements, not an argument left out";
}

TEST(ViewTest, of_kokkos_own_16_bit_types_converts) {
  using Kokkos::Experimental::bhalf_t;
  using Kokkos::Experimental::half_t;
  if constexpr (sizeof(half_t) == 2) {
    EXPECT_EQ(TensorRef(Kokkos::View<half_t*, Host>("v", 2)).type(), ElementType::f16);
  }
  if constexpr (sizeof(bhalf_t) == 2) {
    EXPECT_EQ(TensorRef(Kokkos::View<const bhalf_t*, Host>(Kokkos::View<bhalf_t*, Host>("v", 2))).type(),
              ElementType::bf16);
  }
}

TEST(ViewTest, memory_spaces_are_told_apart) {
  EXPECT_EQ(TensorRef(Kokkos::View<float*, Kokkos::HostSpace>("v", 2)).space(), MemorySpace::host);
#if defined(KOKKOS_ENABLE_CUDA)
  EXPECT_EQ(TensorRef(Kokkos::View<float*, Kokkos::CudaSpace>("v", 2)).space(), MemorySpace::cuda);
  EXPECT_EQ(TensorRef(Kokkos::View<float*, Kokkos::CudaUVMSpace>("v", 2)).space(), MemorySpace::cuda_managed);
  EXPECT_EQ(TensorRef(Kokkos::View<float*, Kokkos::CudaHostPinnedSpace>("v", 2)).space(), MemorySpace::cuda_pinned);
#endif
}

/// A block of Views in a space, with copies on the host, of which lerp is given subviews.
template <class Space, class Layout>
void check_lerp_of_subviews() {
  using Block = Kokkos::View<float***, Layout, typename Space::memory_space>;
  const Block x("x", 9, 20, 6), y("y", 9, 20, 6), out("out", 9, 20, 6);
  const auto x_host = Kokkos::create_mirror(Host(), x);
  const auto y_host = Kokkos::create_mirror(Host(), y);
  const auto out_host = Kokkos::create_mirror(Host(), out);
  const auto visit = [](const auto& function) {
    for (int i = 0; i < 9; ++i) {
      for (int j = 0; j < 20; ++j) {
        for (int k = 0; k < 6; ++k) function(i, j, k);
      }
    }
  };
  visit([&](int i, int j, int k) {
    x_host(i, j, k) = pattern((i * 20 + j) * 6 + k, 1);
    y_host(i, j, k) = pattern((i * 20 + j) * 6 + k, 2);
    out_host(i, j, k) = -99.0f;
  });
  Kokkos::deep_copy(x, x_host);
  Kokkos::deep_copy(y, y_host);
  Kokkos::deep_copy(out, out_host);

  // out[a, b] from x[a + 1, 2, b + 1], y[b + 2 only: a row for all], in a plane of `out`.
  const Space space;
  const auto x_part = Kokkos::subview(x, Kokkos::pair(1, 8), Kokkos::pair(4, 14), 2);
  const auto y_part = Kokkos::subview(y, 3, Kokkos::pair(5, 15), 1);
  const auto out_part = Kokkos::subview(out, Kokkos::pair(2, 9), Kokkos::pair(0, 10), 5);
  lerp(space, x_part, y_part, 0.3, out_part);
  space.fence();

  Kokkos::deep_copy(out_host, out);
  visit([&](int i, int j, int k) {
    float expected = -99.0f;
    if (i >= 2 && j < 10 && k == 5) {
      const float from = x_host(i - 1, j + 4, 2);
      expected = std::fma(0.3f, y_host(3, j + 5, 1) - from, from);
    }
    ASSERT_EQ(out_host(i, j, k), expected) << i << ", " << j << ", " << k;
  });
}

template <class Space>
class OperatorOnViewsTest : public testing::Test {};
TYPED_TEST_SUITE(OperatorOnViewsTest, Spaces);

TYPED_TEST(OperatorOnViewsTest, reads_and_writes_subviews_of_every_layout) {
  check_lerp_of_subviews<TypeParam, Kokkos::LayoutLeft>();
  check_lerp_of_subviews<TypeParam, Kokkos::LayoutRight>();
}

TYPED_TEST(OperatorOnViewsTest, takes_const_inputs_and_refuses_const_outputs) {
  using Memory = typename TypeParam::memory_space;
  const Kokkos::View<double*, Memory> x("x", 5), y("y", 5), out("out", 5);
  Kokkos::deep_copy(y, 4.0);
  const Kokkos::View<const double*, Memory> const_x = x, const_y = y, const_out = out;
  const TypeParam space;
  lerp(space, const_x, const_y, 0.25, out);
  space.fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Host(), out);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host(i), 1.0);
  EXPECT_THROW(lerp(space, const_x, const_y, 0.25, const_out), Error);
}

TYPED_TEST(OperatorOnViewsTest, takes_a_view_of_rank_0_for_weight) {
  using Memory = typename TypeParam::memory_space;
  const Kokkos::View<float*, Memory> x("x", 5), y("y", 5), out("out", 5);
  const Kokkos::View<float, Memory> weight("weight");
  Kokkos::deep_copy(y, 4.0f);
  Kokkos::deep_copy(weight, 0.75f);
  const TypeParam space;
  lerp(space, x, y, weight, out);
  space.fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Host(), out);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host(i), 3.0f);
}

TYPED_TEST(OperatorOnViewsTest, keeps_the_instance_as_long_as_the_context) {
  const Context ctx = new_instance<TypeParam>();
  EXPECT_EQ(ctx.backend(), ExecutionSpaceAdapter<TypeParam>::backend);
  const Kokkos::View<float*, typename TypeParam::memory_space> x("x", 5), y("y", 5), out("out", 5);
  Kokkos::deep_copy(x, 8.0f);
  lerp(ctx, x, y, 0.5, out);
  ctx.fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Host(), out);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host(i), 4.0f);
}

}  // namespace
}  // namespace portops::test
