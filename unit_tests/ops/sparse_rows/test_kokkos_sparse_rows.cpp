// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/embedding.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <cmath>
#include <map>

// merge_rows, the steps by sparse gradients and embedding on Views: how they run, on several instances at a time, and
// in CUDA graphs.

namespace portops::test {
namespace {

/// A gradient, merged, as a step of sparse_sgd and of sparse_adam, and as that of an embedding; and what they must
/// give.
template <class Memory>
class SparseProblem {
 public:
  void fill(int salt) {
    const auto rows = Kokkos::create_mirror(Kokkos::HostSpace(), rows_);
    const auto values = Kokkos::create_mirror(Kokkos::HostSpace(), values_);
    for (int i = 0; i < n; ++i) {
      rows(i) = place(i, salt);
      for (int j = 0; j < columns; ++j) values(i, j) = pattern(i * columns + j, salt);
    }
    Kokkos::deep_copy(rows_, rows);
    Kokkos::deep_copy(values_, values);
    for (const Matrix* matrix : {&out_values_, &merged_values_, &looked_up_, &table_grad_}) {
      Kokkos::deep_copy(*matrix, -99.0f);
    }
    for (const Matrix* matrix : {&param_, &adam_param_, &moment1_, &moment2_}) Kokkos::deep_copy(*matrix, 1.0f);
    Kokkos::deep_copy(count_, -99);
    Kokkos::fence();
  }

  void call(const Context& ctx) const {
    merge_rows(ctx, rows_, values_, out_rows_, out_values_, count_, {.height = height});
    SparseSgdParams sgd;
    sgd.learning_rate = 0.5;
    sparse_sgd(Context(ctx).deterministic(true), start_, rows_, values_, param_, sgd);
    SparseAdamParams adam = adam_params();
    adam.count = count_;
    sparse_adam(ctx, start_, out_rows_, out_values_, start_, start_, adam_param_, moment1_, moment2_, adam);
    embedding(ctx, param_, rows_, looked_up_);
    embedding_grad(ctx, start_, rows_, values_, table_grad_);
  }

  std::size_t workspace(const Context& ctx) const {
    return std::max(merge_rows_workspace(ctx, rows_, values_, out_rows_, out_values_, count_, {.height = height}),
                    embedding_grad_workspace(ctx, start_, rows_, values_, table_grad_));
  }

  void expect_right(int salt) const {
    std::map<int, std::vector<double>> sums;
    for (int i = 0; i < n; ++i) {
      auto& sum = sums[place(i, salt)];
      sum.resize(columns);
      for (int j = 0; j < columns; ++j) sum[static_cast<std::size_t>(j)] += pattern(i * columns + j, salt);
    }
    const auto out_rows = host(out_rows_);
    const auto out_values = host(out_values_), param = host(param_), adam = host(adam_param_);
    const auto looked_up = host(looked_up_), table_grad = host(table_grad_);
    ASSERT_EQ(host(count_)(), static_cast<std::int64_t>(sums.size()));
    int u = 0;
    for (const auto& [row, sum] : sums) {
      ASSERT_EQ(out_rows(u), row);
      for (int j = 0; j < columns; ++j) {
        const double g = sum[static_cast<std::size_t>(j)];
        ASSERT_NEAR(out_values(u, j), g, 1e-4) << u << ", " << j;
        ASSERT_NEAR(param(row, j), 1.0 - 0.5 * g, 1e-4) << row << ", " << j;
        ASSERT_EQ(table_grad(row, j), out_values(u, j)) << row << ", " << j;
        const double m = 0.9 + 0.1 * g;
        const double v = 0.999 + 0.001 * g * g;
        ASSERT_NEAR(adam(row, j), 1.0 - 0.1 * (m / 0.1) / (std::sqrt(v / 0.001) + 1e-8), 1e-4) << row << ", " << j;
      }
      ++u;
    }
    for (; u < n; ++u) ASSERT_EQ(out_rows(u), height) << u;
    for (int row = 0; row < height; ++row) {
      if (sums.count(row) != 0) continue;
      ASSERT_EQ(param(row, 0), 1.0f) << row;
      ASSERT_EQ(table_grad(row, 0), 0.0f) << row;
    }
    for (int i = 0; i < n; ++i) ASSERT_EQ(looked_up(i, 5), param(place(i, salt), 5)) << i;
  }

  /// Everything that the calls write.
  std::vector<float> results() const {
    std::vector<float> values;
    for (const Matrix& matrix : {out_values_, param_, adam_param_, moment1_, moment2_, looked_up_, table_grad_}) {
      const auto elements = host(matrix);
      values.insert(values.end(), elements.data(), elements.data() + elements.size());
    }
    return values;
  }

 private:
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;
  using Indices = Kokkos::View<std::int64_t*, Memory>;
  static constexpr int n = 5000;
  static constexpr int columns = 12;
  static constexpr int height = 90;

  /// One place has a third of all rows.
  static int place(int i, int salt) { return i % 3 == 0 ? 7 : (i * 31 + salt) % height; }

  static SparseAdamParams adam_params() {
    SparseAdamParams params;
    params.learning_rate = 0.1;
    params.beta1_pow = 0.9;
    params.beta2_pow = 0.999;
    return params;
  }

  template <class View>
  static auto host(const View& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  }
  static Matrix ones(int rows) {
    const Matrix matrix("start", rows, columns);
    Kokkos::deep_copy(matrix, 1.0f);
    return matrix;
  }

  Indices rows_{"rows", n}, out_rows_{"out_rows", n};
  Kokkos::View<std::int64_t, Memory> count_{"count"};
  Matrix values_{"values", n, columns}, out_values_{"out_values", n, columns}, merged_values_{"merged", n, columns};
  Matrix start_ = ones(height), param_ = ones(height), adam_param_ = ones(height);
  Matrix moment1_ = ones(height), moment2_ = ones(height);
  Matrix looked_up_{"looked_up", n, columns}, table_grad_ = ones(height);
};

template <class Space>
class SparseRowsInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(SparseRowsInstancesTest, Spaces);

TYPED_TEST(SparseRowsInstancesTest, do_not_disturb_each_other) {
  check_instances_do_not_disturb_each_other<TypeParam, SparseProblem<typename TypeParam::memory_space>>();
}

TYPED_TEST(SparseRowsInstancesTest, give_the_same_bits_as_one) {
  check_instances_give_the_same_bits<TypeParam, SparseProblem<typename TypeParam::memory_space>>();
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(CudaSparseRowsTest, are_captured_with_temporaries_from_the_pool) {
  check_capture_with_pool<SparseProblem<Kokkos::CudaSpace>>();
}

TEST(CudaSparseRowsTest, are_captured_with_a_lent_workspace) {
  check_capture_with_lent_workspace<SparseProblem<Kokkos::CudaSpace>>();
}
#endif

/// What Kokkos' tools see of the calls.
template <class Space>
class SparseRowsContractTest : public testing::Test {
 protected:
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, typename Space::memory_space>;
  using Indices = Kokkos::View<std::int64_t*, typename Space::memory_space>;

  std::vector<std::pair<std::string, std::function<void()>>> calls() {
    return {
        {"merge_rows", [&] { merge_rows(ctx, rows, values, out_rows, out_values, count, {.height = 50}); }},
        {"sparse_sgd", [&] { sparse_sgd(ctx, param, rows, values, param, SparseSgdParams()); }},
        {"sparse_sgd", [&] { sparse_sgd(ctx, param, rows, values, other, SparseSgdParams()); }},
        {"embedding", [&] { embedding(ctx, param, rows, values); }},
        {"embedding_grad", [&] { embedding_grad(ctx, param, rows, values, other); }},
    };
  }

  Space space = new_instance<Space>();
  Context ctx{space};
  Indices rows{"rows", 3000}, out_rows{"out_rows", 3000};
  Kokkos::View<std::int64_t, typename Space::memory_space> count{"count"};
  Matrix values{"values", 3000, 8}, out_values{"out_values", 3000, 8}, param{"param", 50, 8}, other{"other", 50, 8};
};
TYPED_TEST_SUITE(SparseRowsContractTest, Spaces);

TYPED_TEST(SparseRowsContractTest, run_on_the_instance_under_labels_of_their_own_and_never_wait) {
  for (const auto& [op, call] : this->calls()) {
    call();  // what Kokkos allocates for itself at the first kernels of an instance is not the call's
    this->ctx.fence();
    const auto events = events_of(call);
    EXPECT_EQ(events.front().name, "portops::" + op);
    EXPECT_EQ(events.back().kind, Kind::pop);
    EXPECT_EQ(of_kind(events, Kind::push).size(), 1u);
    EXPECT_FALSE(of_kind(events, Kind::kernel).empty());
    for (const Event& kernel : of_kind(events, Kind::kernel)) {
      EXPECT_EQ(kernel.device, tools::device_id(this->space)) << kernel.name;
      EXPECT_TRUE(is_label(kernel.name, op, true)) << kernel.name;
    }
    // Few rows take no memory on a GPU, unless they are merged.
    const bool takes_none = op == "embedding" || (op != "merge_rows" && this->ctx.backend() == Backend::cuda);
    const auto allocations = of_kind(events, Kind::allocation);
    EXPECT_EQ(allocations.size(), takes_none ? 0u : 1u) << op;
    for (const Event& event : allocations) EXPECT_TRUE(is_label(event.name, op, false)) << event.name;
    EXPECT_EQ(of_kind(events, Kind::deallocation).size(), allocations.size());
    for (const Event& fence : of_kind(events, Kind::fence)) ADD_FAILURE() << op << " fences: " << fence.name;
    for (const Event& copy : of_kind(events, Kind::copy)) ADD_FAILURE() << op << " copies: " << copy.name;
  }
}

TYPED_TEST(SparseRowsContractTest, enqueue_nothing_when_they_are_wrong) {
  const auto events = events_of([&] {
    merge_rows(this->ctx, this->rows, this->values, this->rows, this->out_values, this->count, {.height = 50});
  });
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, Kind::push);
  EXPECT_EQ(events[1].kind, Kind::pop);
  EXPECT_EQ(events[2].kind, Kind::error);
}

}  // namespace
}  // namespace portops::test
