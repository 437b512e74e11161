// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_families.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/trace.hpp>

// What a call promises about how it runs, as Kokkos' tools interface sees it: on which instance, under which labels,
// in which region, and that it never waits.

namespace portops::test {
namespace {

template <class Space>
class CallContractTest : public testing::Test {
 protected:
  using View = Kokkos::View<float**, Kokkos::LayoutRight, typename Space::memory_space>;

  CallContractTest() : space(new_instance<Space>()), ctx(space) {
    Kokkos::deep_copy(row, 1.0f);
    // What Kokkos allocates for itself at the first kernels of an instance is not the call's.
    lerp_grad(ctx, x, row, weight, out_grad, x_grad, row_grad, weight_grad);
    lerp(ctx, x, row, weight, out);
    Kokkos::fence();
  }

  std::vector<std::pair<std::string, std::function<void()>>> calls() {
    return {
        {"lerp", [&] { lerp(ctx, x, y, 0.3, out); }},
        {"lerp", [&] { lerp(ctx, x, row, weight, out); }},
        {"lerp", [&] { lerp(ctx, x, row, weight, x); }},
        {"lerp_grad", [&] { lerp_grad(ctx, x, y, 0.3, out_grad, x_grad, y_grad); }},
        {"lerp_grad", [&] { lerp_grad(ctx, x, row, weight, out_grad, x_grad, row_grad, weight_grad); }},
        {"lerp_grad", [&] { lerp_grad(ctx, x, row, weight, out_grad, {}, {}, weight_grad); }},
        {"lerp_grad", [&] { lerp_grad(ctx, none, row, 0.3, none, none, row_grad); }},
        {"add", [&] { add(ctx, x, row, out); }},
        {"add", [&] { add(ctx, x, 0.3, x); }},
        {"add_grad", [&] { add_grad(ctx, x, row, out_grad, x_grad, row_grad); }},
        {"add_grad", [&] { add_grad(ctx, x, row, out_grad, out_grad, row_grad); }},
        {"reshape", [&] { reshape(ctx, x, flat, {{-1}}); }},
        {"reshape_grad", [&] { reshape_grad(ctx, x, flat, x_grad, {{-1}}); }},
        {"trace", [&] { trace(ctx, x, scalar); }},
        {"trace", [&] { trace(ctx, x, scalar, {.offset = -40}); }},
        {"trace_grad", [&] { trace_grad(ctx, x, scalar, x_grad); }},
        {"cross_entropy_with_softmax", [&] { cross_entropy_with_softmax(ctx, x, label, scalar, exponents, count); }},
        {"cross_entropy_with_softmax", [&] { cross_entropy_with_softmax(ctx, x, y, scalar, {}, {}, soft); }},
        {"cross_entropy_with_softmax_grad",
         [&] { cross_entropy_with_softmax_grad(ctx, x, label, exponents, count, scalar, x_grad); }},
        {"cross_entropy_with_softmax_grad",
         [&] { cross_entropy_with_softmax_grad(ctx, x, y, exponents, count, scalar, x_grad, soft); }},
        {"pool2d", [&] { pool2d(ctx, image(x), image(out), {}); }},
        {"pool2d", [&] { pool2d(ctx, image(x), *reshaped(scalar, {1, 1, 1, 1}), {}, mean); }},
        {"pool2d_grad", [&] { pool2d_grad(ctx, image(x), image(out), image(x_grad), {.pooltype = "avg"}); }},
    };
  }

  std::vector<std::pair<std::string, std::function<void()>>> wrong_calls() {
    return {
        {"lerp", [&] { lerp(ctx, x, y, 0.3, row); }},
        {"lerp", [&] { lerp(ctx, x, y, 0.3, y); }},
        {"lerp", [&] { lerp(ctx, x, weight_grad_of_other_extents, 0.3, out); }},
        {"lerp", [&] { lerp(ctx, x, {}, 0.3, out); }},
        {"lerp_grad", [&] { lerp_grad(ctx, x, y, 0.3, out_grad, x_grad, x_grad); }},
        {"lerp_grad", [&] { lerp_grad(ctx, x, y, 0.3, row, x_grad, y_grad); }},
        {"lerp_grad", [&] { lerp_grad(ctx, x, y, 0.3, out_grad, x_grad, y_grad, weight_grad); }},
        {"lerp_grad",
         [&] {
           const Context lending = Context(ctx).workspace({out.data(), 4});
           lerp_grad(lending, x, row, weight, out_grad, x_grad, row_grad, weight_grad);
         }},
        {"add", [&] { add(ctx, x, y, y); }},
        {"add_grad", [&] { add_grad(ctx, x, y, out_grad, x_grad, x_grad); }},
        {"reshape", [&] { reshape(ctx, x, flat, {{7}}); }},
        {"reshape_grad", [&] { reshape_grad(ctx, x, flat, x, {{-1}}); }},
        {"trace", [&] { trace(ctx, x, scalar, {.axis1 = 1}); }},
        {"trace_grad", [&] { trace_grad(ctx, x, scalar, row); }},
        {"cross_entropy_with_softmax", [&] { cross_entropy_with_softmax(ctx, x, label, row, exponents, count); }},
        {"cross_entropy_with_softmax_grad",
         [&] { cross_entropy_with_softmax_grad(ctx, x, y, exponents, count, scalar, y, soft); }},
        {"pool2d", [&] { pool2d(ctx, image(x), image(x), {}); }},
        {"pool2d_grad", [&] { pool2d_grad(ctx, image(x), image(out), image(x_grad)); }},
    };
  }

  static TensorRef image(const View& view) { return *reshaped(view, {1, 1, view.extent_int(0), view.extent_int(1)}); }

  Space space;
  Context ctx;
  const CrossEntropyWithSoftmaxParams soft{.soft_label = true};
  const Pool2dParams mean{.pooltype = "avg", .global_pooling = true};
  View x{"x", 40, 9000}, y{"y", 40, 9000}, out{"out", 40, 9000}, out_grad{"out_grad", 40, 9000};
  View x_grad{"x_grad", 40, 9000}, y_grad{"y_grad", 40, 9000};
  View row{"row", 1, 9000}, row_grad{"row_grad", 1, 9000}, weight{"weight", 40, 1}, weight_grad{"weight_grad", 40, 1};
  View none{"none", 0, 9000}, weight_grad_of_other_extents{"other", 7, 7};
  Kokkos::View<float*, typename Space::memory_space> flat{"flat", 40 * 9000};
  Kokkos::View<float, typename Space::memory_space> scalar{"scalar"};
  Kokkos::View<std::int64_t*, typename Space::memory_space> label{"label", 40};
  Kokkos::View<double*, typename Space::memory_space> exponents{"exponents", 40};
  Kokkos::View<std::int64_t, typename Space::memory_space> count{"count"};
};
TYPED_TEST_SUITE(CallContractTest, Spaces);

TYPED_TEST(CallContractTest, runs_every_kernel_on_the_instance_of_the_context) {
  // Kokkos does not number the instances of host backends.
  if (this->ctx.backend() == Backend::cuda) {
    ASSERT_NE(tools::device_id(this->space), tools::device_id(TypeParam())) << "not an instance of its own";
  }
  for (const auto& [op, call] : this->calls()) {
    const auto kernels = of_kind(events_of(call), Kind::kernel);
    EXPECT_FALSE(kernels.empty());
    for (const Event& kernel : kernels) EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
  }
}

TYPED_TEST(CallContractTest, labels_every_kernel_and_allocation) {
  bool allocates = false;
  for (const auto& [op, call] : this->calls()) {
    const auto events = events_of(call);
    for (const Event& kernel : of_kind(events, Kind::kernel))
      EXPECT_TRUE(is_label(kernel.name, op, true)) << kernel.name;
    const auto allocations = of_kind(events, Kind::allocation);
    const auto deallocations = of_kind(events, Kind::deallocation);
    for (const Event& event : allocations) EXPECT_TRUE(is_label(event.name, op, false)) << event.name;
    for (const Event& event : deallocations) EXPECT_TRUE(is_label(event.name, op, false)) << event.name;
    EXPECT_EQ(allocations.size(), deallocations.size());
    allocates = allocates || !allocations.empty();
  }
  EXPECT_TRUE(allocates) << "the sums of broadcast operands need a temporary";
}

TYPED_TEST(CallContractTest, holds_for_every_operator) {
  const AllFamilies families(this->ctx, 3);
  const Levels levels = AllFamilies::make_levels();
  families.call(this->ctx, levels);  // what is made once is not a call's
  Kokkos::fence();
  const auto events = events_of([&] { families.call(this->ctx, levels); });
  for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << "fences: " << fence.name;
  for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << "copies: " << copy.name;
  for (const Event& kernel : of_kind(events, Kind::kernel)) {
    EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
  }
}

TYPED_TEST(CallContractTest, never_fences_and_copies_nothing) {
  for (const auto& [op, call] : this->calls()) {
    const auto events = events_of(call);
    for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << op << " fences: " << fence.name;
    for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << op << " copies: " << copy.name;
  }
}

TYPED_TEST(CallContractTest, never_fences_on_a_new_instance_either) {
  const Context fresh = new_instance<TypeParam>();
  const auto events = events_of([&] {
    lerp(fresh, this->x, this->row, this->weight, this->out);
    lerp_grad(fresh, this->x, this->row, this->weight, this->out_grad, this->x_grad, this->row_grad, this->weight_grad);
  });
  for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << "a fence: " << fence.name;
  fresh.fence();
}

TYPED_TEST(CallContractTest, opens_a_region_around_everything) {
  for (const auto& [op, call] : this->calls()) {
    const auto events = events_of(call);
    ASSERT_GE(events.size(), 2u);
    EXPECT_EQ(events.front().kind, Kind::push);
    EXPECT_EQ(events.front().name, "portops::" + op);
    EXPECT_EQ(events.back().kind, Kind::pop);
    EXPECT_EQ(of_kind(events, Kind::push).size(), 1u);
    EXPECT_EQ(of_kind(events, Kind::pop).size(), 1u);
  }
}

TYPED_TEST(CallContractTest, that_is_wrong_enqueues_nothing_and_closes_its_region) {
  for (const auto& [op, call] : this->wrong_calls()) {
    const auto events = events_of(call);
    ASSERT_EQ(events.size(), 3u) << op;
    EXPECT_EQ(events[0].kind, Kind::push);
    EXPECT_EQ(events[0].name, "portops::" + op);
    EXPECT_EQ(events[1].kind, Kind::pop);
    EXPECT_EQ(events[2].kind, Kind::error);
  }
}

TYPED_TEST(CallContractTest, enqueues_nothing_for_tensors_without_elements) {
  const auto& none = this->none;
  const auto count = [](const std::function<void()>& call) { return of_kind(events_of(call), Kind::kernel).size(); };
  EXPECT_EQ(count([&] { lerp(this->ctx, none, this->row, 0.3, none); }), 0u);
  EXPECT_EQ(count([&] { lerp_grad(this->ctx, none, none, 0.3, none, none, none); }), 0u);
}

TYPED_TEST(CallContractTest, enqueues_and_allocates_nothing_for_outputs_that_are_not_wanted) {
  const auto count = [](const std::function<void()>& call, Kind kind) { return of_kind(events_of(call), kind).size(); };
  const auto grad = [&](const TensorRef& x_grad, const TensorRef& y_grad, const TensorRef& weight_grad) {
    return [=, this] {
      lerp_grad(this->ctx, this->x, this->row, this->weight, this->out_grad, x_grad, y_grad, weight_grad);
    };
  };
  EXPECT_EQ(count(grad({}, {}, {}), Kind::kernel), 0u);
  EXPECT_EQ(count(grad(this->x_grad, {}, {}), Kind::kernel), 1u);
  EXPECT_EQ(count(grad(this->x_grad, {}, {}), Kind::allocation), 0u) << "x was not broadcast";
  const std::size_t with_all = count(grad(this->x_grad, this->row_grad, this->weight_grad), Kind::kernel);
  EXPECT_LT(count(grad(this->x_grad, this->row_grad, {}), Kind::kernel), with_all);
}

TYPED_TEST(CallContractTest, enqueues_nothing_for_outputs_that_hold_the_result_already) {
  const auto count = [](const std::function<void()>& call) { return of_kind(events_of(call), Kind::kernel).size(); };
  const TensorRef x = this->x, out_grad = this->out_grad;
  const TensorRef x_as_flat = *reshaped(x, {-1}), x_as_block = *reshaped(x, {4, 10, 90, 100});
  EXPECT_EQ(count([&] { reshape(this->ctx, x, x_as_flat, {{-1}}); }), 0u);
  EXPECT_EQ(count([&] { reshape(this->ctx, x_as_block, x, {{40, 9000}}); }), 0u);
  EXPECT_EQ(count([&] { reshape_grad(this->ctx, out_grad, x_as_flat, x, {{-1}}); }), 0u);
  EXPECT_EQ(count([&] { add_grad(this->ctx, x, this->row, out_grad, out_grad); }), 0u);
  EXPECT_EQ(count([&] { add_grad(this->ctx, x, x, out_grad, out_grad, this->y); }), 1u) << "a copy for y alone";
}

TYPED_TEST(CallContractTest, takes_one_pass_over_the_inputs) {
  EXPECT_EQ(of_kind(events_of(this->calls()[0].second), Kind::kernel).size(), 1u);
  EXPECT_EQ(of_kind(events_of(this->calls()[1].second), Kind::kernel).size(), 1u);
  EXPECT_EQ(of_kind(events_of(this->calls()[3].second), Kind::kernel).size(), 1u);
  // One map for all gradients, and one sum of partial sums for each that was broadcast at most.
  EXPECT_LE(of_kind(events_of(this->calls()[4].second), Kind::kernel).size(), 3u);
}

TYPED_TEST(CallContractTest, fences_only_when_asked_to_and_on_its_instance) {
  const auto fences = of_kind(events_of([&] { this->ctx.fence(); }), Kind::fence);
  ASSERT_EQ(fences.size(), 1u);
  EXPECT_EQ(fences[0].name, "portops::Context::fence");
  EXPECT_EQ(fences[0].device, tools::device_id(this->space));
}

TYPED_TEST(CallContractTest, costs_no_region_without_a_tool) {
  ASSERT_FALSE(Kokkos::Tools::profileLibraryLoaded()) << "a tool is loaded into this test";
  EXPECT_NO_THROW(this->calls()[0].second());
  this->ctx.fence();
}

}  // namespace
}  // namespace portops::test
