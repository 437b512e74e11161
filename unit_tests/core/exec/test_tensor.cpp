// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/config.hpp>

#include <numeric>

namespace portops::test {
namespace {

/// The memory spaces of this build.
std::vector<MemorySpace> memory_spaces() {
#if defined(PORTOPS_HAS_CUDA)
  return {MemorySpace::host, MemorySpace::cuda, MemorySpace::cuda_pinned, MemorySpace::cuda_managed};
#else
  return {MemorySpace::host};
#endif
}

TEST(TensorTest, owns_contiguous_elements_of_every_type) {
  for (const MemorySpace space : memory_spaces()) {
    for_each_type([&]<class T>() {
      const Tensor tensor(ElementTypeOf<T>::value, {3, 4}, space);
      EXPECT_TRUE(tensor.ref());
      EXPECT_NE(tensor.data<T>(), nullptr);
      EXPECT_EQ(tensor.ref().data(), tensor.data<T>());
      EXPECT_EQ(tensor.ref().type(), ElementTypeOf<T>::value);
      EXPECT_EQ(tensor.ref().space(), space);
      EXPECT_EQ(tensor.ref().extents(), (Extents{3, 4}));
      EXPECT_EQ(tensor.ref().strides(), (Extents{4, 1}));
      EXPECT_FALSE(tensor.ref().read_only());
    });
  }
}

TEST(TensorTest, is_empty_at_first) {
  const Tensor none;
  EXPECT_FALSE(none.ref());
}

TEST(TensorTest, shares_its_elements_with_its_copies) {
  Tensor copied;
  {
    const Tensor tensor(ElementType::f32, {2});
    tensor.data<float>()[1] = 7.0f;
    copied = tensor;
    EXPECT_EQ(copied.data<float>(), tensor.data<float>());
  }
  EXPECT_EQ(copied.data<float>()[1], 7.0f);
}

TEST(TensorTest, may_have_no_elements) {
  for (const MemorySpace space : memory_spaces()) {
    const Tensor tensor(ElementType::f64, {4, 0}, space);
    EXPECT_TRUE(tensor.ref());
    EXPECT_EQ(tensor.ref().size(), 0);
  }
}

TEST(TensorTest, that_is_too_large_is_refused) {
  expect_error([] { Tensor(ElementType::f64, {1 << 20, 1 << 30}); },
               "portops::Tensor: cannot allocate 9007199254740992 bytes of host memory");
  // 2^61 elements of 8 bytes, and 2^64 elements: neither number of bytes can be counted in 64 bits.
  expect_error([] { Tensor(ElementType::f64, {1 << 30, 1 << 30, 2}); },
               "portops::Tensor: extents [1073741824, 1073741824, 2] are more than memory can hold");
  expect_error([] { Tensor(ElementType::f32, {1 << 30, 1 << 30, 16}); },
               "portops::Extents: [1073741824, 1073741824, 16] has more elements than 64 bits can count");
}

TEST(TensorTest, of_a_negative_extent_is_refused) {
  expect_error([] { Tensor(ElementType::f32, {2, -1}); },
               "portops::TensorRef: extents [2, -1] given, expected none negative");
  expect_error([] { Tensor(ElementType::f32, {-1, -1}); },
               "portops::TensorRef: extents [-1, -1] given, expected none negative");
}

TEST(TensorTest, in_memory_that_the_build_has_not_is_refused) {
  if (memory_spaces().size() > 1) GTEST_SKIP() << "this build has all memory spaces";
  expect_error([] { Tensor(ElementType::f32, {2}, MemorySpace::cuda); },
               "portops::Tensor: this build has no cuda memory");
  expect_error([] { Tensor(ElementType::f32, {2}, MemorySpace::cuda_managed); },
               "portops::Tensor: this build has no cuda_managed memory");
}

class CopyTest : public OnEveryBackend {
 protected:
  std::vector<float> numbered(std::size_t size) const {
    std::vector<float> result(size);
    std::iota(result.begin(), result.end(), 1.0f);
    return result;
  }
};
PORTOPS_ON_EVERY_BACKEND(CopyTest);

TEST_P(CopyTest, goes_between_all_memory_spaces_that_the_backend_reaches) {
  for (const MemorySpace from : memory_spaces()) {
    for (const MemorySpace to : memory_spaces()) {
      const bool needs_cuda = from == MemorySpace::cuda || to == MemorySpace::cuda;
      if (needs_cuda && ctx.backend() != Backend::cuda) continue;
      // Around the pieces in which hosts copy.
      for (const std::int64_t size : {1, 1000, 65535, 65536, 65537, 200001}) {
        const std::vector<float> source = numbered(static_cast<std::size_t>(size));
        std::vector<float> result(source.size() + 1, -1.0f);
        const Tensor a(ElementType::f32, {size}, from), b(ElementType::f32, {size}, to);
        // Through a context of the GPU, which reaches everything, where the backend does not reach host memory.
        copy(ctx, TensorRef(source.data(), {size}), a);
        copy(ctx, a, b);
        copy(ctx, b, TensorRef(result.data(), {size}));
        ctx.fence();
        EXPECT_TRUE(std::equal(source.begin(), source.end(), result.begin()))
            << size << " elements from " << name_of(from) << " to " << name_of(to);
        EXPECT_EQ(result.back(), -1.0f) << "written past the end";
      }
    }
  }
}

TEST_P(CopyTest, takes_any_element_type_rank_and_strides_that_do_not_matter) {
  const std::vector<float> x = numbered(6);
  std::vector<float> out(6);
  copy(ctx, TensorRef(x.data(), {1, 2, 1, 3}, {99, 3, -5, 1}), TensorRef(out.data(), {1, 2, 1, 3}));
  ctx.fence();
  EXPECT_EQ(out, x);
  const double from = 3.5;
  double to = 0.0;
  copy(ctx, TensorRef(&from, {}), TensorRef(&to, {}));
  ctx.fence();
  EXPECT_EQ(to, 3.5);
}

TEST_P(CopyTest, of_nothing_does_nothing) {
  const TensorRef none(static_cast<float*>(nullptr), {3, 0});
  EXPECT_NO_THROW(copy(ctx, none, none));
}

TEST_P(CopyTest, refuses_wrong_calls) {
  float a[12];
  float b[12];
  const double d[12] = {};
  const TensorRef x(a, {3, 4}), out(b, {3, 4});
  const auto expect = [&](const TensorRef& from, const TensorRef& to, const std::string& message) {
    expect_error([&] { copy(ctx, from, to); }, "portops::copy: " + message);
  };
  expect({}, out, "x is empty, expected a tensor");
  expect(x, {}, "out is empty, expected a tensor");
  expect(TensorRef(d, {3, 4}), out, "out is f32 [3, 4], expected f64 [3, 4] (as x)");
  expect(x, TensorRef(b, {4, 3}), "out is f32 [4, 3], expected f32 [3, 4] (as x)");
  expect(x, TensorRef(b, {12}), "out is f32 [12], expected f32 [3, 4] (as x)");
  expect(TensorRef(a, {3, 4}, {1, 3}), out, "x and out must be contiguous");
  expect(x, TensorRef(b, {3, 4}, {-4, 1}), "x and out must be contiguous");
  const float* constant = b;
  expect(x, TensorRef(constant, {3, 4}), "out is an output, but its elements are const");
  expect(x, x, "out overlaps x in memory, expected disjoint tensors");
  expect(TensorRef(a, {6}), TensorRef(a + 5, {6}), "out overlaps x in memory, expected disjoint tensors");
}

TEST_P(CopyTest, refuses_memory_that_the_backend_cannot_reach) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a GPU's backend copies from and to everywhere";
  float a[4];
  float b[4];
  const TensorRef host(a, {4}), device(b, {4}, MemorySpace::cuda);
  const std::string message =
      "portops::copy: the context's backend " + std::string(name_of(ctx.backend())) + " cannot reach cuda memory";
  expect_error([&] { copy(ctx, host, device); }, message);
  expect_error([&] { copy(ctx, device, host); }, message);
}

TEST_P(CopyTest, refuses_tensors_without_data) {
  float a[4];
  const TensorRef tensor(a, {4});
  const TensorRef without = TensorRef::without_data(ElementType::f32, {4});
  expect_error([&] { copy(ctx, without, tensor); }, "portops::copy: x has no data, but its elements are needed");
  expect_error([&] { copy(ctx, tensor, without); }, "portops::copy: out has no data, but its elements are needed");
}

}  // namespace
}  // namespace portops::test
