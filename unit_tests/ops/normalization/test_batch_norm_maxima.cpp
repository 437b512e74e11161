// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/program_call.hpp"
#include "support/support.hpp"

#include <portops/ops/batch_norm.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>

#include <cmath>
#include <limits>

// batch_norm and its gradient where a program takes maxima of windows of the result: beside the plain calls.

namespace portops::test {
namespace {

struct Windows {
  std::int64_t images, channels, rows, columns;
  int side;
  bool ceil_mode = false;

  Pool2dParams pool() const {
    const std::int64_t before = side - 2;
    return {.kernel_size = {side, side}, .stride = {2, 2}, .padding = {before, before}, .ceil_mode = ceil_mode};
  }
  std::int64_t windows(std::int64_t extent) const {
    const std::int64_t reach = extent + 2 * (side - 2) - side;
    return (ceil_mode ? (reach + 1) / 2 : reach / 2) + 1;
  }
};

/// Images whose channels are neighbours.
template <class T>
class Images {
 public:
  Images(const Context& ctx, const Windows& w, std::int64_t rows, std::int64_t columns)
      : tensor_(ctx, {w.images, rows, columns, w.channels}) {}

  operator TensorRef() const {  // NOLINT: implicit for brevity in the tests
    const TensorRef lies = tensor_;
    const auto turned = [](const Extents& all) { return Extents{all[0], all[3], all[1], all[2]}; };
    return {lies.data(), lies.type(), turned(lies.extents()), turned(lies.strides()), lies.space()};
  }
  TestTensor<T>& tensor() { return tensor_; }

 private:
  TestTensor<T> tensor_;
};

template <class T>
struct Call {
  Call(const Context& context, const Windows& windows, bool relu)
      : ctx(context),
        w(windows),
        has_relu(relu),
        x(ctx, w, w.rows, w.columns),
        out(ctx, w, w.rows, w.columns),
        maxima(ctx, w, w.windows(w.rows), w.windows(w.columns)),
        index(ctx, w, w.windows(w.rows), w.windows(w.columns)),
        expected(ctx, w, w.windows(w.rows), w.windows(w.columns)),
        out_grad(ctx, w, w.windows(w.rows), w.windows(w.columns)),
        taps(ElementType::i64, {expected.tensor().size()}, default_memory_space(ctx.backend())) {
    for (TestTensor<float>* each : {&mean, &variance, &scale, &bias, &saved_mean, &saved_inv_std}) {
      *each = TestTensor<float>(ctx, {w.channels});
    }
    // Few different numbers: windows have several largest pixels.
    Random random(3);
    x.tensor().fill([&](std::int64_t) { return std::floor(random.uniform(-3.0, 4.0)); });
    out_grad.tensor().fill_randomly(4);
    mean.fill_randomly(5);
    variance.fill_randomly(6, 0.5, 2.0);
    scale.fill_randomly(7, -1.5, 1.5);
    bias.fill_randomly(8);
    params = {.scale = scale, .bias = bias};
  }

  impl::ProgramCall program(const TensorRef& values) const {
    return {.bounds = has_relu ? impl::Bounds{.min = 0.0} : impl::Bounds{},
            .is_behind_relu = has_relu,
            .maxima = {.side = w.side, .values = values, .taps = static_cast<std::uint8_t*>(taps.ref().data())}};
  }
  void norm() { batch_norm(ctx, x, mean, variance, out, saved_mean, saved_inv_std, {}, {}, params); }

  void expect_forward() {
    norm();
    pool2d(ctx, out, expected, index, w.pool());
    if (has_relu) relu(ctx, expected, expected);
    out.tensor().fill([](std::int64_t) { return -7.0; });  // which is not written
    {
      const impl::ProgramCall call = program(maxima);
      const impl::ProgramCallScope scope(call);
      norm();
    }
    for (Images<T>* each : {&out, &maxima, &expected}) each->tensor().download();
    index.tensor().download();
    const Tensor host(taps.ref().type(), taps.ref().extents());
    copy(ctx, taps, host);
    ctx.fence();
    const auto* const found = host.data<std::uint8_t>();
    const std::int64_t across = w.windows(w.columns), before = w.side - 2;
    for (std::int64_t i = 0; i < expected.tensor().size(); ++i) {
      const double is = maxima.tensor()[i], was = expected.tensor()[i];
      if (std::isnan(was) ? !std::isnan(is) : is != was) {
        ADD_FAILURE() << what() << " maximum " << i << " is " << is << ", expected " << was;
        return;
      }
      const std::int64_t window = i / w.channels, tap = found[i];
      const std::int64_t row = 2 * (window / across % w.windows(w.rows)) - before + tap / w.side;
      const std::int64_t column = 2 * (window % across) - before + tap % w.side;
      ASSERT_EQ(row * w.columns + column, index.tensor().element(i)) << what() << " index " << i;
    }
    for (std::int64_t i = 0; i < out.tensor().size(); ++i) ASSERT_EQ(out.tensor()[i], -7.0) << what();
  }

  /// With the gradients of what expect_forward() has left.
  void expect_backward() {
    Images<T> pooled(ctx, w, w.rows, w.columns), was(ctx, w, w.rows, w.columns), is(ctx, w, w.rows, w.columns);
    Images<T> passed(ctx, w, w.windows(w.rows), w.windows(w.columns));
    TestTensor<float> scale_was(ctx, {w.channels}), bias_was(ctx, {w.channels});
    TestTensor<float> scale_is(ctx, {w.channels}), bias_is(ctx, {w.channels});
    Pool2dParams pool = w.pool();
    pool.index = index;
    if (has_relu) relu_grad(ctx, expected, out_grad, passed);
    pool2d_grad(ctx, out, has_relu ? passed : out_grad, pooled, pool);
    batch_norm_grad(ctx, x, saved_mean, saved_inv_std, pooled, was, scale_was, bias_was, params);
    {
      const impl::ProgramCall call = program(out_grad);
      const impl::ProgramCallScope scope(call);
      // Without relu nobody reads the elements of the bias, which a program then has no more.
      BatchNormParams of_program = params;
      if (!has_relu) of_program.bias = TensorRef::without_data(ElementType::f32, {w.channels});
      batch_norm_grad(ctx, x, saved_mean, saved_inv_std, out, is, scale_is, bias_is, of_program);
    }
    // Sums in another order, and of windows with pixels in common a number less that is rounded.
    const double step = std::is_same_v<T, float> ? 1e-6 : std::is_same_v<T, f16> ? 0x1p-10 : 0x1p-7;
    const double of_sums = w.side == 2 ? 1e-6 : step;
    const auto windows = static_cast<double>(w.images * w.windows(w.rows) * w.windows(w.columns));
    expect_close(was.tensor(), is.tensor(), 2.0 * step, 1.0, "x_grad");
    expect_close(scale_was, scale_is, of_sums, windows, "scale_grad");
    expect_close(bias_was, bias_is, of_sums, windows, "bias_grad");
  }

  /// Of sums of so many numbers around 1.
  template <class E>
  void expect_close(TestTensor<E>& was, TestTensor<E>& is, double tolerance, double terms, const char* name) {
    was.download();
    is.download();
    for (std::int64_t i = 0; i < was.size(); ++i) {
      const double error = std::abs(is[i] - was[i]), allowed = tolerance * (std::abs(was[i]) + terms);
      if (!(error <= allowed)) {
        ADD_FAILURE() << what() << " " << name << " " << i << " is " << is[i] << ", expected " << was[i];
        return;
      }
    }
  }
  std::string what() const {
    return std::to_string(w.images) + " " + std::to_string(w.channels) + " " + std::to_string(w.rows) + " " +
           std::to_string(w.columns) + (has_relu ? " relu, side " : ", side ") + std::to_string(w.side);
  }

  Context ctx;
  Windows w;
  bool has_relu;
  Images<T> x, out, maxima;
  Images<std::int64_t> index;
  Images<T> expected, out_grad;
  Tensor taps;
  TestTensor<float> mean, variance, scale, bias, saved_mean, saved_inv_std;
  BatchNormParams params;
};

class BatchNormMaximaTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    OnEveryBackend::SetUp();
    if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "programs join maxima on GPUs alone";
  }
  template <class Action>
  void for_each_call(const Action& action) {
    for_each_type([&]<class T>() {
      if constexpr (sizeof(T) < sizeof(double)) {
        for (const Windows& w :
             {Windows{3, 16, 6, 8, 2}, Windows{2, 8, 7, 9, 2}, Windows{2, 24, 7, 5, 2, true}, Windows{1, 40, 2, 4, 2},
              Windows{40, 64, 28, 28, 2}, Windows{3, 16, 6, 8, 3}, Windows{2, 8, 7, 9, 3}, Windows{2, 8, 6, 9, 3, true},
              Windows{5, 136, 1, 3, 3}, Windows{9, 64, 56, 30, 3}}) {
          for (const bool has_relu : {false, true}) {
            Call<T> call(ctx, w, has_relu);
            action(call);
          }
        }
      }
    });
  }
};

PORTOPS_ON_EVERY_BACKEND(BatchNormMaximaTest);

TEST_P(BatchNormMaximaTest, equal_those_of_plain_calls) {
  for_each_call([](auto& call) { call.expect_forward(); });
}

TEST_P(BatchNormMaximaTest, gradients_are_those_of_plain_calls) {
  for_each_call([](auto& call) {
    call.expect_forward();
    call.expect_backward();
  });
}

// Without scale or bias, and with a bias of every other number.
TEST_P(BatchNormMaximaTest, parameters_may_be_missing_or_lie_apart) {
  need_type<float>();
  for (const int kind : {0, 1, 2}) {
    Call<float> call(ctx, {2, 8, 6, 8, 2}, true);
    TestTensor<float> apart(ctx, {8}, Layout::every_other);
    apart.fill_randomly(9);
    if (kind != 1) call.params.scale = {};
    if (kind != 0) call.params.bias = kind == 1 ? TensorRef() : apart.ref();
    call.expect_forward();
  }
}

// NaN is the largest; where nothing is larger than −∞, the first pixel counts.
TEST_P(BatchNormMaximaTest, of_numbers_that_are_none) {
  need_type<float>();
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const int side : {2, 3}) {
    Call<float> call(ctx, {2, 8, 7, 8, side}, false);
    call.params.is_test = true;
    Random random(11);
    const std::array<double, 4> numbers{-infinity, infinity, nan, 0.5};
    call.x.tensor().fill([&](std::int64_t i) {
      return i < 4 * 8 * 8 ? -infinity : numbers[static_cast<std::size_t>(random.uniform(0.0, 4.0))];
    });
    call.scale.fill([](std::int64_t) { return 1.5; });
    call.expect_forward();
  }
}

}  // namespace
}  // namespace portops::test
