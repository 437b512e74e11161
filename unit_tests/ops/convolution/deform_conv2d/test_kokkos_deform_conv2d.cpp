// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_deform_conv2d_support.hpp"
#include "support/kokkos_events.hpp"
#include "support/products.hpp"

// deform_conv2d and deform_conv2d_grad on Views, and what their calls promise about how they run.

namespace portops::test {
namespace {

template <class Space>
class DeformConv2dOnViewsTest : public testing::Test {};
TYPED_TEST_SUITE(DeformConv2dOnViewsTest, Spaces);

template <class Space, class Layout>
void check_views() {
  for (const int border : {0, 1}) {
    const ConvolutionOfViews<Space, Layout> convolution(border);
    const Space space;
    convolution.call(space);
    space.fence();
    convolution.expect_right();
  }
}

TYPED_TEST(DeformConv2dOnViewsTest, reads_and_writes_views_and_subviews_of_every_layout) {
  check_views<TypeParam, Kokkos::LayoutLeft>();
  check_views<TypeParam, Kokkos::LayoutRight>();
}

/// Images whose channels are neighbours, and const inputs.
TYPED_TEST(DeformConv2dOnViewsTest, takes_strided_and_const_views) {
  using Memory = typename TypeParam::memory_space;
  using Images = Kokkos::View<float****, Kokkos::LayoutStride, Memory>;
  using Tensor = Kokkos::View<float****, Kokkos::LayoutRight, Memory>;
  const Kokkos::LayoutStride channels_last(1, 36, 2, 1, 3, 12, 6, 2);
  const Images x("x", channels_last), x_grad("x_grad", channels_last);
  const Tensor offset("offset", 1, 2, 3, 6), weight("weight", 1, 2, 1, 1), out("out", 1, 1, 3, 6);
  const auto host_x = Kokkos::create_mirror(Kokkos::HostSpace(), x);
  for (std::size_t i = 0; i < 36; ++i) host_x.data()[i] = static_cast<float>(i);
  Kokkos::deep_copy(x, host_x);
  Kokkos::deep_copy(weight, 0.5f);
  const Kokkos::View<const float****, Kokkos::LayoutStride, Memory> const_x = x;
  const Kokkos::View<const float****, Kokkos::LayoutRight, Memory> const_weight = weight, const_out = out;
  const TypeParam space;
  deform_conv2d(space, const_x, offset, const_weight, out);
  deform_conv2d_grad(space, const_x, offset, const_weight, const_out, x_grad, TensorRef(), TensorRef(), TensorRef(),
                     TensorRef());
  space.fence();
  const auto host_out = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
  const auto host_x_grad = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x_grad);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 6; ++j) {
      const float pixel = static_cast<float>(12 * i + 2 * j) + 0.5f;  // the mean of both channels
      ASSERT_EQ(host_out(0, 0, i, j), pixel);
      for (const int channel : {0, 1}) ASSERT_EQ(host_x_grad(0, channel, i, j), 0.5f * pixel);
    }
  }
  EXPECT_THROW(deform_conv2d(space, const_x, offset, const_weight, const_out), Error);
}

template <class Space>
class DeformConv2dContractTest : public testing::Test {
 protected:
  /// A call on any context.
  struct Call {
    std::string op;
    std::function<void(const Context&)> run;
  };

  DeformConv2dContractTest() : space(new_instance<Space>()), ctx(space) {
    // What Kokkos allocates for itself at the first kernels of an instance is not the call's.
    for (const Context& context : contexts()) convolution.call(context);
    Kokkos::fence();
  }

  std::vector<Context> contexts() const {
    std::vector<Context> all{ctx, Context(ctx).deterministic(true)};
    if (has_kokkos_kernels) all.push_back(with_kokkos_kernels(ctx));
    return all;
  }

  std::vector<Call> calls() const {
    return {{"deform_conv2d", [&](const Context& on) { convolution.run(on); }},
            {"deform_conv2d_grad", [&](const Context& on) { convolution.run_grad(on); }},
            {"deform_conv2d_grad", [&](const Context& on) { grad(on, "x_grad"); }},
            {"deform_conv2d_grad", [&](const Context& on) { grad(on, "offset_grad"); }},
            {"deform_conv2d_grad", [&](const Context& on) { grad(on, "weight_grad"); }},
            {"deform_conv2d_grad", [&](const Context& on) { grad(on, "bias_grad"); }}};
  }

  /// A gradient alone, or none.
  void grad(const Context& on, const std::string& wanted) const {
    const auto ref = [&](const std::string& name) { return name == wanted ? convolution.ref(name) : TensorRef(); };
    deform_conv2d_grad(on, convolution.ref("x"), convolution.ref("offset"), convolution.ref("weight"),
                       convolution.ref("out_grad"), ref("x_grad"), ref("offset_grad"), ref("weight_grad"),
                       ref("mask_grad"), ref("bias_grad"), convolution.params());
  }

  /// Calls visit(the call, what happens in it) for every call on every context.
  void for_each_call(const std::function<void(const Call&, const std::vector<Event>&)>& visit) const {
    for (const Context& context : contexts()) {
      for (const Call& call : calls()) visit(call, events_of([&] { call.run(context); }));
    }
    ctx.fence();
  }

  Space space;
  Context ctx;
  ConvolutionOfViews<Space> convolution;
};
TYPED_TEST_SUITE(DeformConv2dContractTest, Spaces);

/// Matrix products are labelled by the library that computes them.
bool is_of_family(const std::string& name) {
  for (const char* start : {"portops::deform_conv2d", "portops::gemm[", "KokkosBlas::gemm[",
                            "Initialize C for Dot Product Based GEMM", "Perform Dot Product Based GEMM"}) {
    if (name.rfind(start, 0) == 0) return true;
  }
  return false;
}

TYPED_TEST(DeformConv2dContractTest, runs_every_kernel_on_the_instance_of_the_context) {
  this->for_each_call([&](const auto&, const std::vector<Event>& events) {
    const auto kernels = of_kind(events, Kind::kernel);
    EXPECT_FALSE(kernels.empty());
    for (const Event& kernel : kernels) EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
  });
}

TYPED_TEST(DeformConv2dContractTest, labels_every_kernel_and_allocation) {
  bool allocates = false;
  this->for_each_call([&](const auto& call, const std::vector<Event>& events) {
    for (const Event& kernel : of_kind(events, Kind::kernel)) EXPECT_TRUE(is_of_family(kernel.name)) << kernel.name;
    const auto allocations = of_kind(events, Kind::allocation);
    for (const Event& event : allocations) EXPECT_TRUE(is_label(event.name, call.op, false)) << event.name;
    EXPECT_EQ(allocations.size(), of_kind(events, Kind::deallocation).size());
    allocates = allocates || !allocations.empty();
  });
  EXPECT_TRUE(allocates) << "gradients need a temporary";
}

TYPED_TEST(DeformConv2dContractTest, never_fences_and_copies_nothing) {
  this->for_each_call([&](const auto& call, const std::vector<Event>& events) {
    for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << call.op << " fences: " << fence.name;
    for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << call.op << " copies: " << copy.name;
  });
}

TYPED_TEST(DeformConv2dContractTest, opens_a_region_around_everything) {
  this->for_each_call([&](const auto& call, const std::vector<Event>& events) {
    ASSERT_GE(events.size(), 2u);
    EXPECT_EQ(events.front().kind, Kind::push);
    EXPECT_EQ(events.front().name, "portops::" + call.op);
    int depth = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      depth += events[i].kind == Kind::push ? 1 : events[i].kind == Kind::pop ? -1 : 0;
      EXPECT_EQ(depth == 0, i + 1 == events.size()) << "event " << i << ", " << events[i].name;
    }
  });
}

/// One product a group and a step of images, 2 and 1 of them; in the gradient one for the weight and one for the
/// columns.
TYPED_TEST(DeformConv2dContractTest, multiplies_by_kokkos_kernels_where_the_context_asks_for_it) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  constexpr std::int64_t groups = 2, steps = 2;
  const auto count = [](const std::vector<Event>& events, Kind kind, const std::string& start) {
    return std::count_if(events.begin(), events.end(),
                         [&](const Event& event) { return event.kind == kind && event.name.starts_with(start); });
  };
  const auto check = [&](std::int64_t products, const std::function<void(const Context&)>& call) {
    const auto events = events_of([&] { call(with_kokkos_kernels(this->ctx)); });
    EXPECT_EQ(count(events, Kind::push, "portops::gemm[kokkos_kernels]"), products * steps);
    EXPECT_EQ(count(events, Kind::push, "KokkosBlas::gemm["), products * steps * groups);
    EXPECT_EQ(count(events, Kind::push, "portops::gemm["), products * steps);
    EXPECT_EQ(count(events, Kind::kernel, "portops::deform_conv2d["), 0);
    const auto own = events_of([&] { call(Context(this->ctx).products(Products::own)); });
    EXPECT_EQ(count(own, Kind::push, "portops::gemm[kokkos_kernels]"), 0);
    EXPECT_EQ(count(own, Kind::push, "KokkosBlas::"), 0);
  };
  check(1, [&](const Context& ctx) { this->convolution.run(ctx); });
  check(2, [&](const Context& ctx) { this->convolution.run_grad(ctx); });
  this->ctx.fence();
}

TYPED_TEST(DeformConv2dContractTest, that_is_wrong_enqueues_nothing_and_closes_its_region) {
  const auto& c = this->convolution;
  DeformConv2dParams params = c.params();
  params.im2col_step = 0;
  const auto expect_refused = [](const std::string& op, const std::function<void()>& call) {
    const auto events = events_of(call);
    ASSERT_EQ(events.size(), 3u) << op;
    EXPECT_EQ(events[0].kind, Kind::push);
    EXPECT_EQ(events[0].name, "portops::" + op);
    EXPECT_EQ(events[1].kind, Kind::pop);
    EXPECT_EQ(events[2].kind, Kind::error);
  };
  expect_refused("deform_conv2d",
                 [&] { deform_conv2d(this->ctx, c.ref("x"), c.ref("offset"), c.ref("weight"), c.ref("out"), params); });
  expect_refused("deform_conv2d", [&] {
    deform_conv2d(this->ctx, c.ref("x"), c.ref("offset"), c.ref("weight"), c.ref("x"), c.params());
  });
  const Context refused = with_kokkos_kernels(this->ctx).deterministic(true);
  expect_refused("deform_conv2d", [&] { c.run(refused); });
  expect_refused("deform_conv2d_grad", [&] { c.run_grad(refused); });
  expect_refused("deform_conv2d_grad", [&] {
    deform_conv2d_grad(this->ctx, c.ref("x"), c.ref("offset"), c.ref("weight"), c.ref("out_grad"), TensorRef(),
                       TensorRef(), TensorRef(), TensorRef(), c.ref("weight_grad"), c.params());
  });
}

TYPED_TEST(DeformConv2dContractTest, enqueues_and_allocates_nothing_for_gradients_that_are_not_wanted) {
  for (const Context& context : this->contexts()) {
    const auto none = events_of([&] { this->grad(context, ""); });
    for (const Kind kind : {Kind::kernel, Kind::allocation, Kind::error}) EXPECT_TRUE(of_kind(none, kind).empty());
    const std::size_t all = of_kind(events_of([&] { this->convolution.run_grad(context); }), Kind::kernel).size();
    for (const std::string name : {"x_grad", "weight_grad", "bias_grad"}) {
      EXPECT_LT(of_kind(events_of([&] { this->grad(context, name); }), Kind::kernel).size(), all) << name;
    }
  }
}

TYPED_TEST(DeformConv2dContractTest, allocates_nothing_where_a_workspace_is_lent) {
  constexpr std::size_t alignment = 256;
  for (const Context& context : this->contexts()) {
    const std::size_t bytes = this->convolution.workspace(context);
    const Kokkos::View<unsigned char*, typename TypeParam::memory_space> memory("lent", bytes + alignment);
    const std::size_t behind = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
    const Context lending = Context(context).workspace({memory.data() + (alignment - behind) % alignment, bytes});
    for (const auto& call : this->calls()) {
      EXPECT_TRUE(of_kind(events_of([&] { call.run(lending); }), Kind::allocation).empty()) << call.op;
    }
    context.fence();
  }
}

}  // namespace
}  // namespace portops::test
