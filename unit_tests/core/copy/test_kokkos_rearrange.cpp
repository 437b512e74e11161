// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/copy_together.hpp"
#include "support/kokkos_support.hpp"
#include "support/sanitized.hpp"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

// Copies between layouts: every kernel that rearrange() chooses from, each width of its accesses, whole and partial
// tiles, and what lies between the elements.

namespace portops::test {
namespace {

using impl::Rearrangement;

/// A layout of [batches, rows, height, width] in a piece of memory.
struct Lie {
  const char* name;
  bool rows_fastest;
  std::int64_t first;    ///< the first element's place
  std::int64_t gap = 0;  ///< elements between lines
  std::int64_t y_gap = 0;

  Rearrangement::Side side(const Rearrangement& of) const {
    Rearrangement::Side result;
    if (rows_fastest) {
      result.row = 1;
      result.x = of.rows + gap;
      result.y = of.width * result.x + y_gap;
      result.batch = of.height * result.y;
    } else {
      result.x = 1;
      result.y = of.width + y_gap;
      result.row = of.height * result.y + gap;
      result.batch = of.rows * result.row;
    }
    return result;
  }
};

const std::vector<Lie> lies{{"columns fastest", false, 0},
                            {"rows fastest", true, 0},
                            {"columns fastest, one on", false, 1},
                            {"rows fastest, two on", true, 2},
                            {"columns fastest, with gaps of 8", false, 8, 8},
                            {"rows fastest, with gaps of 2", true, 0, 2},
                            {"columns fastest, with gaps between y", false, 0, 4, 4},
                            {"rows fastest, with gaps between y", true, 0, 0, 3}};

/// Batches, rows, height and width.
constexpr std::int64_t shapes[][4] = {
    {1, 1, 1, 1},   {2, 64, 8, 16},   {3, 66, 5, 10},  {2, 33, 3, 21},  {4, 300, 3, 3}, {2, 5, 1, 77},
    {1, 16, 1, 16}, {2, 200, 1, 136}, {1, 3, 40, 50},  {1, 4100, 1, 1}, {2, 25, 9, 19}, {2, 131, 5, 6},
    {2, 97, 25, 3}, {2, 17, 1, 129},  {2, 2, 1, 5000}, {1, 4, 3, 300},  {2, 300, 1, 3}, {1, 5000, 1, 2},
    {3, 129, 1, 4}, {3, 1000, 1, 9},  {2, 16, 5, 5}};

/// run(space, what) rearranges.
template <class Space, class From, class To, class Run>
void check_rearrange(Rearrangement what, const Lie& from, const Lie& to, const Run& run) {
  const auto memory_of = [&](const Rearrangement::Side& side, const Lie& lie) {
    return lie.first + (what.batches - 1) * side.batch + (what.rows - 1) * side.row + (what.height - 1) * side.y +
           (what.width - 1) * side.x + 3;
  };
  what.from = from.side(what);
  what.to = to.side(what);
  const Kokkos::View<From*, Space> source("source", memory_of(what.from, from));
  const Kokkos::View<To*, Space> target("target", memory_of(what.to, to));
  const auto host_source = Kokkos::create_mirror_view(source);
  const auto host_target = Kokkos::create_mirror_view(target);
  constexpr float untouched = -77.0f;
  for (std::size_t i = 0; i < host_source.size(); ++i) host_source(i) = From(pattern(static_cast<std::int64_t>(i)));
  for (std::size_t i = 0; i < host_target.size(); ++i) host_target(i) = To(untouched);
  Kokkos::deep_copy(source, host_source);
  Kokkos::deep_copy(target, host_target);
  std::vector<float> expected(host_target.size(), untouched);
  for (std::int64_t b = 0; b < what.batches; ++b) {
    for (std::int64_t r = 0; r < what.rows; ++r) {
      for (std::int64_t y = 0; y < what.height; ++y) {
        for (std::int64_t x = 0; x < what.width; ++x) {
          const auto at = [&](const Rearrangement::Side& side, const Lie& lie) {
            return static_cast<std::size_t>(lie.first + b * side.batch + r * side.row + y * side.y + x * side.x);
          };
          expected[at(what.to, to)] = static_cast<float>(To(static_cast<float>(host_source(at(what.from, from)))));
        }
      }
    }
  }
  what.from.data = source.data() + from.first;
  what.to.data = target.data() + to.first;
  what.merge_columns();
  const Space space;
  run(space, what);
  space.fence();
  Kokkos::deep_copy(host_target, target);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(static_cast<float>(host_target(i)), expected[i])
        << "element " << i << ", from " << from.name << " to " << to.name;
  }
}

template <class Space, class From, class To, class Run>
void check_all_with(const Run& run) {
  for (const auto& [batches, rows, height, width] : shapes) {
    SCOPED_TRACE("[" + std::to_string(batches) + ", " + std::to_string(rows) + ", " + std::to_string(height) + ", " +
                 std::to_string(width) + "]");
    for (const Lie& from : lies) {
      for (const Lie& to : lies) {
        check_rearrange<Space, From, To>({batches, rows, height, width, {}, {}}, from, to, run);
      }
    }
  }
}

template <class Space, class From, class To>
void check_all() {
  check_all_with<Space, From, To>([](const Space& space, const Rearrangement& what) {
    impl::rearrange<ExecutionSpaceAdapter<Space>::backend, From, To>(space, "test", what);
  });
}

/// The kernel of GPUs for few elements, on the host.
template <class From, class To>
void check_few() {
  using Host = Kokkos::DefaultHostExecutionSpace;
  check_all_with<Host, From, To>([](const Host&, const Rearrangement& what) {
    const impl::RearrangeFew<From, To> kernel(what);
    for (std::int64_t item = 0; item < kernel.items(); ++item) kernel(item);
  });
}

#if defined(KOKKOS_ENABLE_CUDA)
/// A kernel of GPUs, of all that it suits, few elements too.
template <class Kernel, class From, class To>
void check_kernel() {
  constexpr Backend B = Backend::cuda;
  int suited = 0;
  check_all_with<Kokkos::Cuda, From, To>([&](const Kokkos::Cuda& space, const Rearrangement& what) {
    if constexpr (requires { Kernel::suits(what); }) {
      if (!Kernel::suits(what)) return impl::rearrange<B, From, To>(space, "test", what);
    }
    ++suited;
    if constexpr (requires { &Kernel::teams; }) {
      impl::launch_by_teams<B>(space, "test", Kernel(what));
    } else {
      impl::launch_by_items<B>(space, "test", Kernel(what));
    }
  });
  EXPECT_GT(suited, 0);
}

template <class From, class To>
void check_kernels() {
  constexpr Backend B = Backend::cuda;
  constexpr bool are_halves = sizeof(From) == 2 && sizeof(To) == 2;
  constexpr int side = are_halves ? 8 : 4;
  check_kernel<impl::RearrangeBlocks<B, From, To, side, side>, From, To>();
  if constexpr (are_halves) check_kernel<impl::RearrangeBlocks<B, From, To, 2, side>, From, To>();
  check_kernel<impl::RearrangeShortRows<B, From, To>, From, To>();
  check_kernel<impl::RearrangeLines<From, To>, From, To>();
  check_kernel<impl::RearrangeTiles<B, From, To>, From, To>();
  if constexpr (!std::is_same_v<From, To>) check_kernel<impl::RearrangeRun<From, To>, From, To>();
}
#endif

/// Copies in a call's memory, each into its own part of another one, and zeros behind them, by run(space, copies).
template <class Space, class From, class To, class Run>
void check_together_with(std::int64_t scale, const Run& run) {
  constexpr std::int64_t extents[][3] = {{1, 16, 49}, {3, 5, 9}, {2, 8, 33}};
  static_assert(std::size(extents) == impl::Copies::most);
  struct Part {
    std::int64_t begin, batches, rows, columns;
  };
  for (std::size_t count = 0; count <= impl::Copies::most; ++count) {
    for (const bool has_zeros : {false, true}) {
      SCOPED_TRACE(std::to_string(count) + (has_zeros ? " copies and zeros" : " copies"));
      std::vector<Part> parts;
      std::int64_t size = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto& [batches, rows, columns] = extents[i];
        parts.push_back({size, batches * scale, rows, columns});
        // Each begins where packs may.
        size += (batches * scale * rows * columns + 15) / 16 * 16;
      }
      constexpr std::int64_t zeros = 160;
      const Kokkos::View<From*, Space> source("source", size);
      const Kokkos::View<To*, Space> target("target", size + 2 * zeros);
      const auto host_source = Kokkos::create_mirror_view(source);
      const auto host_target = Kokkos::create_mirror_view(target);
      constexpr float untouched = -77.0f;
      for (std::size_t i = 0; i < host_source.size(); ++i) host_source(i) = From(pattern(static_cast<std::int64_t>(i)));
      for (std::size_t i = 0; i < host_target.size(); ++i) host_target(i) = To(untouched);
      Kokkos::deep_copy(source, host_source);
      Kokkos::deep_copy(target, host_target);
      std::vector<float> expected(host_target.size(), untouched);
      impl::Copies copies;
      for (const Part& part : parts) {
        const std::int64_t batch = part.rows * part.columns;
        copies.add({part.batches,
                    part.rows,
                    1,
                    part.columns,
                    {source.data() + part.begin, batch, part.columns, batch, 1},
                    {target.data() + part.begin, batch, 1, batch, part.rows}});
        for (std::int64_t i = 0; i < part.batches * batch; ++i) {
          const std::int64_t b = i / batch, row = i % batch / part.columns, column = i % part.columns;
          expected[static_cast<std::size_t>(part.begin + b * batch + column * part.rows + row)] =
              static_cast<float>(To(static_cast<float>(host_source(static_cast<std::size_t>(part.begin + i)))));
        }
      }
      if (has_zeros) copies.add_zeros(target.data() + size, zeros * sizeof(To));
      for (std::int64_t i = 0; has_zeros && i < zeros; ++i) expected[static_cast<std::size_t>(size + i)] = 0;
      copies.add({0, 3, 1, 5, {source.data(), 15, 5, 15, 1}, {target.data(), 15, 1, 15, 3}});  // nothing
      EXPECT_EQ(copies.count(), count + (has_zeros ? 1 : 0));
      const Space space;
      run(space, copies);
      space.fence();
      Kokkos::deep_copy(host_target, target);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(static_cast<float>(host_target(i)), expected[i]) << "element " << i;
      }
    }
  }
}

template <class Space, class From, class To>
void check_together(std::int64_t scale) {
  check_together_with<Space, From, To>(scale, [](const Space& space, const impl::Copies& copies) {
    impl::copy_together<ExecutionSpaceAdapter<Space>::backend, From, To>(space, "test", copies);
  });
}

/// The kernel of GPUs for copies together, on the host.
template <class From, class To>
void check_kernel_together() {
  using Host = Kokkos::DefaultHostExecutionSpace;
  check_together_with<Host, From, To>(1, [](const Host&, const impl::Copies& copies) {
    using Together = impl::CopyTogether<From, To>;
    EXPECT_EQ(Together::suits(copies), copies.count() > 1);
    const Together kernel(copies);
    for (std::int64_t item = 0; item < kernel.items(); ++item) kernel(item);
  });
}

/// The kernel of GPUs for lines, on the host: the threads of each team one after the other, up to its barrier and then
/// behind it. Of any number of rows and columns, as it is right for all.
template <class From, class To>
void check_lines() {
  using Host = Kokkos::DefaultHostExecutionSpace;
  check_all_with<Host, From, To>([](const Host&, const Rearrangement& what) {
    const impl::RearrangeLines<From, To> kernel(what);
    std::vector<To> scratch(kernel.scratch_bytes() / sizeof(To));
    for (std::int64_t tile = 0; tile < kernel.teams(); ++tile) {
      for (int thread = 0; thread < kernel.threads; ++thread) kernel.read(tile, thread, scratch.data());
      for (int thread = 0; thread < kernel.threads; ++thread) kernel.write(tile, thread, scratch.data());
    }
  });
}

template <class Space>
class RearrangeTest : public testing::Test {};
TYPED_TEST_SUITE(RearrangeTest, Spaces);

TYPED_TEST(RearrangeTest, copies_between_all_layouts) {
  check_all<TypeParam, double, double>();
  check_all<TypeParam, float, float>();
  check_all<TypeParam, f16, f16>();
}

TYPED_TEST(RearrangeTest, rounds_where_types_differ) {
  check_all<TypeParam, float, f16>();
  check_all<TypeParam, float, bf16>();
}

TYPED_TEST(RearrangeTest, copies_together) {
  check_together<TypeParam, double, double>(1);
  check_together<TypeParam, float, float>(1);
  check_together<TypeParam, f16, f16>(1);
  check_together<TypeParam, float, bf16>(1);
}

TYPED_TEST(RearrangeTest, copies_together_what_is_much) {
  if (is_sanitized()) return;
  check_together<TypeParam, float, float>(1200);
  check_together<TypeParam, float, f16>(1200);
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(RearrangeKernelsTest, copies_between_all_layouts) {
  check_kernels<double, double>();
  check_kernels<float, float>();
  check_kernels<f16, f16>();
  check_kernels<float, bf16>();
}
#endif

TEST(RearrangeFewTest, copies_between_all_layouts_as_on_gpus) {
  check_few<double, double>();
  check_few<f16, f16>();
  check_few<float, bf16>();
}

TEST(CopyTogetherTest, copies_and_zeros_as_on_gpus) {
  check_kernel_together<double, double>();
  check_kernel_together<float, float>();
  check_kernel_together<f16, f16>();
  check_kernel_together<float, bf16>();
}

TEST(CopyTogetherTest, leaves_much_to_other_kernels) {
  float data = 0;
  const Rearrangement whole{1, 1, 1, 64, {&data, 64, 64, 64, 1}, {&data, 64, 64, 64, 1}};
  impl::Copies copies;
  copies.add(whole);
  EXPECT_FALSE((impl::CopyTogether<float, float>::suits(copies)));  // one
  copies.add_zeros(&data, 64);
  EXPECT_TRUE((impl::CopyTogether<float, float>::suits(copies)));
  Rearrangement much = whole;
  much.batches = std::int64_t{1} << 40;
  copies.add(much);
  EXPECT_FALSE((impl::CopyTogether<float, float>::suits(copies)));
  impl::Copies zeros;
  zeros.add(whole);
  zeros.add_zeros(&data, std::size_t{1} << 30);
  EXPECT_FALSE((impl::CopyTogether<float, float>::suits(zeros)));
}

TEST(RearrangeLinesTest, copies_between_all_layouts_as_on_gpus) {
  check_lines<double, double>();
  if (is_sanitized()) return;
  check_lines<float, float>();
  check_lines<f16, f16>();
  check_lines<float, bf16>();
}

}  // namespace
}  // namespace portops::test
