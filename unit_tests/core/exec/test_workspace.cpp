// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/ops/lerp.hpp>

#include "core/exec/workspace.hpp"

// A workspace that the caller lends, with lerp_grad over broadcast operands, whose sums need one.

namespace portops::test {
namespace {

class WorkspaceTest : public OnEveryBackend {
 protected:
  static constexpr std::size_t alignment = 256;

  WorkspaceTest() {
    x_.fill_randomly(1);
    y_.fill_randomly(2);
    weight_.fill_randomly(3);
    out_grad_.fill_randomly(4);
  }

  void call(const Context& context) {
    lerp_grad(context, x_.ref(), y_.ref(), weight_.ref(), out_grad_.ref(), x_grad_.ref(), y_grad_.ref(),
              weight_grad_.ref());
  }

  /// All results, one after the other.
  std::vector<float> results() {
    std::vector<float> values;
    for (TestTensor<float>* gradient : {&x_grad_, &y_grad_, &weight_grad_}) {
      gradient->download();
      for (std::int64_t i = 0; i < gradient->extents().product(); ++i) values.push_back(gradient->element(i));
    }
    return values;
  }

  void forget_results() {
    for (TestTensor<float>* gradient : {&x_grad_, &y_grad_, &weight_grad_}) {
      gradient->fill([](std::int64_t) { return -77.0; });
    }
  }

  std::size_t needed() {
    return lerp_grad_workspace(ctx, x_.ref(), y_.ref(), weight_.ref(), out_grad_.ref(), x_grad_.ref(), y_grad_.ref(),
                               weight_grad_.ref());
  }

  TestTensor<float> x_{ctx, {70, 300}}, y_{ctx, {300}}, weight_{ctx, {70, 1}}, out_grad_{ctx, {70, 300}};
  TestTensor<float> x_grad_{ctx, {70, 300}}, y_grad_{ctx, {300}}, weight_grad_{ctx, {70, 1}};
};
PORTOPS_ON_EVERY_BACKEND(WorkspaceTest);

/// Bytes in the backend's memory, from an aligned address on, with a copy on the host.
class Bytes {
 public:
  Bytes(const Context& ctx, std::size_t size, std::size_t alignment)
      : ctx_(ctx),
        host_(size),
        memory_(ElementType::f32, {static_cast<std::int64_t>((size + alignment) / 4 + 1)},
                default_memory_space(ctx.backend())) {
    const std::size_t behind = reinterpret_cast<std::uintptr_t>(memory_.ref().data()) % alignment;
    first_ = memory_.data<std::byte>() + (alignment - behind) % alignment;
  }

  std::byte* data() const { return first_; }

  void fill(std::byte value) {
    std::fill(host_.begin(), host_.end(), value);
    copy(ctx_, host(), device());
    ctx_.fence();
  }

  const std::vector<std::byte>& download() {
    copy(ctx_, device(), host());
    ctx_.fence();
    return host_;
  }

 private:
  // As elements of 2 bytes: the sizes here are even.
  TensorRef host() { return tensor(host_.data(), MemorySpace::host); }
  TensorRef device() { return tensor(first_, memory_.ref().space()); }
  TensorRef tensor(std::byte* data, MemorySpace space) const {
    return {data, ElementType::bf16, {static_cast<std::int64_t>(host_.size() / 2)}, {1}, space};
  }

  const Context& ctx_;
  std::vector<std::byte> host_;
  Tensor memory_;
  std::byte* first_;
};

TEST_P(WorkspaceTest, of_the_size_that_is_asked_for_is_used_and_not_left) {
  call(ctx);
  const std::vector<float> expected = results();
  forget_results();

  const std::size_t size = needed();
  ASSERT_GT(size, 0u);
  constexpr std::size_t behind = 4096;
  Bytes bytes(ctx, size + behind, alignment);
  bytes.fill(std::byte{0x5c});
  call(Context(ctx).workspace({bytes.data(), size}));
  EXPECT_EQ(results(), expected);

  const std::vector<std::byte>& after = bytes.download();
  const auto end = after.begin() + static_cast<std::ptrdiff_t>(size);
  const auto is_pattern = [](std::byte byte) { return byte == std::byte{0x5c}; };
  EXPECT_FALSE(std::all_of(after.begin(), end, is_pattern)) << "the workspace was not used";
  EXPECT_TRUE(std::all_of(end, after.end(), is_pattern)) << "memory behind the workspace was written";
}

TEST_P(WorkspaceTest, that_is_larger_does_as_well) {
  call(ctx);
  const std::vector<float> expected = results();
  forget_results();
  const std::size_t size = 2 * needed();
  const Bytes bytes(ctx, size, alignment);
  call(Context(ctx).workspace({bytes.data(), size}));
  EXPECT_EQ(results(), expected);
}

TEST_P(WorkspaceTest, that_is_too_small_is_refused_and_nothing_written) {
  const std::size_t size = needed();
  const Bytes bytes(ctx, size, alignment);
  forget_results();
  const std::vector<float> before = results();
  expect_error([&] { call(Context(ctx).workspace({bytes.data(), size - 1})); },
               "portops::lerp_grad::partials: the workspace has " + std::to_string(size - 1) +
                   " bytes, expected at least " + std::to_string(size));
  EXPECT_EQ(results(), before);
}

TEST_P(WorkspaceTest, that_is_misaligned_is_refused_and_nothing_written) {
  const std::size_t size = needed();
  const Bytes bytes(ctx, size + alignment, alignment);
  forget_results();
  const std::vector<float> before = results();
  try {
    call(Context(ctx).workspace({bytes.data() + 8, size + alignment - 8}));
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find("portops::lerp_grad::partials: the workspace at 0x"), 0u) << message;
    EXPECT_NE(message.find("is not aligned, expected a multiple of"), std::string::npos) << message;
  }
  EXPECT_EQ(results(), before);
}

TEST_P(WorkspaceTest, for_which_there_is_no_memory_is_said_to_be_too_large) {
  expect_error([&] { impl::Temporary(ctx, "portops::test", std::size_t{1} << 50); },
               "portops::test: no memory for 1125899906842624 bytes");
}

TEST_P(WorkspaceTest, is_not_needed_where_nothing_is_summed) {
  TestTensor<float> y(ctx, {70, 300}), y_grad(ctx, {70, 300});
  y.fill_randomly(5);
  EXPECT_EQ(lerp_grad_workspace(ctx, x_.ref(), y.ref(), 0.3, out_grad_.ref(), x_grad_.ref(), y_grad.ref()), 0u);
  std::byte one;
  const Context lending = Context(ctx).workspace({&one, 1});
  EXPECT_NO_THROW(lerp_grad(lending, x_.ref(), y.ref(), 0.3, out_grad_.ref(), x_grad_.ref(), y_grad.ref()));
  lending.fence();
}

TEST_P(WorkspaceTest, is_not_needed_for_gradients_that_are_not_wanted) {
  const std::size_t with_all = needed();
  const std::size_t x_alone =
      lerp_grad_workspace(ctx, x_.ref(), y_.ref(), weight_.ref(), out_grad_.ref(), x_grad_.ref(), {});
  EXPECT_EQ(x_alone, 0u) << "x was not broadcast";
  EXPECT_GT(with_all, x_alone);
  EXPECT_EQ(lerp_grad_workspace(ctx, x_.ref(), y_.ref(), weight_.ref(), out_grad_.ref(), {}, {}), 0u);
}

TEST_P(WorkspaceTest, has_a_size_that_depends_on_nothing_but_the_call) {
  EXPECT_EQ(needed(), needed());
  // The size is asked for with all checks.
  expect_error([&] { lerp_grad_workspace(ctx, x_.ref(), y_.ref(), weight_.ref(), x_.ref(), y_grad_.ref(), {}); },
               "portops::lerp_grad: x_grad has extents [300], expected [70, 300] (the extents of x)");
}

/// The size is enough for every shape and type, and one byte less is not.
TEST_P(WorkspaceTest, has_the_exact_size_for_every_pattern) {
  for_each_type([&]<class T>() {
    const Extents shape{5, 33, 40};
    for (unsigned mask = 0; mask < 8; ++mask) {
      Extents y_shape = shape;
      for (int axis = 0; axis < 3; ++axis) {
        if ((mask >> axis & 1u) == 0) y_shape[axis] = 1;
      }
      TestTensor<T> x(ctx, shape), y(ctx, y_shape), out_grad(ctx, shape), x_grad(ctx, shape), y_grad(ctx, y_shape);
      out_grad.fill_randomly(1);
      const auto run = [&](const Context& context) {
        lerp_grad(context, x.ref(), y.ref(), 0.3, out_grad.ref(), x_grad.ref(), y_grad.ref());
      };
      run(ctx);
      y_grad.download();
      const std::size_t size =
          lerp_grad_workspace(ctx, x.ref(), y.ref(), 0.3, out_grad.ref(), x_grad.ref(), y_grad.ref());
      if (size == 0) continue;
      const Bytes bytes(ctx, size, alignment);
      TestTensor<T> again(ctx, y_shape);
      lerp_grad(Context(ctx).workspace({bytes.data(), size}), x.ref(), y.ref(), 0.3, out_grad.ref(), x_grad.ref(),
                again.ref());
      again.download();
      for (std::int64_t i = 0; i < y_shape.product(); ++i) ASSERT_EQ(again[i], y_grad[i]) << y_shape.to_string();
      EXPECT_THROW(run(Context(ctx).workspace({bytes.data(), size - 1})), Error) << y_shape.to_string();
    }
  });
}

}  // namespace
}  // namespace portops::test
