// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/update_loss_scale.hpp>

#include <limits>
#include <vector>

namespace portops::test {
namespace {

class UpdateLossScaleTest : public OnEveryBackend {
 protected:
  struct Results {
    double scale, grad_scale;
    std::int64_t good_steps, skip;
    friend bool operator==(const Results&, const Results&) = default;
  };

  TestTensor<std::int64_t> count(std::int64_t number) {
    TestTensor<std::int64_t> made(ctx, {});
    made.fill([&](std::int64_t) { return number; });
    return made;
  }

  template <class T>
  Results updated(double scale, std::int64_t good_steps, const std::vector<std::int64_t>& nonfinite,
                  const UpdateLossScaleParams& params, bool in_place) {
    TestTensor<T> before(ctx, {}), after(ctx, {}), grad_scale(ctx, {});
    before.fill([&](std::int64_t) { return scale; });
    TestTensor<std::int64_t> steps = count(good_steps), next = count(-1), skip = count(-1);
    std::vector<TestTensor<std::int64_t>> counts;
    for (const std::int64_t each : nonfinite) counts.push_back(count(each));
    TestTensor<T>& scale_out = in_place ? before : after;
    TestTensor<std::int64_t>& good_steps_out = in_place ? steps : next;
    update_loss_scale(ctx, before, steps, std::vector<TensorRef>(counts.begin(), counts.end()), scale_out,
                      good_steps_out, grad_scale, skip, params);
    scale_out.download(), good_steps_out.download(), grad_scale.download(), skip.download();
    return {scale_out[0], grad_scale[0], good_steps_out.element(0), skip.element(0)};
  }
};
PORTOPS_ON_EVERY_BACKEND(UpdateLossScaleTest);

TEST_P(UpdateLossScaleTest, follows_the_formula) {
  const UpdateLossScaleParams params{
      .growth_factor = 4.0, .backoff_factor = 0.25, .growth_interval = 3, .largest = 512.0};
  for_each_type([&]<class T>() {
    for (const bool in_place : {false, true}) {
      EXPECT_EQ(updated<T>(64, 0, {0}, params, in_place), (Results{64, 64, 1, 0}));
      EXPECT_EQ(updated<T>(64, 2, {0, 0}, params, in_place), (Results{256, 64, 0, 0}));
      EXPECT_EQ(updated<T>(256, 7, {0}, params, in_place), (Results{512, 256, 0, 0}));
      EXPECT_EQ(updated<T>(64, 2, {3}, params, in_place), (Results{16, 64, 0, 3}));
      EXPECT_EQ(updated<T>(64, 1, {0, 5, 0, 1, 0, 0, 0, 2}, params, in_place), (Results{16, 64, 0, 8}));
      EXPECT_EQ(updated<T>(0x1p-23, 0, {1}, params, in_place), (Results{0x1p-24, 0x1p-23, 0, 1}));
      EXPECT_EQ(updated<T>(0x1p-24, 0, {1}, params, in_place), (Results{0x1p-24, 0x1p-24, 0, 1}));
    }
  });
}

TEST_P(UpdateLossScaleTest, leaves_out_what_is_not_wanted) {
  need_type<float>();
  TestTensor<float> scale(ctx, {});
  scale.fill([](std::int64_t) { return 8.0; });
  TestTensor<std::int64_t> good_steps = count(4), nonfinite = count(0);
  update_loss_scale(ctx, scale, good_steps, std::vector<TensorRef>{nonfinite}, scale, good_steps, {}, {});
  scale.download(), good_steps.download();
  EXPECT_EQ(scale[0], 8.0);
  EXPECT_EQ(good_steps.element(0), 5);
}

TEST_P(UpdateLossScaleTest, is_called_by_name) {
  need_type<float>();
  TestTensor<float> scale(ctx, {}), out(ctx, {});
  scale.fill([](std::int64_t) { return 8.0; });
  TestTensor<std::int64_t> good_steps = count(0), next = count(0), nonfinite = count(1);
  Arguments arguments;
  arguments.set("scale", scale.ref()).set("good_steps", good_steps.ref());
  arguments.set("nonfinite", std::vector<TensorRef>{nonfinite});
  const auto specs = infer("update_loss_scale", arguments);
  EXPECT_EQ(specs.at("skip").type, ElementType::i64);
  EXPECT_EQ(specs.at("grad_scale").type, ElementType::f32);
  run("update_loss_scale", ctx, arguments.set("scale_out", out.ref()).set("good_steps_out", next.ref()));
  out.download();
  EXPECT_EQ(out[0], 4.0);
}

TEST_P(UpdateLossScaleTest, refuses_what_does_not_fit) {
  need_type<float>();
  const std::string op = "portops::update_loss_scale: ";
  TestTensor<float> scale(ctx, {}), pair(ctx, {2});
  TestTensor<std::int64_t> good_steps = count(0), nonfinite = count(0), counts(ctx, {2});
  const auto expect = [&](const std::string& message, const std::vector<TensorRef>& list,
                          const UpdateLossScaleParams& params = {}) {
    expect_error([&] { update_loss_scale(ctx, scale, good_steps, list, scale, good_steps, {}, {}, params); },
                 op + message);
  };
  const std::vector<TensorRef> one{nonfinite};
  expect("nonfinite is an empty list, expected one tensor or more", {});
  expect("nonfinite[1] has extents [2], expected [] (those of a scalar)", {nonfinite, counts});
  expect("nonfinite[1] has element type f32, expected i64", {nonfinite, scale});
  expect("nonfinite has 9 tensors, expected at most 8", std::vector<TensorRef>(9, nonfinite));
  expect("good_steps_out overlaps nonfinite[0] in memory, expected disjoint tensors", {good_steps});
  expect_error([&] { update_loss_scale(ctx, pair, good_steps, one, pair, good_steps, {}, {}); },
               op + "scale has extents [2], expected [] (those of a scalar)");
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::string finite = ", expected a finite number, ", share = ", expected more than 0 and less than 1";
  expect("growth_factor is nan" + finite + "at least 1", one, {.growth_factor = nan});
  expect("growth_factor is inf" + finite + "at least 1", one, {.growth_factor = inf});
  expect("growth_factor is 0.5" + finite + "at least 1", one, {.growth_factor = 0.5});
  expect("backoff_factor is nan" + share, one, {.backoff_factor = nan});
  expect("backoff_factor is 0" + share, one, {.backoff_factor = 0.0});
  expect("backoff_factor is 1" + share, one, {.backoff_factor = 1.0});
  expect("largest is inf" + finite + "more than 0", one, {.largest = inf});
  expect("largest is 0" + finite + "more than 0", one, {.largest = 0.0});
  expect("largest is 1e+300, which f32 cannot hold", one, {.largest = 1e300});
  expect("growth_interval is 0, expected at least 1", one, {.growth_interval = 0});
}

}  // namespace
}  // namespace portops::test
