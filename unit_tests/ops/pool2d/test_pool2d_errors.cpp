// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/ops/pool2d.hpp>

// The calls of pool2d and pool2d_grad that are refused.

namespace portops::test {
namespace {

class Pool2dErrorTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(Pool2dErrorTest);

TEST_P(Pool2dErrorTest, wrong_calls) {
  TestTensor<float> x(ctx, {1, 2, 4, 6}), out(ctx, {1, 2, 2, 3}), x_grad(ctx, {1, 2, 4, 6}), plane(ctx, {4, 6});
  TestTensor<std::int64_t> index(ctx, {1, 2, 2, 3});
  const auto with = [](std::vector<std::int64_t> kernel_size, std::vector<std::int64_t> stride,
                       std::vector<std::int64_t> padding, const char* type = "max") {
    Pool2dParams params;
    params.kernel_size = std::move(kernel_size);
    params.stride = std::move(stride);
    params.padding = std::move(padding);
    params.pooltype = type;
    return params;
  };
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  const Pool2dParams good = with({2}, {}, {0}), average = with({2}, {}, {0}, "avg");
  EXPECT_NO_THROW(pool2d(ctx, x, out, index, good));
  refused([&] { pool2d(ctx, plane, out, {}, good); },
          "pool2d: x has extents [4, 6], expected four axes (images, channels, height, width)");
  refused([&] { pool2d(ctx, x, out, {}, with({2}, {}, {0}, "min")); },
          "pool2d: pooltype is 'min', expected max or avg");
  refused([&] { pool2d(ctx, x, out, {}, with({}, {}, {0})); },
          "pool2d: kernel_size is [], expected one or two positive numbers up to 2^40");
  refused([&] { pool2d(ctx, x, out, {}, with({2, 0}, {}, {0})); },
          "pool2d: kernel_size is [2, 0], expected one or two positive numbers up to 2^40");
  refused([&] { pool2d(ctx, x, out, {}, with({2}, {1, 2, 3}, {0})); },
          "pool2d: stride is [1, 2, 3], expected one or two positive numbers up to 2^40");
  refused([&] { pool2d(ctx, x, out, {}, with({2}, {}, {1, 0, 0})); },
          "pool2d: padding is [1, 0, 0], expected one, two or four numbers that are not negative");
  refused([&] { pool2d(ctx, x, out, {}, with({2}, {}, {-1})); },
          "pool2d: padding is [-1], expected one, two or four numbers that are not negative");
  refused([&] { pool2d(ctx, x, out, {}, with({2, 3}, {}, {1, 1, 1, 2})); },
          "pool2d: padding is [1, 1, 1, 2], expected at most half of kernel_size, [2, 3]");
  refused([&] { pool2d(ctx, x, x_grad, {}, good); },
          "pool2d: out has extents [1, 2, 4, 6], expected [1, 2, 2, 3] (the images and channels of x, and the windows "
          "down and across)");
  refused([&] { pool2d(ctx, x, out, index, average); }, "pool2d: index is given, but pooltype is avg, expected max");
  refused([&] { pool2d(ctx, x, out, out, good); }, "pool2d: index has element type f32, expected i64");
  refused([&] { pool2d(ctx, x, TestTensor<double>(ctx, {1, 2, 2, 3}), {}, good); },
          "pool2d: out has element type f64, expected f32 (the element type of x)");
  refused([&] { pool2d(ctx, {}, out, {}, good); }, "pool2d: x is empty, expected a tensor");
  const TensorRef inside(static_cast<float*>(x.ref().data()) + 5, {1, 2, 2, 3}, x.ref().space());
  refused([&] { pool2d(ctx, x, inside, {}, good); }, "pool2d: out overlaps x in memory, expected disjoint tensors");
  refused([&] { pool2d_grad(ctx, x, out, x_grad, good); },
          "pool2d_grad: index is not given, expected what pool2d wrote, as pooltype is max");
  refused([&] { pool2d_grad(ctx, x, plane, x_grad, average); },
          "pool2d_grad: out_grad has extents [4, 6], expected [1, 2, 2, 3] (the images and channels of x, and the "
          "windows down and across)");
  refused([&] { pool2d_grad(ctx, TensorRef::without_data(ElementType::f32, {1, 2, 4, 6}), inside, x, average); },
          "pool2d_grad: x_grad overlaps out_grad in memory, expected disjoint tensors");
  EXPECT_NO_THROW(pool2d_grad(ctx, x, out, {}, average));
  Pool2dParams with_index = good;
  with_index.index = index.ref();
  refused([&] { pool2d(ctx, x, out, {}, with_index); },
          "pool2d: params.index is given, but it is an input of the gradient alone");
}

}  // namespace
}  // namespace portops::test
