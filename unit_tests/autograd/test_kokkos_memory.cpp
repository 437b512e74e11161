// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"
#include "support/kokkos_events.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/checkpoint.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/sum.hpp>

// What a tape holds at a time is what one can work out on paper.

namespace portops::test {
namespace {

/// Counts the bytes of variables while it lives. There is one at a time.
class Meter {
 public:
  Meter() : before_(tools::get_callbacks()) {
    live_ = peak_ = 0;
    tools::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char* name, const void*, std::uint64_t bytes) {
          if (!is_of_variables(name)) return;
          live_ += static_cast<std::int64_t>(bytes);
          peak_ = std::max(peak_, live_);
        });
    tools::set_deallocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char* name, const void*, std::uint64_t bytes) {
          if (is_of_variables(name)) live_ -= static_cast<std::int64_t>(bytes);
        });
  }
  ~Meter() { tools::set_callbacks(before_); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  std::int64_t live() const { return live_; }
  /// Since the last call.
  std::int64_t peak() { return std::exchange(peak_, live_); }

 private:
  static bool is_of_variables(const char* name) {
    return std::string_view(name).find("portops::autograd::") != std::string_view::npos;
  }

  static inline std::int64_t live_ = 0;
  static inline std::int64_t peak_ = 0;
  tools::EventSet before_;
};

class AutogradMemoryTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<float>(); }

  static constexpr std::int64_t elements = 1000;
  static constexpr std::int64_t bytes = 4 * elements;
  static constexpr std::int64_t number = 4;  ///< the bytes of a loss, and of its gradient

  ag::Variable x{tensor_of(ctx, {elements}, std::vector<float>(elements, 0.5f)), ag::Gradient::wanted};
};

// Each silu keeps its x, and writes its gradient over that of its result.
TEST_P(AutogradMemoryTest, AChainThatKeepsItsInputs) {
  Meter meter;
  constexpr int length = 5;
  ag::Variable loss;
  {
    ag::Variable y = x;
    for (int i = 0; i < length; ++i) y = ag::silu(ctx, y);
    EXPECT_EQ(meter.peak(), length * bytes);
    loss = ag::sum(ctx, y);
  }
  EXPECT_EQ(meter.live(), (length - 1) * bytes + number);
  meter.peak();
  ag::backward(ctx, loss);
  EXPECT_EQ(meter.peak(), length * bytes + 2 * number);
  EXPECT_EQ(meter.live(), bytes + number);  // the gradient of x
}

// add keeps extents alone.
TEST_P(AutogradMemoryTest, AChainThatKeepsNothing) {
  Meter meter;
  ag::Variable y = x;
  for (int i = 0; i < 10; ++i) y = ag::add(ctx, y, 1);
  EXPECT_EQ(meter.peak(), 2 * bytes);
  const ag::Variable loss = ag::sum(ctx, y);
  y = {};
  EXPECT_EQ(meter.live(), number);
  meter.peak();
  ag::backward(ctx, loss);
  EXPECT_EQ(meter.peak(), bytes + 2 * number);
}

TEST_P(AutogradMemoryTest, KeepGraphKeeps) {
  Meter meter;
  ag::Variable loss = ag::sum(ctx, ag::silu(ctx, ag::silu(ctx, x)));
  ag::backward(ctx, loss, {.keep_graph = true});
  EXPECT_EQ(meter.live(), bytes + number + bytes);
  ag::backward(ctx, loss);
  EXPECT_EQ(meter.live(), bytes + number);
  x.clear_grad();
  loss = {};
  EXPECT_EQ(meter.live(), 0);
}

// Of a checkpoint the inputs alone, and while its gradients are computed what the calls inside keep.
TEST_P(AutogradMemoryTest, Checkpoints) {
  Meter meter;
  constexpr int segments = 4, length = 3;
  const ag::Segment segment = [](const Context& its, const std::vector<ag::Variable>& inputs) {
    ag::Variable y = inputs[0];
    for (int i = 0; i < length; ++i) y = ag::silu(its, y);
    return std::vector<ag::Variable>{y};
  };
  ag::Variable loss;
  {
    ag::Variable y = x;
    for (int i = 0; i < segments; ++i) y = ag::checkpoint(ctx, segment, {y})[0];
    loss = ag::sum(ctx, y);
  }
  EXPECT_EQ(meter.live(), (segments - 1) * bytes + number);
  meter.peak();
  ag::backward(ctx, loss);
  // The segments' inputs, the gradient, and what the last segment makes again, its result among it.
  EXPECT_EQ(meter.peak(), (segments - 1) * bytes + bytes + length * bytes + 1 * number);
  EXPECT_EQ(meter.live(), bytes + number);
}

TEST_P(AutogradMemoryTest, Views) {
  if (GetParam() == Backend::cuda) GTEST_SKIP() << "the elements are on the host";
  const Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> view("view", 2, 3);
  Kokkos::deep_copy(view, 2.0f);
  const ag::Variable a(view, ag::Gradient::wanted);
  EXPECT_EQ(a.tensor().extents(), (Extents{2, 3}));
  ag::backward(ctx, ag::sum(ctx, ag::add(ctx, a, view)));
  EXPECT_EQ(elements_of<float>(ctx, a.grad()), std::vector<float>(6, 1.0f));
}

PORTOPS_ON_EVERY_BACKEND(AutogradMemoryTest);

}  // namespace
}  // namespace portops::test
