// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/ops/lerp.hpp>

#include <algorithm>

// Every wrong call is refused with a message that names what was found and what was expected.

namespace portops::test {
namespace {

class LerpErrorTest : public OnEveryBackend {
 protected:
  TestTensor<float> a{ctx, {3, 4}}, b{ctx, {3, 4}}, c{ctx, {3, 4}}, d{ctx, {3, 4}}, e{ctx, {3, 4}}, f{ctx, {3, 4}};
};

PORTOPS_ON_EVERY_BACKEND(LerpErrorTest);

TEST_P(LerpErrorTest, extents_that_do_not_broadcast) {
  TestTensor<float> y(ctx, {5});
  expect_error(
      [&] { lerp(ctx, a, y, 0.5, c); },
      "portops::lerp: the extents x [3, 4], y [5], weight [] do not broadcast; aligned at the last axis, extents "
      "must be equal or 1");
}

TEST_P(LerpErrorTest, output_of_other_extents) {
  TestTensor<float> out(ctx, {3, 1});
  expect_error([&] { lerp(ctx, a, b, 0.5, out); },
               "portops::lerp: out has extents [3, 1], expected [3, 4] (what x, y and weight broadcast to)");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, out, c, {}); },
               "portops::lerp_grad: out_grad has extents [3, 1], expected [3, 4] (what x, y and weight broadcast to)");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, c, out, {}); },
               "portops::lerp_grad: x_grad has extents [3, 1], expected [3, 4] (the extents of x)");
  TestTensor<float> y(ctx, {3, 1});
  expect_error([&] { lerp_grad(ctx, a, y, 0.5, c, {}, d); },
               "portops::lerp_grad: y_grad has extents [3, 4], expected [3, 1] (the extents of y)");
}

TEST_P(LerpErrorTest, mixed_element_types) {
  TestTensor<double> wide(ctx, {3, 4});
  TestTensor<bf16> narrow(ctx, {3, 4});
  expect_error([&] { lerp(ctx, a, wide, 0.5, c); },
               "portops::lerp: y has element type f64, expected f32 (the element type of x)");
  expect_error([&] { lerp(ctx, a, b, narrow, c); },
               "portops::lerp: weight has element type bf16, expected f32 (the element type of x)");
  expect_error([&] { lerp(ctx, a, b, 0.5, wide); },
               "portops::lerp: out has element type f64, expected f32 (the element type of x)");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, c, narrow, {}); },
               "portops::lerp_grad: x_grad has element type bf16, expected f32 (the element type of out_grad)");
}

TEST_P(LerpErrorTest, indices_are_no_operands) {
  TestTensor<std::int64_t> indices(ctx, {3, 4}), more(ctx, {3, 4});
  expect_error([&] { lerp(ctx, indices, more, 0.5, c); },
               "portops::lerp: x has element type i64, expected f64, f32, f16 or bf16");
  expect_error([&] { lerp(ctx, a, indices, 0.5, c); },
               "portops::lerp: y has element type i64, expected f32 (the element type of x)");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, indices, c, d); },
               "portops::lerp_grad: out_grad has element type i64, expected f64, f32, f16 or bf16");
}

TEST_P(LerpErrorTest, memory_that_the_backend_cannot_reach) {
  float elements[12] = {};
  const bool on_device = ctx.backend() == Backend::cuda;
  const TensorRef elsewhere(elements, {3, 4}, on_device ? MemorySpace::host : MemorySpace::cuda);
  const std::string backend(name_of(ctx.backend()));
  expect_error([&] { lerp(ctx, elsewhere, b, 0.5, c); },
               "portops::lerp: x lies in " + std::string(name_of(elsewhere.space())) +
                   " memory, which the context's backend " + backend + " cannot reach");
  expect_error([&] { lerp(ctx, a, b, 0.5, elsewhere); },
               "portops::lerp: out lies in " + std::string(name_of(elsewhere.space())) +
                   " memory, which the context's backend " + backend + " cannot reach");
}

TEST_P(LerpErrorTest, overlapping_outputs) {
  expect_error([&] { lerp(ctx, a, b, 0.5, b); }, "portops::lerp: out overlaps y in memory, expected disjoint tensors");
  expect_error([&] { lerp(ctx, a, b, c, c); },
               "portops::lerp: out overlaps weight in memory, expected disjoint tensors");
  const TensorRef front(a.ref().data(), ElementType::f32, {2, 4}, {4, 1}, a.ref().space());
  const TensorRef back(static_cast<float*>(a.ref().data()) + 4, {2, 4}, a.ref().space());
  expect_error(
      [&] { lerp(ctx, front, TestTensor<float>(ctx, {2, 4}), 0.5, back); },
      "portops::lerp: out overlaps x in memory, expected disjoint tensors or the same one (address, extents and "
      "strides)");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, c, c, {}); },
               "portops::lerp_grad: x_grad overlaps out_grad in memory, expected disjoint tensors");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, c, d, d); },
               "portops::lerp_grad: x_grad overlaps y_grad in memory, expected disjoint tensors");
}

TEST_P(LerpErrorTest, interleaved_tensors_do_not_overlap) {
  TestTensor<float> storage(ctx, {3, 8});
  auto* data = static_cast<float*>(storage.ref().data());
  const TensorRef left(data, {3, 4}, {8, 1}, storage.ref().space());
  const TensorRef right(data + 4, {3, 4}, {8, 1}, storage.ref().space());
  EXPECT_NO_THROW(lerp(ctx, left, b, 0.5, right));
  ctx.fence();
}

TEST_P(LerpErrorTest, broadcast_and_const_outputs) {
  const TensorRef broadcast(c.ref().data(), ElementType::f32, {3, 4}, {0, 1}, c.ref().space());
  expect_error([&] { lerp(ctx, a, b, 0.5, broadcast); },
               "portops::lerp: out is an output, but with extents [3, 4] and strides [0, 1] some of its elements share "
               "an address");
  const TensorRef constant(static_cast<const float*>(c.ref().data()), {3, 4}, c.ref().space());
  expect_error([&] { lerp(ctx, a, b, 0.5, constant); }, "portops::lerp: out is an output, but its elements are const");
}

TEST_P(LerpErrorTest, missing_tensors) {
  expect_error([&] { lerp(ctx, {}, b, 0.5, c); }, "portops::lerp: x is empty, expected a tensor");
  expect_error([&] { lerp(ctx, a, b, 0.5, {}); }, "portops::lerp: out is empty, expected a tensor");
  expect_error([&] { lerp(ctx, a, b, TensorRef(), c); }, "portops::lerp: weight is empty, expected a tensor");
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, {}, c, {}); },
               "portops::lerp_grad: out_grad is empty, expected a tensor");
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 4});
  expect_error([&] { lerp(ctx, shape, b, 0.5, c); }, "portops::lerp: x has no data, but its elements are needed");
  expect_error([&] { lerp_grad(ctx, shape, b, c, d, {}, {}, e); },
               "portops::lerp_grad: x has no data, but its elements are needed");
}

TEST_P(LerpErrorTest, misaligned_address) {
  const TensorRef misaligned(static_cast<char*>(a.ref().data()) + 2, ElementType::f32, {2}, {1}, a.ref().space());
  expect_error([&] { lerp(ctx, misaligned, misaligned, 0.5, c); },
               "portops::lerp: the address of x is not a multiple of its element size, 4");
}

TEST_P(LerpErrorTest, gradient_of_a_number) {
  expect_error([&] { lerp_grad(ctx, a, b, 0.5, c, {}, {}, d); },
               "portops::lerp_grad: weight_grad is given, but weight is a number and has no gradient");
}

TEST_P(LerpErrorTest, a_refused_call_changes_nothing) {
  c.fill([](std::int64_t) { return 7.0; });
  TestTensor<float> y(ctx, {5});
  EXPECT_THROW(lerp(ctx, a, y, 0.5, c), Error);
  c.download();
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c[i], 7.0);
}

TEST(ContextError, backend_that_is_not_compiled_in) {
  for (const Backend backend : {Backend::serial, Backend::openmp, Backend::cuda}) {
    const auto enabled = enabled_backends();
    if (std::find(enabled.begin(), enabled.end(), backend) != enabled.end()) continue;
    EXPECT_THROW(Context{backend}, Error) << name_of(backend);
  }
}

}  // namespace
}  // namespace portops::test
