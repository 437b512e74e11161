// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/sequence_concat.hpp>
#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sequence_softmax.hpp>
#include <portops/ops/sequence_unpad.hpp>

#include <cmath>

// What calls of the operators on ragged tensors promise: where they run, what they enqueue, that they do not wait.

namespace portops::test {
namespace {

template <class View>
auto on_host(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// Sequences, a long one among them, and calls of all operators on them.
template <class Memory>
class SequenceProblem {
 public:
  struct Call {
    std::string op;
    std::function<void(const Context&)> run;
  };

  void fill(int salt) {
    const auto host = Kokkos::create_mirror_view(x_);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) host(i, j) = pattern(i * columns + j, salt);
    }
    Kokkos::deep_copy(x_, host);
    for (const Matrix& result : {sums_, largest_, smooth_, smooth_grad_, x_grad_, reversed_, expanded_grad_}) {
      Kokkos::deep_copy(result, -99.0f);
    }
    Kokkos::deep_copy(padded_, -99.0f);
    Kokkos::fence();
  }

  std::vector<Call> calls() const {
    // The views, not this object, which may be gone when a call is made.
    const SequenceProblem p = *this;
    const RaggedRef x{p.x_, p.levels_};
    const std::vector<RaggedRef> parts{x, x};
    return {{"sequence_pool", [=](const Context& ctx) { sequence_pool(ctx, x, p.sums_, {}, {.pooltype = "sum"}); }},
            {"sequence_pool",
             [=](const Context& ctx) { sequence_pool(ctx, x, p.largest_, p.index_, {.pooltype = "max"}); }},
            {"sequence_pool_grad",
             [=](const Context& ctx) {
               sequence_pool_grad(ctx, x, p.largest_, p.x_grad_, {.index = p.index_, .pooltype = "max"});
             }},
            {"sequence_expand", [=](const Context& ctx) { sequence_expand(ctx, {p.sums_, {}}, p.levels_, p.x_grad_); }},
            {"sequence_expand_grad",
             [=](const Context& ctx) { sequence_expand_grad(ctx, {p.sums_, {}}, p.levels_, p.x_, p.expanded_grad_); }},
            {"sequence_pad", [=](const Context& ctx) { sequence_pad(ctx, x, p.padded_); }},
            {"sequence_unpad", [=](const Context& ctx) { sequence_unpad(ctx, p.padded_, p.levels_, p.x_grad_); }},
            {"sequence_reverse", [=](const Context& ctx) { sequence_reverse(ctx, x, p.reversed_); }},
            {"sequence_concat", [=](const Context& ctx) { sequence_concat(ctx, parts, p.both_); }},
            {"sequence_softmax", [=](const Context& ctx) { sequence_softmax(ctx, x, p.smooth_); }},
            {"sequence_softmax_grad",
             [=](const Context& ctx) { sequence_softmax_grad(ctx, x, p.smooth_, p.x_, p.smooth_grad_); }}};
  }

  std::vector<Call> wrong_calls() const {
    const SequenceProblem p = *this;
    return {{"sequence_pool", [=](const Context& ctx) { sequence_pool(ctx, {p.x_, {}}, p.sums_); }},
            {"sequence_expand", [=](const Context& ctx) { sequence_expand(ctx, {p.x_, {}}, {}, p.sums_); }},
            {"sequence_softmax", [=](const Context& ctx) { sequence_softmax(ctx, {p.x_, p.levels_}, p.sums_); }},
            {"sequence_pad", [=](const Context& ctx) { sequence_pad(ctx, {p.x_, p.levels_}, p.x_); }}};
  }

  void call(const Context& ctx) const {
    for (const Call& one : calls()) one.run(ctx);
  }

  std::size_t workspace(const Context& ctx) const {
    return std::max({sequence_pool_workspace(ctx, {x_, levels_}, largest_, index_, {.pooltype = "max"}),
                     sequence_expand_grad_workspace(ctx, {sums_, {}}, levels_, x_, expanded_grad_),
                     sequence_softmax_workspace(ctx, {x_, levels_}, smooth_),
                     sequence_softmax_grad_workspace(ctx, {x_, levels_}, smooth_, x_, smooth_grad_)});
  }

  void expect_right(int salt) const {
    const auto sums = on_host(sums_), largest = on_host(largest_), smooth = on_host(smooth_);
    const auto reversed = on_host(reversed_), sums_again = on_host(expanded_grad_);
    const auto x = [&](std::int64_t i, int j) { return static_cast<double>(pattern(i * columns + j, salt)); };
    const auto& offsets = levels_.offsets();
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      for (int j = 0; j < columns; ++j) {
        double sum = 0.0, magnitude = 0.0, most = -1e30, weights = 0.0;
        for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
          sum += x(i, j);
          magnitude += std::abs(x(i, j));
          most = std::max(most, x(i, j));
        }
        for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) weights += std::exp(x(i, j) - most);
        if (offsets[s] == offsets[s + 1]) most = 0.0;
        ASSERT_NEAR(sums(s, j), sum, 2e-6 * magnitude);
        ASSERT_NEAR(sums_again(s, j), sum, 2e-6 * magnitude);
        ASSERT_EQ(largest(s, j), static_cast<float>(most));
        for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
          ASSERT_NEAR(smooth(i, j), std::exp(x(i, j) - most) / weights, 1e-7);
          ASSERT_EQ(reversed(i, j), static_cast<float>(x(offsets[s] + offsets[s + 1] - 1 - i, j)));
        }
      }
    }
  }

  std::vector<float> results() const {
    std::vector<float> values;
    for (const Matrix& result : {sums_, largest_, smooth_, smooth_grad_, x_grad_, reversed_, expanded_grad_}) {
      const auto host = on_host(result);
      values.insert(values.end(), host.data(), host.data() + host.span());
    }
    return values;
  }

 private:
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;
  static constexpr int columns = 40;
  static constexpr int longest = 3000;
  static constexpr int rows = longest + 12;
  static constexpr int sequences = 4;

  Levels levels_ = Levels::from_lengths({5, 0, longest, 7});
  Matrix x_{"x", rows, columns}, smooth_{"smooth", rows, columns}, smooth_grad_{"smooth_grad", rows, columns};
  Matrix x_grad_{"x_grad", rows, columns}, reversed_{"reversed", rows, columns}, both_{"both", 2 * rows, columns};
  Matrix sums_{"sums", sequences, columns}, largest_{"largest", sequences, columns};
  Matrix expanded_grad_{"expanded_grad", sequences, columns};
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> index_{"index", sequences, columns};
  Kokkos::View<float***, Kokkos::LayoutRight, Memory> padded_{"padded", sequences, longest, columns};
};

template <class Space>
class SequenceContractTest : public testing::Test {
 protected:
  SequenceContractTest() : space(new_instance<Space>()), ctx(space) {
    problem.fill(1);
    // What Kokkos allocates for itself at the first kernels of an instance is not the calls'.
    problem.call(ctx);
    ctx.fence();
  }

  Space space;
  Context ctx;
  SequenceProblem<typename Space::memory_space> problem;
};
TYPED_TEST_SUITE(SequenceContractTest, Spaces);

TYPED_TEST(SequenceContractTest, runs_every_kernel_on_the_instance_of_the_context) {
  for (const auto& call : this->problem.calls()) {
    const auto kernels = of_kind(events_of([&] { call.run(this->ctx); }), Kind::kernel);
    EXPECT_FALSE(kernels.empty()) << call.op;
    for (const Event& kernel : kernels) EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
  }
}

TYPED_TEST(SequenceContractTest, labels_every_kernel_and_allocation_and_returns_what_it_takes) {
  bool allocates = false;
  for (const auto& call : this->problem.calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    for (const Event& event : of_kind(events, Kind::kernel)) {
      EXPECT_TRUE(is_label(event.name, call.op, true)) << event.name;
    }
    const auto allocations = of_kind(events, Kind::allocation);
    for (const Event& event : allocations) EXPECT_TRUE(is_label(event.name, call.op, false)) << event.name;
    EXPECT_EQ(allocations.size(), of_kind(events, Kind::deallocation).size());
    allocates = allocates || !allocations.empty();
  }
  EXPECT_TRUE(allocates) << "long sequences need a temporary";
}

TYPED_TEST(SequenceContractTest, never_fences_and_copies_nothing) {
  for (const auto& call : this->problem.calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << call.op << " fences: " << fence.name;
    for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << call.op << " copies: " << copy.name;
  }
}

TYPED_TEST(SequenceContractTest, opens_a_region_around_everything) {
  for (const auto& call : this->problem.calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    ASSERT_GE(events.size(), 3u);
    EXPECT_EQ(events.front().kind, Kind::push);
    EXPECT_EQ(events.front().name, "portops::" + call.op);
    EXPECT_EQ(events.back().kind, Kind::pop);
  }
}

TYPED_TEST(SequenceContractTest, that_is_wrong_enqueues_nothing_and_closes_its_region) {
  for (const auto& call : this->problem.wrong_calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    ASSERT_EQ(events.size(), 3u) << call.op;
    EXPECT_EQ(events[0].kind, Kind::push);
    EXPECT_EQ(events[1].kind, Kind::pop);
    EXPECT_EQ(events[2].kind, Kind::error);
  }
}

TYPED_TEST(SequenceContractTest, takes_one_kernel_where_no_sequence_is_long) {
  Kokkos::View<float**, Kokkos::LayoutRight, typename TypeParam::memory_space> x("x", 4096, 64), out("out", 64, 64);
  const Levels levels = Levels::from_lengths(std::vector<std::int64_t>(64, 64));
  const auto pool = events_of([&] { sequence_pool(this->ctx, {x, levels}, out); });
  EXPECT_EQ(of_kind(pool, Kind::kernel).size(), 1u);
  EXPECT_TRUE(of_kind(pool, Kind::allocation).empty());
  const auto expand = events_of([&] { sequence_expand(this->ctx, {out, {}}, levels, x); });
  EXPECT_EQ(of_kind(expand, Kind::kernel).size(), 1u);
  this->ctx.fence();
}

template <class Space>
class SequenceInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(SequenceInstancesTest, Spaces);

TYPED_TEST(SequenceInstancesTest, do_not_disturb_each_other) {
  check_instances_do_not_disturb_each_other<TypeParam, SequenceProblem<typename TypeParam::memory_space>>();
}

TYPED_TEST(SequenceInstancesTest, share_levels_and_give_the_same_bits) {
  check_instances_give_the_same_bits<TypeParam, SequenceProblem<typename TypeParam::memory_space>>();
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(CudaSequenceTest, is_captured_with_temporaries_from_the_pool) {
  check_capture_with_pool<SequenceProblem<Kokkos::CudaSpace>>();
}

TEST(CudaSequenceTest, is_captured_with_a_lent_workspace) {
  check_capture_with_lent_workspace<SequenceProblem<Kokkos::CudaSpace>>();
}

/// Levels that a capture is the first to use.
TEST(CudaSequenceTest, is_captured_with_new_levels) {
  const Stream stream;
  const Context ctx = Kokkos::Cuda(stream);
  SequenceProblem<Kokkos::CudaSpace> known;  // loads the kernels
  known.fill(1);
  known.call(ctx);
  ctx.fence();
  SequenceProblem<Kokkos::CudaSpace> problem;
  problem.fill(3);
  const cudaGraphExec_t graph = capture(stream, [&] { problem.call(ctx); });
  ASSERT_NE(graph, nullptr);
  EXPECT_CUDA(cudaGraphLaunch(graph, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  problem.expect_right(3);
  EXPECT_CUDA(cudaGraphExecDestroy(graph));
}
#endif

}  // namespace
}  // namespace portops::test
