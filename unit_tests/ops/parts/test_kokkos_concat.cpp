// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/concat.hpp>
#include <portops/ops/split.hpp>

#include <vector>

// concat and split on Views, on instances, as Kokkos' tools see them, and in CUDA graphs.

namespace portops::test {
namespace {

/// So many tensors of [3, 4], or of [3, 1] to [3, 5], beside one another along the last axis.
template <class Memory, class Layout>
class PartsProblem {
 public:
  explicit PartsProblem(int count, bool of_one_extent = true) {
    int columns = 0;
    for (int k = 0; k < count; ++k) {
      const int extent = of_one_extent ? 4 : 1 + k % 5;
      parts_.emplace_back("part", rows, extent);
      copies_.emplace_back("copy", rows, extent);
      sections_.push_back(extent);
      columns += extent;
    }
    whole_ = View("whole", rows, columns);
    for (const View& part : parts_) x_.emplace_back(part);
    for (const View& copy : copies_) out_.emplace_back(copy);
  }

  void fill(int salt) {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto values = Kokkos::create_mirror(Kokkos::HostSpace(), parts_[k]);
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < values.extent(1); ++j) values(i, j) = value(k, i, j, salt);
      }
      Kokkos::deep_copy(parts_[k], values);
      Kokkos::deep_copy(copies_[k], -99.0f);
    }
    Kokkos::deep_copy(whole_, -99.0f);
    Kokkos::fence();
  }

  void concat(const Context& ctx) const { portops::concat(ctx, x_, whole_, {.axis = 1}); }
  void split(const Context& ctx) const { portops::split(ctx, whole_, out_, {.sections = sections_, .axis = 1}); }
  void concat_grad(const Context& ctx) const { portops::concat_grad(ctx, x_, whole_, out_, {.axis = 1}); }
  void split_grad(const Context& ctx) const {
    portops::split_grad(ctx, x_, whole_, {.sections = sections_, .axis = 1});
  }
  void overlapping(const Context& ctx) const { portops::concat(ctx, out_, out_.front(), {.axis = 1}); }
  void call(const Context& ctx) const {
    concat(ctx);
    split(ctx);
  }

  void expect_right(int salt) const {
    const auto whole = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole_);
    std::size_t before = 0;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copies_[k]);
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < copy.extent(1); ++j) {
          ASSERT_EQ(whole(i, before + j), value(k, i, j, salt)) << "part " << k << " at " << i << ", " << j;
          ASSERT_EQ(copy(i, j), value(k, i, j, salt)) << "part " << k << " at " << i << ", " << j;
        }
      }
      before += copy.extent(1);
    }
  }

 private:
  using View = Kokkos::View<float**, Layout, Memory>;
  static constexpr std::size_t rows = 3;

  static float value(std::size_t k, std::size_t i, std::size_t j, int salt) {
    return pattern(static_cast<std::int64_t>(k * 15 + i * 5 + j), salt);
  }

  View whole_;
  std::vector<View> parts_, copies_;
  std::vector<TensorRef> x_, out_;
  std::vector<std::int64_t> sections_;
};

template <class Space>
class ConcatContractTest : public testing::Test {
 protected:
  using Memory = typename Space::memory_space;
  using Problem = PartsProblem<Memory, Kokkos::LayoutRight>;

  ConcatContractTest() : space(new_instance<Space>()), ctx(space), few(10), many(1000) {
    many.call(ctx);
    Kokkos::fence();
  }

  std::vector<std::pair<std::string, std::function<void()>>> calls() {
    return {{"concat", [&] { few.concat(ctx); }},           {"split", [&] { few.split(ctx); }},
            {"concat_grad", [&] { few.concat_grad(ctx); }}, {"split_grad", [&] { few.split_grad(ctx); }},
            {"concat", [&] { many.concat(ctx); }},          {"split", [&] { many.split(ctx); }}};
  }

  Space space;
  Context ctx;
  Problem few, many;
};
TYPED_TEST_SUITE(ConcatContractTest, Spaces);

TYPED_TEST(ConcatContractTest, runs_labelled_kernels_on_its_instance_and_nothing_else) {
  for (const auto& [op, call] : this->calls()) {
    const auto events = events_of(call);
    const auto kernels = of_kind(events, Kind::kernel);
    EXPECT_FALSE(kernels.empty());
    for (const Event& kernel : kernels) {
      EXPECT_TRUE(is_label(kernel.name, op, true)) << kernel.name;
      EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
    }
    ASSERT_EQ(events.size(), kernels.size() + 2) << op << " does more than that";
    EXPECT_EQ(events.front().name, "portops::" + op);
    EXPECT_EQ(events.back().kind, Kind::pop);
  }
}

TYPED_TEST(ConcatContractTest, takes_one_kernel_for_as_many_tensors_as_its_arguments_hold) {
  const auto kernels = [](const std::function<void()>& call) { return of_kind(events_of(call), Kind::kernel).size(); };
  EXPECT_EQ(kernels([&] { this->few.concat(this->ctx); }), 1u);
  EXPECT_EQ(kernels([&] { this->few.split(this->ctx); }), 1u);
#if defined(KOKKOS_ENABLE_CUDA) && CUDART_VERSION < 12010
  constexpr std::size_t of_many = 3;
#else
  constexpr std::size_t of_many = 1;
#endif
  EXPECT_EQ(kernels([&] { this->many.concat(this->ctx); }), of_many);
}

TYPED_TEST(ConcatContractTest, enqueues_nothing_for_a_wrong_call) {
  const auto events = events_of([&] { this->few.overlapping(this->ctx); });
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, Kind::pop);
  EXPECT_EQ(events[2].kind, Kind::error);
}

template <class Space>
class ConcatInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(ConcatInstancesTest, Spaces);

TYPED_TEST(ConcatInstancesTest, serves_views_of_both_layouts) {
  using Memory = typename TypeParam::memory_space;
  const Context ctx = TypeParam();
  const auto check = [&](auto problem) {
    problem.fill(5);
    problem.call(ctx);
    ctx.fence();
    problem.expect_right(5);
  };
  for (const bool of_one_extent : {true, false}) {
    check(PartsProblem<Memory, Kokkos::LayoutRight>(700, of_one_extent));
    check(PartsProblem<Memory, Kokkos::LayoutLeft>(700, of_one_extent));
  }
}

TYPED_TEST(ConcatInstancesTest, do_not_disturb_each_other) {
  using Problem = PartsProblem<typename TypeParam::memory_space, Kokkos::LayoutRight>;
  Problem a(600), b(600, false);
  a.fill(1);
  b.fill(2);
  if (!call_in_turns<TypeParam>(
          20, [&](const Context& ctx) { a.call(ctx); }, [&](const Context& ctx) { b.call(ctx); })) {
    GTEST_SKIP() << "one thread cannot be shared out";
  }
  a.expect_right(1);
  b.expect_right(2);
}

#if defined(KOKKOS_ENABLE_CUDA)
/// The addresses of all tensors are in the graph: nothing that they were read from has to live on.
TEST(CudaGraphTest, captures_lists_of_tensors) {
  for (const bool of_one_extent : {true, false}) {
    const Stream stream;
    check_capture(stream, Context(Kokkos::Cuda(stream)),
                  PartsProblem<Kokkos::CudaSpace, Kokkos::LayoutRight>(1000, of_one_extent));
    check_capture(stream, Context(Kokkos::Cuda(stream)),
                  PartsProblem<Kokkos::CudaSpace, Kokkos::LayoutLeft>(10, of_one_extent));
  }
}
#endif

}  // namespace
}  // namespace portops::test
