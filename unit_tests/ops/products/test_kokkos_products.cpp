// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "product_reference.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

// What calls of matmul, linear and their gradients promise about how they run.

namespace portops::test {
namespace {

template <class Space>
class ProductsContractTest : public testing::Test {
 protected:
  using View = Kokkos::View<float***, Kokkos::LayoutRight, typename Space::memory_space>;
  using Matrix = Kokkos::View<float**, Kokkos::LayoutLeft, typename Space::memory_space>;
  using Vector = Kokkos::View<float*, typename Space::memory_space>;

  ProductsContractTest() : space(instance_of_its_own()), ctx(space) {
    // What the library makes once.
    for (const auto& [op, call] : calls()) call(ctx);
    Kokkos::fence();
  }

  static Space instance_of_its_own() { return Kokkos::Experimental::partition_space(Space(), 1)[0]; }

  std::vector<std::pair<std::string, std::function<void(const Context&)>>> calls() {
    return {
        {"matmul", [&](const Context& on) { matmul(on, x, weight, out); }},
        {"matmul", [&](const Context& on) { matmul(on, x, vector, vector_out); }},
        {"matmul", [&](const Context& on) { matmul(on, every_other(), weight, out); }},
        {"matmul_grad", [&](const Context& on) { matmul_grad(on, x, weight, out_grad, x_grad, weight_grad); }},
        {"linear", [&](const Context& on) { linear(on, x, weight, out); }},
        {"linear", [&](const Context& on) { linear(on, x, weight, out, {bias}); }},
        {"linear_grad",
         [&](const Context& on) { linear_grad(on, x, weight, out_grad, x_grad, weight_grad, bias_grad); }},
        {"linear_grad", [&](const Context& on) { linear_grad(on, x, weight, out_grad, {}, {}, bias_grad); }},
    };
  }

  /// x with gaps between neighbours, which must be copied.
  TensorRef every_other() const {
    const TensorRef all = wide;
    return {all.data(), all.type(), {3, 8, 16}, {8 * 32, 32, 2}, all.space()};
  }

  /// Calls visit(operator, what happens in it) for every call on every context.
  void for_each_call(const std::function<void(const std::string&, const std::vector<Event>&)>& visit) {
    for (const Context& context : contexts_of_products(ctx)) {
      for (const auto& [op, call] : calls()) {
        call(context);  // what Kokkos allocates for itself at the first kernels of an instance is not the call's
        ctx.fence();
        visit(op, events_of([&] { call(context); }));
      }
    }
    ctx.fence();
  }

  Space space;
  Context ctx;
  View x{"x", 3, 8, 16}, wide{"wide", 3, 8, 32}, out{"out", 3, 8, 12}, out_grad{"out_grad", 3, 8, 12};
  View x_grad{"x_grad", 3, 8, 16};
  Matrix weight{"weight", 16, 12}, weight_grad{"weight_grad", 16, 12}, vector_out{"vector_out", 3, 8};
  Vector vector{"vector", 16}, bias{"bias", 12}, bias_grad{"bias_grad", 12};
};
TYPED_TEST_SUITE(ProductsContractTest, Spaces);

TYPED_TEST(ProductsContractTest, runs_every_kernel_on_the_instance_of_the_context) {
  this->for_each_call([&](const std::string&, const std::vector<Event>& events) {
    for (const Event& kernel : of_kind(events, Kind::kernel)) {
      EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
    }
  });
}

TYPED_TEST(ProductsContractTest, labels_every_kernel_and_allocation) {
  this->for_each_call([&](const std::string& op, const std::vector<Event>& events) {
    for (const Event& kernel : of_kind(events, Kind::kernel)) {
      const std::string& name = kernel.name;
      EXPECT_TRUE(is_label(name, op, true) || name.starts_with("portops::gemm") ||
                  name.starts_with("KokkosBlas::gemm[") || name.find("GEMM") != name.npos)
          << name;
    }
    const auto allocations = of_kind(events, Kind::allocation);
    for (const Event& event : allocations) EXPECT_TRUE(is_label(event.name, op, false)) << event.name;
    EXPECT_EQ(allocations.size(), of_kind(events, Kind::deallocation).size());
  });
}

TYPED_TEST(ProductsContractTest, never_fences_and_copies_nothing) {
  this->for_each_call([&](const std::string& op, const std::vector<Event>& events) {
    for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << op << " fences: " << fence.name;
    for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << op << " copies: " << copy.name;
  });
}

TYPED_TEST(ProductsContractTest, opens_a_region_around_everything) {
  this->for_each_call([&](const std::string& op, const std::vector<Event>& events) {
    ASSERT_GE(events.size(), 2u);
    EXPECT_EQ(events.front().kind, Kind::push);
    EXPECT_EQ(events.front().name, "portops::" + op);
    EXPECT_EQ(events.back().kind, Kind::pop);
  });
}

std::int64_t count(const std::vector<Event>& events, Kind kind, const std::string& start) {
  return std::count_if(events.begin(), events.end(),
                       [&](const Event& event) { return event.kind == kind && event.name.starts_with(start); });
}

TYPED_TEST(ProductsContractTest, multiplies_by_kokkos_kernels_where_the_context_asks_for_it) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  const std::vector<std::int64_t> products{1, 1, 1, 2, 1, 1, 2, 0};
  std::size_t number = 0;
  for (const auto& [op, call] : this->calls()) {
    const auto events = events_of([&] { call(with_kokkos_kernels(this->ctx)); });
    EXPECT_EQ(count(events, Kind::push, "portops::gemm[kokkos_kernels]"), products[number])
        << op << ", call " << number;
    const auto own = events_of([&] { call(Context(this->ctx).products(Products::own)); });
    EXPECT_EQ(count(own, Kind::push, "portops::gemm[kokkos_kernels]"), 0) << op;
    ++number;
  }
  this->ctx.fence();
}

/// Rows of a batch are those of one product, and what is summed over a batch is a part of one.
TYPED_TEST(ProductsContractTest, makes_one_product_of_a_batch_that_shares_a_matrix) {
  const Context own = Context(this->ctx).products(Products::own);
  const auto products = [&](const std::function<void()>& call) {
    return count(events_of(call), Kind::push, "portops::gemm[");
  };
  EXPECT_EQ(products([&] { matmul(own, this->x, this->weight, this->out); }), 1);
  EXPECT_EQ(products([&] { matmul_grad(own, this->x, this->weight, this->out_grad, {}, this->weight_grad); }), 1);
  const bool is_gpu = this->ctx.backend() == Backend::cuda;
  EXPECT_EQ(products([&] { matmul(own, this->x, this->vector, this->vector_out); }), is_gpu ? 1 : 0)
      << "hosts sum the products with a vector";
  this->ctx.fence();
}

TYPED_TEST(ProductsContractTest, multiplies_few_rows_by_reading_the_matrix_once) {
  if constexpr (requires(TypeParam space) { space.cuda_device_prop(); }) {
    if (this->space.cuda_device_prop().major == 9) {
      using Matrices = Kokkos::View<float**, Kokkos::LayoutRight, typename TypeParam::memory_space>;
      const Matrices few("few", 4, 512), more("more", 40, 512), matrix("matrix", 512, 256);
      const Matrices few_out("few_out", 4, 256), more_out("more_out", 40, 256);
      const auto products = [&](const Matrices& x, const Matrices& out, const std::string& path) {
        return count(events_of([&] { matmul(this->ctx, x, matrix, out); }), Kind::push, path);
      };
      EXPECT_EQ(products(few, few_out, "portops::gemm[thin]"), 1);
      EXPECT_EQ(products(more, more_out, "portops::gemm[sm90]"), 1);
      this->ctx.fence();
      return;
    }
  }
  GTEST_SKIP() << "for GPUs of compute capability 9.0";
}

}  // namespace
}  // namespace portops::test
