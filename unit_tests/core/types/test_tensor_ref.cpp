// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/tensor_ref.hpp>

#include <complex>

namespace {

/// A container of an application, and a 16-bit type of its own.
struct Matrix {
  const double* data;
  int height;
  int width;
};
struct OwnHalf {
  std::uint16_t bits;
};
struct Unrelated {};

}  // namespace

namespace portops {

template <>
struct TensorAdapter<Matrix> {
  static TensorRef convert(const Matrix& matrix) { return {matrix.data, {matrix.height, matrix.width}}; }
};
template <>
struct ElementTypeOf<OwnHalf> {
  static constexpr ElementType value = ElementType::bf16;
};

namespace test {
namespace {

TEST(ExtentsTest, are_empty_at_first_and_have_the_product_1) {
  const Extents none;
  EXPECT_EQ(none.rank(), 0);
  EXPECT_EQ(none.product(), 1);
  EXPECT_EQ(none.to_string(), "[]");
  EXPECT_EQ(none.row_major_strides(), Extents());
}

TEST(ExtentsTest, give_product_strides_and_text) {
  const Extents extents{2, 3, 4};
  EXPECT_EQ(extents.product(), 24);
  EXPECT_EQ(extents.row_major_strides(), (Extents{12, 4, 1}));
  EXPECT_EQ(extents.to_string(), "[2, 3, 4]");
  EXPECT_EQ((Extents{5, 0, 7}).product(), 0);
  EXPECT_EQ((Extents{-1}).to_string(), "[-1]");
  EXPECT_EQ((Extents{1 << 20, 1 << 20}).product(), std::int64_t{1} << 40);
  EXPECT_EQ((Extents{1 << 30, 0, 1 << 30, 1 << 30}).product(), 0);
  EXPECT_EQ((Extents{3, 1 << 20, 1 << 20}).row_major_strides(), (Extents{std::int64_t{1} << 40, 1 << 20, 1}));
}

TEST(ExtentsTest, that_hold_more_than_64_bits_count_are_refused) {
  const Extents extents{1 << 30, 1 << 30, 16};
  const std::string message = "portops::Extents: [1073741824, 1073741824, 16] has more elements than 64 bits can count";
  expect_error([&] { (void)extents.product(); }, message);
  expect_error([] { (void)Extents{2, 1 << 30, 1 << 30, 8}.row_major_strides(); },
               "portops::Extents: [2, 1073741824, 1073741824, 8] has more elements than 64 bits can count");
  EXPECT_EQ(extents.row_major_strides(), (Extents{std::int64_t{1} << 34, 16, 1}));
}

TEST(ExtentsTest, compare_by_rank_and_values) {
  EXPECT_EQ((Extents{2, 3}), (Extents{2, 3}));
  EXPECT_NE((Extents{2, 3}), (Extents{3, 2}));
  EXPECT_NE((Extents{2, 3}), (Extents{2, 3, 1}));
  EXPECT_NE(Extents{}, (Extents{0}));
}

TEST(ExtentsTest, have_at_most_8_axes) {
  EXPECT_EQ((Extents{1, 2, 3, 4, 5, 6, 7, 8}).rank(), 8);
  expect_error([] { Extents({1, 2, 3, 4, 5, 6, 7, 8, 9}); }, "portops::Extents: 9 axes given, expected at most 8");
  const std::vector<std::int64_t> many(100, 1);
  expect_error([&] { Extents{std::span(many)}; }, "portops::Extents: 100 axes given, expected at most 8");
  EXPECT_EQ(Extents::of_rank(8), (Extents{0, 0, 0, 0, 0, 0, 0, 0}));
  expect_error([] { Extents::of_rank(9); }, "portops::Extents: 9 axes given, expected 0 to 8");
  expect_error([] { Extents::of_rank(-1); }, "portops::Extents: -1 axes given, expected 0 to 8");
}

TEST(TensorRefTest, is_empty_at_first) {
  const TensorRef none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(none.has_data());
  EXPECT_EQ(none.data(), nullptr);
}

TEST(TensorRefTest, is_made_from_a_pointer_contiguous) {
  float data[6];
  const TensorRef tensor(data, {2, 3});
  EXPECT_TRUE(tensor);
  EXPECT_TRUE(tensor.has_data());
  EXPECT_FALSE(tensor.read_only());
  EXPECT_EQ(tensor.data(), data);
  EXPECT_EQ(tensor.type(), ElementType::f32);
  EXPECT_EQ(tensor.space(), MemorySpace::host);
  EXPECT_EQ(tensor.rank(), 2);
  EXPECT_EQ(tensor.size(), 6);
  EXPECT_EQ(tensor.extents(), (Extents{2, 3}));
  EXPECT_EQ(tensor.strides(), (Extents{3, 1}));
  EXPECT_EQ(tensor.extent(1), 3);
  EXPECT_EQ(tensor.stride(0), 3);
}

TEST(TensorRefTest, keeps_strides_and_memory_space) {
  double data[6];
  const TensorRef tensor(data + 5, {3, 2, 1}, {-2, 0, 77}, MemorySpace::cuda_managed);
  EXPECT_EQ(tensor.strides(), (Extents{-2, 0, 77}));
  EXPECT_EQ(tensor.space(), MemorySpace::cuda_managed);
  EXPECT_EQ(tensor.type(), ElementType::f64);
  EXPECT_EQ(tensor.size(), 6);
}

TEST(TensorRefTest, knows_all_element_types) {
  f16 half{};
  bf16 brain{};
  const OwnHalf own{};
  EXPECT_EQ(TensorRef(&half, {}).type(), ElementType::f16);
  EXPECT_EQ(TensorRef(&brain, {}).type(), ElementType::bf16);
  EXPECT_EQ(TensorRef(&own, {}).type(), ElementType::bf16);
  EXPECT_EQ(TensorRef(&half, ElementType::bf16, {}, {}, MemorySpace::host).type(), ElementType::bf16);
}

TEST(TensorRefTest, of_const_elements_is_read_only) {
  const float data[2] = {};
  float writable[2];
  EXPECT_TRUE(TensorRef(data, {2}).read_only());
  EXPECT_TRUE(TensorRef(data, {2}, {1}).read_only());
  EXPECT_TRUE(TensorRef(writable, ElementType::f32, {2}, {1}, MemorySpace::host, true).read_only());
  EXPECT_FALSE(TensorRef(writable, ElementType::f32, {2}, {1}, MemorySpace::host).read_only());
}

TEST(TensorRefTest, has_as_many_strides_as_extents_and_no_negative_extent) {
  float data[6];
  expect_error([&] { TensorRef(data, {2, 3}, {1}); },
               "portops::TensorRef: 1 strides given for extents [2, 3], expected 2");
  expect_error([&] { TensorRef(data, {2, -3}); }, "portops::TensorRef: extents [2, -3] given, expected none negative");
  expect_error([&] { TensorRef::without_data(ElementType::f32, {-1}); },
               "portops::TensorRef: extents [-1] given, expected none negative");
}

TEST(TensorRefTest, without_elements_is_a_tensor_all_the_same) {
  const TensorRef tensor(static_cast<float*>(nullptr), {3, 0});
  EXPECT_TRUE(tensor);
  EXPECT_FALSE(tensor.has_data());
  EXPECT_EQ(tensor.size(), 0);
}

TEST(TensorRefTest, without_data_has_extents_only) {
  const TensorRef tensor = TensorRef::without_data(ElementType::bf16, {4, 5});
  EXPECT_TRUE(tensor);
  EXPECT_FALSE(tensor.has_data());
  EXPECT_EQ(tensor.type(), ElementType::bf16);
  EXPECT_EQ(tensor.extents(), (Extents{4, 5}));
}

TEST(TensorRefTest, is_made_from_what_has_an_adapter_and_from_nothing_else) {
  const double data[6] = {};
  const TensorRef tensor = Matrix{data, 2, 3};
  EXPECT_EQ(tensor.data(), data);
  EXPECT_EQ(tensor.extents(), (Extents{2, 3}));
  EXPECT_TRUE(tensor.read_only());

  static_assert(std::is_convertible_v<Matrix, TensorRef> && std::is_convertible_v<Matrix, TensorOrNumber>);
  static_assert(!std::is_convertible_v<Unrelated, TensorRef> && !std::is_convertible_v<Unrelated, TensorOrNumber>);
  static_assert(!std::is_convertible_v<float*, TensorRef> && !std::is_convertible_v<double, TensorRef>);
  static_assert(std::is_constructible_v<TensorRef, f16*, Extents>);
  static_assert(!std::is_constructible_v<TensorRef, int*, Extents>);
  static_assert(!std::is_constructible_v<TensorRef, std::uint16_t*, Extents>);
  static_assert(!std::is_constructible_v<TensorRef, std::complex<float>*, Extents>);
}

TEST(TensorOrNumberTest, is_a_number_or_a_tensor) {
  const TensorOrNumber number = 0.3;
  EXPECT_FALSE(number.is_tensor());
  EXPECT_EQ(number.number(), 0.3);
  EXPECT_FALSE(number.tensor());
  for (const TensorOrNumber& zero : {TensorOrNumber(0), TensorOrNumber(0.0f)}) {
    EXPECT_FALSE(zero.is_tensor());
    EXPECT_EQ(zero.number(), 0.0);
  }

  float data[6];
  const TensorRef tensor(data, {6});
  const TensorOrNumber weight = tensor;
  EXPECT_TRUE(weight.is_tensor());
  EXPECT_EQ(weight.tensor().data(), data);
  const double elements[6] = {};
  const TensorOrNumber matrix = Matrix{elements, 2, 3};
  EXPECT_TRUE(matrix.is_tensor());
  EXPECT_EQ(matrix.tensor().extents(), (Extents{2, 3}));
}

TEST(MemorySpaceTest, has_names) {
  EXPECT_EQ(name_of(MemorySpace::host), "host");
  EXPECT_EQ(name_of(MemorySpace::cuda), "cuda");
  EXPECT_EQ(name_of(MemorySpace::cuda_pinned), "cuda_pinned");
  EXPECT_EQ(name_of(MemorySpace::cuda_managed), "cuda_managed");
}

TEST(ContextTest, has_an_instance_and_the_options_of_a_call) {
  for (const Backend backend : enabled_backends()) {
    Context ctx(backend);
    EXPECT_EQ(ctx.backend(), backend);
    EXPECT_NE(ctx.instance(), nullptr);
    EXPECT_FALSE(ctx.deterministic());
    EXPECT_EQ(ctx.math(), Math::ieee);
    EXPECT_EQ(ctx.products(), Products::automatic);
    EXPECT_EQ(ctx.workspace().data, nullptr);
    std::byte memory[1];
    ctx.deterministic(true).math(Math::tf32).products(Products::kokkos_kernels).workspace({memory, 1});
    const Context copied = ctx;
    EXPECT_TRUE(copied.deterministic());
    EXPECT_EQ(copied.math(), Math::tf32);
    EXPECT_EQ(copied.products(), Products::kokkos_kernels);
    EXPECT_EQ(copied.workspace().data, memory);
    EXPECT_EQ(copied.workspace().bytes, 1u);
    EXPECT_EQ(copied.instance(), ctx.instance());
    ctx.fence();
  }
}

TEST(ContextTest, of_a_backend_that_is_not_in_the_build_is_refused) {
  const std::vector<Backend> enabled = enabled_backends();
  std::string names;
  for (const Backend backend : enabled) names += (names.empty() ? "" : ", ") + std::string(name_of(backend));
  for (const Backend backend : {Backend::serial, Backend::openmp, Backend::cuda}) {
    if (std::find(enabled.begin(), enabled.end(), backend) != enabled.end()) continue;
    expect_error([&] { Context{backend}; },
                 "portops::Context: this build has no backend " + std::string(name_of(backend)) + ", only " + names);
  }
}

TEST(RuntimeTest, lists_the_devices_of_all_backends) {
  const std::vector<Device> found = devices();
  const std::vector<Backend> enabled = enabled_backends();
  ASSERT_EQ(found.size(), enabled.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].backend, enabled[i]);
    EXPECT_FALSE(found[i].name.empty());
    EXPECT_GE(found[i].concurrency, 1);
    EXPECT_GT(found[i].memory_bytes, 1u << 20);
  }
}

TEST(RuntimeTest, leaves_an_initialised_kokkos_as_it_is) {
  {
    const Runtime inner;
  }
  EXPECT_NO_THROW(Context{enabled_backends().front()});
}

}  // namespace
}  // namespace test
}  // namespace portops
