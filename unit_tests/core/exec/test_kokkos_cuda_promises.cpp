// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_families.hpp"
#include "support/kokkos_cuda_support.hpp"

#if defined(KOKKOS_ENABLE_CUDA)

#include <portops/core/error.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/sequence_reverse.hpp>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

// That calls on a GPU wait for nobody, and fail for nobody else's sake.

namespace portops::test {
namespace {

/// Rows of one number, and the sequences that they are divided into reversed.
class Reversal {
 public:
  explicit Reversal(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)), levels_(make_levels()) {
    const auto numbers = Kokkos::create_mirror_view(x_);
    for (std::int64_t i = 0; i < rows(); ++i) numbers(i) = static_cast<float>(i);
    Kokkos::deep_copy(x_, numbers);
    forget();
  }

  Levels make_levels() const { return Levels::from_lengths(lengths_); }
  void forget() const {
    Kokkos::deep_copy(out_, -1.0f);
    Kokkos::fence();
  }
  void call(const Context& ctx, const Levels& levels) const { sequence_reverse(ctx, {x_, levels}, out_); }

  void expect_right(const Context& ctx) const {
    std::vector<float> out(static_cast<std::size_t>(rows()));
    copy(ctx, out_, TensorRef(out.data(), {rows()}));
    ctx.fence();
    std::size_t row = 0;
    for (const std::int64_t length : lengths_) {
      const std::size_t end = row + static_cast<std::size_t>(length);
      for (std::size_t i = row; i < end; ++i) ASSERT_EQ(out[i], static_cast<float>(end - 1 - (i - row))) << i;
      row = end;
    }
  }

 private:
  using View = Kokkos::View<float*, Kokkos::CudaSpace>;

  std::int64_t rows() const { return levels_.rows(); }

  std::vector<std::int64_t> lengths_;
  Levels levels_;
  View x_{"x", static_cast<std::size_t>(levels_.rows())}, out_{"out", static_cast<std::size_t>(levels_.rows())};
};

Context context_of(cudaStream_t stream) { return Context(Backend::cuda, stream); }

/// Keeps a stream busy until it is told to let go.
class Busy {
 public:
  explicit Busy(cudaStream_t stream) : stream_(stream) {
    EXPECT_CUDA(cudaLaunchHostFunc(stream, wait_until_released, &released_));
  }
  ~Busy() { released_ = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  void release() { released_ = true; }
  void expect_still_busy() const { EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady); }

 private:
  cudaStream_t stream_;
  std::atomic<bool> released_ = false;
};

/// Many sequences: their table is longer than what a copy from pageable memory takes without waiting.
const std::vector<std::int64_t> many(200000, 2);

TEST(CudaLevelsTest, come_and_go_while_another_instance_works) {
  const Stream first, second;
  const Context busy = context_of(first), other = context_of(second);
  const Reversal a({3, 0, 4}), b(many);
  a.call(busy, a.make_levels());
  b.call(other, b.make_levels());
  busy.fence();
  other.fence();
  a.forget();
  b.forget();

  Busy work(first);
  a.call(busy, a.make_levels());  // these end, and wait for the call
  for (int turn = 0; turn < 3; ++turn) b.call(other, b.make_levels());
  other.fence();
  work.expect_still_busy();
  work.release();
  b.expect_right(other);
  a.expect_right(busy);
}

TEST(CudaLevelsTest, are_kept_for_the_default_stream_of_each_thread) {
  const Stream stream;
  const Context other = context_of(stream);
  const Reversal a(many), b(many), c(std::vector<std::int64_t>(100000, 4));
  // The first calls of a process make the memory by which tables travel, for which CUDA waits for the device.
  for (const Reversal* each : {&a, &b, &c}) each->call(other, each->make_levels());
  other.fence();
  for (const Reversal* each : {&a, &b, &c}) each->forget();
  auto levels = std::make_unique<Levels>(a.make_levels());
  std::atomic<bool> release = false, is_over = false;
  std::atomic<int> ready = 0, called = 0;
  const auto wait_for = [](const std::atomic<int>& count, int expected) {
    while (count < expected) std::this_thread::yield();
  };
  std::optional<Context> of_first, of_second;  // their ends wait for the device
  const int device = Kokkos::Cuda().cuda_device();
  std::thread first([&] {
    EXPECT_CUDA(cudaSetDevice(device));  // whose default stream is meant
    of_first = context_of(cudaStreamPerThread);
    ++ready;
    wait_for(ready, 2);
    EXPECT_CUDA(cudaLaunchHostFunc(cudaStreamPerThread, wait_until_released, &release));
    a.call(*of_first, *levels);
    ++called;
    EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    is_over = true;
  });
  std::thread([&] {
    EXPECT_CUDA(cudaSetDevice(device));
    of_second = context_of(cudaStreamPerThread);
    ++ready;
    wait_for(called, 1);
    b.call(*of_second, *levels);
    EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  }).join();
  levels.reset();
  for (int turn = 0; turn < 10; ++turn) c.call(other, c.make_levels());  // would take the memory over
  other.fence();
  EXPECT_FALSE(is_over) << "the first call was to be under way until now";
  release = true;
  first.join();
  a.expect_right(other);
  b.expect_right(other);
}

TEST(CudaErrorsTest, that_the_application_left_behind_are_not_taken_for_those_of_a_call) {
  const Context ctx = Context(Kokkos::Cuda()).deterministic(true);
  AllFamilies work(ctx, 1);
  work.call(ctx, AllFamilies::make_levels());
  const auto expected = work.results(ctx);
  work.forget(ctx);
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_NO_THROW(work.call(ctx, AllFamilies::make_levels()));
  EXPECT_EQ(work.results(ctx), expected);
  cudaGetLastError();
}

struct Trap {
  KOKKOS_FUNCTION void operator()(int) const {
#if defined(__CUDA_ARCH__)
    __trap();
#endif
  }
};

/// The process that does this ends as if nothing had happened, but for a line of Kokkos' own.
[[noreturn]] void fail_on_device() {
  const Kokkos::Cuda space;
  Kokkos::parallel_for("trap", Kokkos::RangePolicy<Kokkos::Cuda>(space, 0, 1), Trap());
  try {
    Context(space).fence();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(0);
  }
  std::exit(1);
}

TEST(CudaDeathTest, a_device_that_failed_is_an_error_of_fence) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(fail_on_device(), testing::ExitedWithCode(0),
              "portops::Context::fence: cudaStreamSynchronize failed: unspecified launch failure");
}

TEST(CudaDeformConv2dTest, refuses_images_whose_samples_have_no_number) {
  constexpr std::int64_t half = 1 << 15;
  const Kokkos::View<float[2], Kokkos::CudaSpace> one("one"), grad("grad");
  const auto spread = [&](const Extents& extents) {
    return TensorRef(static_cast<const float*>(one.data()), extents, Extents::of_rank(extents.rank()),
                     MemorySpace::cuda);
  };
  const TensorRef x = spread({1, 1, 1, 1});
  const TensorRef x_grad(grad.data(), {1, 1, 1, 1}, MemorySpace::cuda);
  const Context ctx = Context(Kokkos::Cuda()).deterministic(true);
  const auto expect_refused = [&](std::int64_t taps, std::int64_t width, const std::vector<std::int64_t>& padding,
                                  const char* message) {
    try {
      deform_conv2d_grad(ctx, x, spread({1, 2 * taps, 2 * half, width}), spread({1, 1, 1, taps}),
                         spread({1, 1, 2 * half, width}), x_grad, {}, {}, {}, {}, {.padding = padding});
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), message);
    }
  };
  expect_refused(1, 2 * half, {half, half, half - 1, half - 1},
                 "portops::deform_conv2d_grad: out_grad has 4294967296 pixels an image, and weight 1 taps, expected a "
                 "product of at most 4294967295 for a deterministic x_grad on a GPU");
  expect_refused(2, half, {half, half / 2, half - 1, half / 2},
                 "portops::deform_conv2d_grad: out_grad has 2147483648 pixels an image, and weight 2 taps, expected a "
                 "product of at most 4294967295 for a deterministic x_grad on a GPU");
}

}  // namespace
}  // namespace portops::test

#endif
