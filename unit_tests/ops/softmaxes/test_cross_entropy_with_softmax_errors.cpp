// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cross_entropy_reference.hpp"

#include <array>

// The calls of cross_entropy_with_softmax and its gradient that are refused.

namespace portops::test {
namespace {

class CrossEntropyWithSoftmaxErrorTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(CrossEntropyWithSoftmaxErrorTest);

TEST_P(CrossEntropyWithSoftmaxErrorTest, classes_that_there_are_not_or_nan) {
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
    const CrossEntropyCase call{{3, 5}, {false, -100, 1, "none"}, {}, {}, {}};
    CrossEntropyTensors<float> at(ctx, call, Layout::contiguous, Layout::contiguous);
    at.logits.fill_randomly(1);
    at.label.fill([](std::int64_t) { return 0; });
    cross_entropy_with_softmax(ctx, at.logits, at.label, at.loss, at.log_sum_exp, at.count, call.params);
    TestTensor<std::int64_t> bad(ctx, {3});
    copy(ctx, TensorRef(std::array<std::int64_t, 3>{0, wrong, -100}.data(), {3}), bad);
    ctx.fence();
    const auto forward = [&] {
      cross_entropy_with_softmax(ctx, at.logits, bad, at.loss, at.log_sum_exp, at.count, call.params);
    };
    const auto backward = [&] {
      cross_entropy_with_softmax_grad(ctx, at.logits, bad, at.log_sum_exp, at.count, at.loss_grad, at.logits_grad,
                                      call.params);
    };
    if (ctx.backend() != Backend::cuda) {
      const std::string expected = "label[1] is " + std::to_string(wrong) +
                                   ", expected at least 0 and less than 5 (the classes), or ignore_index, -100";
      expect_error(forward, "portops::cross_entropy_with_softmax: " + expected);
      expect_error(backward, "portops::cross_entropy_with_softmax_grad: " + expected);
      continue;
    }
    forward();
    backward();
    at.loss.download();
    at.logits_grad.download();
    for (std::int64_t r = 0; r < 3; ++r) EXPECT_EQ(std::isnan(at.loss[r]), r == 1);
    for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(std::isnan(at.logits_grad[i]), i / 5 == 1);
  }
}

TEST_P(CrossEntropyWithSoftmaxErrorTest, wrong_calls) {
  TestTensor<float> logits(ctx, {3, 4}), loss(ctx, {}), losses(ctx, {3}), none(ctx, {3, 0});
  TestTensor<std::int64_t> label(ctx, {3}), row(ctx, {4}), count(ctx, {});
  TestTensor<double> exponents(ctx, {3});
  label.fill([](std::int64_t) { return 0; });
  const auto forward = [&](const TensorRef& x, const TensorRef& its, const TensorRef& out,
                           const CrossEntropyWithSoftmaxParams& params, const std::string& message) {
    expect_error([&] { cross_entropy_with_softmax(ctx, x, its, out, exponents, count, params); },
                 "portops::cross_entropy_with_softmax: " + message);
  };
  forward(logits, label, loss, {.axis = 2}, "axis is 2, expected -2 to 1 (logits has rank 2)");
  forward(logits, label, loss, {.reduction = "max"}, "reduction is 'max', expected mean, sum or none");
  forward(logits, row, loss, {}, "label has extents [4], expected [3] (the extents of logits without axis 1)");
  forward(logits, label, loss, {.soft_label = true},
          "label has element type i64, expected f32 (the element type of logits)");
  forward(logits, losses, loss, {}, "label has element type f32, expected i64");
  forward(logits, losses, loss, {.soft_label = true}, "label has extents [3], expected [3, 4] (the extents of logits)");
  forward(logits, label, losses, {}, "loss has extents [3], expected [] (one number for the reduction mean)");
  forward(logits, label, loss, {.reduction = "none"},
          "loss has extents [], expected [3] (the extents of logits without axis 1)");
  forward(none, label, loss, {}, "logits has extents [3, 0], expected a class or more along axis -1");
  forward({}, label, loss, {}, "logits is empty, expected a tensor");
  TestTensor<float> grad(ctx, {3, 4});
  const auto backward = [&](const TensorRef& counts, const TensorRef& to, const std::string& message) {
    expect_error([&] { cross_entropy_with_softmax_grad(ctx, logits, label, exponents, counts, loss, to); },
                 "portops::cross_entropy_with_softmax_grad: " + message);
  };
  backward({}, grad, "count is empty, expected a tensor");
  backward(count, losses, "logits_grad has extents [3], expected [3, 4] (the extents of logits)");
  EXPECT_NO_THROW(cross_entropy_with_softmax_grad(ctx, logits, label, exponents, count, loss, {}));
}

}  // namespace
}  // namespace portops::test
