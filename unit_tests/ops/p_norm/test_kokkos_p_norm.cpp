// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_p_norm_support.hpp"
#include "support/kokkos_events.hpp"
#include "support/support.hpp"

#include <cmath>
#include <cstring>

// p_norm and p_norm_grad on Views, and what their calls promise about how they run.

namespace portops::test {
namespace {

/// The norms of columns 4 to 13 of a plane, from row 1 to 7, and their gradients: each argument is a part of a block.
template <class Space, class Layout>
void check_subviews(double p) {
  using Block = Kokkos::View<float***, Layout, typename Space::memory_space>;
  const Block x("x", 9, 20, 6), out("out", 9, 20, 6), out_grad("out_grad", 9, 20, 6), x_grad("x_grad", 9, 20, 6);
  fill(x, 1);
  fill(out_grad, 2);
  Kokkos::deep_copy(out, -99.0f);
  Kokkos::deep_copy(x_grad, -99.0f);

  const Space space;
  const auto x_part = Kokkos::subview(x, Kokkos::pair(1, 8), Kokkos::pair(4, 14), 2);
  const auto out_part = Kokkos::subview(out, 3, Kokkos::pair(5, 15), 1);
  const auto out_grad_part = Kokkos::subview(out_grad, 4, Kokkos::pair(0, 10), 5);
  const auto x_grad_part = Kokkos::subview(x_grad, Kokkos::pair(2, 9), Kokkos::pair(0, 10), 5);
  p_norm(space, x_part, out_part, along(0, p));
  p_norm_grad(space, x_part, out_part, out_grad_part, x_grad_part, along(0, p));
  space.fence();

  const auto x_host = on_host(x), out_host = on_host(out), out_grad_host = on_host(out_grad);
  const auto x_grad_host = on_host(x_grad);
  std::vector<double> norms, ties;
  for (int j = 0; j < 10; ++j) {
    double sum = 0.0, most = 0.0, equal = 0.0;
    for (int i = 1; i < 8; ++i) {
      const double magnitude = std::abs(static_cast<double>(x_host(i, j + 4, 2)));
      sum += std::isinf(p) ? 0.0 : std::pow(magnitude, p);
      equal = magnitude > most ? 1.0 : magnitude == most ? equal + 1.0 : equal;
      most = std::max(most, magnitude);
    }
    norms.push_back(std::isinf(p) ? most : std::pow(sum, 1.0 / p));
    ties.push_back(equal);
  }
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 20; ++j) {
      for (int k = 0; k < 6; ++k) {
        const bool is_norm = i == 3 && j >= 5 && j < 15 && k == 1;
        ASSERT_NEAR(out_host(i, j, k), is_norm ? norms[static_cast<std::size_t>(j - 5)] : -99.0, 1e-5)
            << "p = " << p << ": " << i << ", " << j << ", " << k;
        double gradient = -99.0;
        if (i >= 2 && j < 10 && k == 5) {
          const auto column = static_cast<std::size_t>(j);
          const double element = x_host(i - 1, j + 4, 2), given = out_grad_host(4, j, 5);
          const double share = std::isinf(p) ? (std::abs(element) == norms[column] ? 1.0 / ties[column] : 0.0)
                                             : std::pow(std::abs(element) / norms[column], p - 1.0);
          gradient = sign_of(element) * share * given;
        }
        ASSERT_NEAR(x_grad_host(i, j, k), gradient, 1e-5) << "p = " << p << ": " << i << ", " << j << ", " << k;
      }
    }
  }
}

template <class Space>
class PNormOnViewsTest : public testing::Test {};
TYPED_TEST_SUITE(PNormOnViewsTest, Spaces);

TYPED_TEST(PNormOnViewsTest, reads_and_writes_subviews_of_every_layout) {
  for (const double p : {1.0, 2.0, 2.3, inf}) {
    check_subviews<TypeParam, Kokkos::LayoutLeft>(p);
    check_subviews<TypeParam, Kokkos::LayoutRight>(p);
  }
}

TYPED_TEST(PNormOnViewsTest, takes_const_inputs_and_views_of_rank_0) {
  need_type<double>();
  using Memory = typename TypeParam::memory_space;
  const Kokkos::View<double*, Memory> x("x", 16), x_grad("x_grad", 16);
  const Kokkos::View<double, Memory> out("out"), out_grad("out_grad");
  Kokkos::deep_copy(x, -0.5);
  Kokkos::deep_copy(out_grad, 4.0);
  const Kokkos::View<const double*, Memory> const_x = x;
  const Kokkos::View<const double, Memory> const_out = out, const_out_grad = out_grad;
  const TypeParam space;
  p_norm(space, const_x, out);
  p_norm_grad(space, const_x, const_out, const_out_grad, x_grad);
  space.fence();
  EXPECT_NEAR(on_host(out)(), 2.0, 1e-12);
  const auto gradient = on_host(x_grad);
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(gradient(i), -1.0, 1e-11);
  EXPECT_THROW(p_norm(space, const_x, const_out), Error);
}

/// A call on any context, and the bytes of workspace that it asks for.
struct Call {
  std::string op;
  std::function<void(const Context&)> run;
  std::function<std::size_t(const Context&)> workspace;
};

/// Memory to lend, with bytes behind it that must not change.
template <class Space>
class LentMemory {
 public:
  explicit LentMemory(std::size_t bytes) : bytes_(bytes), memory_("lent", alignment + bytes + 4096) {
    Kokkos::deep_copy(memory_, untouched);
    Kokkos::fence();
  }

  void* data() const { return memory_.data() + first(); }

  bool is_untouched_behind() const {
    const auto host = on_host(memory_);
    return std::all_of(host.data() + first() + bytes_, host.data() + host.span(),
                       [](unsigned char byte) { return byte == untouched; });
  }

 private:
  static constexpr std::size_t alignment = 256;
  static constexpr unsigned char untouched = 0x5c;

  std::size_t first() const {
    return (alignment - reinterpret_cast<std::uintptr_t>(memory_.data()) % alignment) % alignment;
  }

  std::size_t bytes_;
  Kokkos::View<unsigned char*, typename Space::memory_space> memory_;
};

template <class Space>
class PNormContractTest : public testing::Test {
 protected:
  using Memory = typename Space::memory_space;
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;
  using Vector = Kokkos::View<float*, Memory>;
  using Number = Kokkos::View<float, Memory>;

  PNormContractTest() : space(new_instance<Space>()), ctx(space) {
    fill(x, 1);
    for (const Vector* vector : {&row_norms, &row_grads, &column_norms, &column_grads}) {
      Kokkos::deep_copy(*vector, 3.0f);
    }
    Kokkos::deep_copy(norm_of_all, 3.25f);
    Kokkos::deep_copy(grad_of_all, 2.0f);
    // What Kokkos allocates for itself at the first kernels of an instance is not the call's.
    for (const Call& call : calls()) call.run(ctx);
    Kokkos::fence();
  }

  Call norm(const TensorRef& out, const PNormParams& params) const {
    const TensorRef from = x;
    return {"p_norm", [=](const Context& on) { p_norm(on, from, out, params); },
            [=](const Context& on) { return p_norm_workspace(on, from, out, params); }};
  }

  Call gradient(const TensorRef& out, const TensorRef& out_grad, const PNormParams& params) const {
    const TensorRef from = x, to = x_grad;
    return {"p_norm_grad", [=](const Context& on) { p_norm_grad(on, from, out, out_grad, to, params); },
            [=](const Context& on) { return p_norm_grad_workspace(on, from, out, out_grad, to, params); }};
  }

  std::vector<Call> calls() const {
    std::vector<Call> all;
    for (const double p : {0.0, 2.0, 2.3, inf, -inf}) {
      all.push_back(norm(rows, along(1, p)));
      all.push_back(norm(columns, along(0, p)));
      all.push_back(norm(number, along_all(p)));
      all.push_back(gradient(row_norms, row_grads, along(1, p)));
      all.push_back(gradient(column_norms, column_grads, along(0, p)));
      all.push_back(gradient(norm_of_all, grad_of_all, along_all(p)));
    }
    return all;
  }

  std::vector<Call> wrong_calls() const {
    return {norm(columns, along(1, 2.0)),
            norm(rows, along(2, 2.0)),
            norm(rows, along(1, std::numeric_limits<double>::quiet_NaN())),
            norm({}, along(1, 2.0)),
            norm(x, along(1, 2.0)),
            gradient(column_norms, row_grads, along(1, 2.0)),
            gradient(row_norms, column_grads, along(1, 2.0)),
            gradient(row_norms, {}, along(1, 2.0))};
  }

  /// Everything that the calls write.
  std::vector<float> results() const {
    ctx.fence();
    std::vector<float> values;
    append(values, rows);
    append(values, columns);
    append(values, number);
    append(values, x_grad);
    return values;
  }

  void forget_results() const {
    Kokkos::deep_copy(rows, -77.0f);
    Kokkos::deep_copy(columns, -77.0f);
    Kokkos::deep_copy(number, -77.0f);
    Kokkos::deep_copy(x_grad, -77.0f);
    Kokkos::fence();
  }

  Space space;
  Context ctx;
  Matrix x{"x", 40, 9000}, x_grad{"x_grad", 40, 9000};
  Vector rows{"rows", 40}, row_norms{"row_norms", 40}, row_grads{"row_grads", 40};
  Vector columns{"columns", 9000}, column_norms{"column_norms", 9000}, column_grads{"column_grads", 9000};
  Number number{"number"}, norm_of_all{"norm_of_all"}, grad_of_all{"grad_of_all"};
};
TYPED_TEST_SUITE(PNormContractTest, Spaces);

TYPED_TEST(PNormContractTest, runs_every_kernel_on_the_instance_of_the_context) {
  for (const Call& call : this->calls()) {
    const auto kernels = of_kind(events_of([&] { call.run(this->ctx); }), Kind::kernel);
    EXPECT_FALSE(kernels.empty());
    for (const Event& kernel : kernels) EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
  }
}

TYPED_TEST(PNormContractTest, labels_every_kernel_and_allocation) {
  bool allocates = false;
  for (const Call& call : this->calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    for (const Event& event : of_kind(events, Kind::kernel)) {
      EXPECT_TRUE(is_label(event.name, call.op, true)) << event.name;
    }
    const auto allocations = of_kind(events, Kind::allocation);
    for (const Event& event : allocations) EXPECT_TRUE(is_label(event.name, call.op, false)) << event.name;
    EXPECT_EQ(allocations.size(), of_kind(events, Kind::deallocation).size());
    allocates = allocates || !allocations.empty();
  }
  EXPECT_TRUE(allocates) << "long reductions need a temporary";
}

TYPED_TEST(PNormContractTest, never_fences_and_copies_nothing) {
  const auto check = [&](const Context& context) {
    for (const Call& call : this->calls()) {
      const auto events = events_of([&] { call.run(context); });
      for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << call.op << " fences: " << fence.name;
      for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << call.op << " copies: " << copy.name;
    }
    context.fence();
  };
  check(this->ctx);
  check(new_instance<TypeParam>());
}

TYPED_TEST(PNormContractTest, opens_a_region_around_everything) {
  for (const Call& call : this->calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    ASSERT_GE(events.size(), 2u);
    EXPECT_EQ(events.front().kind, Kind::push);
    EXPECT_EQ(events.front().name, "portops::" + call.op);
    EXPECT_EQ(events.back().kind, Kind::pop);
    EXPECT_EQ(of_kind(events, Kind::push).size(), 1u);
    EXPECT_EQ(of_kind(events, Kind::pop).size(), 1u);
  }
}

TYPED_TEST(PNormContractTest, that_is_wrong_enqueues_nothing_and_closes_its_region) {
  for (const Call& call : this->wrong_calls()) {
    const auto events = events_of([&] { call.run(this->ctx); });
    ASSERT_EQ(events.size(), 3u) << call.op;
    EXPECT_EQ(events[0].kind, Kind::push);
    EXPECT_EQ(events[0].name, "portops::" + call.op);
    EXPECT_EQ(events[1].kind, Kind::pop);
    EXPECT_EQ(events[2].kind, Kind::error);
  }
}

TYPED_TEST(PNormContractTest, takes_one_pass_over_the_elements) {
  for (const Call& call : this->calls()) {
    if (call.op != "p_norm") continue;
    // One kernel over x, and one that joins the partial results of long reductions.
    EXPECT_LE(of_kind(events_of([&] { call.run(this->ctx); }), Kind::kernel).size(), 2u);
  }
  for (const double p : {0.0, 1.0, 2.0, 2.3}) {
    const Call gradient = this->gradient(this->row_norms, this->row_grads, along(1, p));
    EXPECT_EQ(of_kind(events_of([&] { gradient.run(this->ctx); }), Kind::kernel).size(), 1u) << "p = " << p;
  }
}

TYPED_TEST(PNormContractTest, enqueues_and_allocates_nothing_for_a_gradient_that_is_not_wanted) {
  for (const double p : {0.0, 2.0, inf}) {
    const auto events =
        events_of([&] { p_norm_grad(this->ctx, this->x, this->row_norms, this->row_grads, TensorRef(), along(1, p)); });
    EXPECT_TRUE(of_kind(events, Kind::kernel).empty()) << "p = " << p;
    EXPECT_TRUE(of_kind(events, Kind::allocation).empty()) << "p = " << p;
    EXPECT_TRUE(of_kind(events, Kind::error).empty()) << "p = " << p;
  }
}

TYPED_TEST(PNormContractTest, is_content_with_the_workspace_that_it_asks_for_and_with_no_less) {
  bool lends = false;
  for (const Call& call : this->calls()) {
    const std::size_t bytes = call.workspace(this->ctx);
    if (bytes == 0) {
      EXPECT_TRUE(of_kind(events_of([&] { call.run(this->ctx); }), Kind::allocation).empty()) << call.op;
      continue;
    }
    lends = true;
    this->forget_results();
    call.run(this->ctx);
    const std::vector<float> expected = this->results();

    this->forget_results();
    const LentMemory<TypeParam> memory(bytes);
    const auto lent = events_of([&] { call.run(Context(this->ctx).workspace({memory.data(), bytes})); });
    EXPECT_TRUE(of_kind(lent, Kind::error).empty()) << call.op;
    EXPECT_TRUE(of_kind(lent, Kind::allocation).empty()) << call.op;
    const std::vector<float> found = this->results();
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0) << call.op;
    EXPECT_TRUE(memory.is_untouched_behind()) << call.op << " writes behind its workspace";

    const auto refused = events_of([&] { call.run(Context(this->ctx).workspace({memory.data(), bytes - 1})); });
    EXPECT_TRUE(of_kind(refused, Kind::kernel).empty()) << call.op;
    const auto errors = of_kind(refused, Kind::error);
    ASSERT_EQ(errors.size(), 1u) << call.op;
    EXPECT_EQ(errors[0].name.find("portops::" + call.op + "::"), 0u) << errors[0].name;
    EXPECT_NE(errors[0].name.find(": the workspace has " + std::to_string(bytes - 1) + " bytes, expected at least " +
                                  std::to_string(bytes)),
              std::string::npos)
        << errors[0].name;
  }
  EXPECT_TRUE(lends) << "long reductions need a workspace";
}

}  // namespace
}  // namespace portops::test
