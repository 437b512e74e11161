// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_p_norm_support.hpp"
#include "support/kokkos_cuda_support.hpp"

#include <algorithm>
#include <cmath>

// p_norm and p_norm_grad on several instances at a time, and in CUDA graphs.

namespace portops::test {
namespace {

/// Norms and gradients of long rows, short columns and everything, and what they must give.
template <class Memory>
class NormProblem {
 public:
  void fill(int salt) {
    test::fill(x_, salt + 1);
    test::fill(row_grads_, salt + 2);
    test::fill(most_grad_, salt + 3);
    Kokkos::deep_copy(rows_, -99.0f);
    Kokkos::deep_copy(columns_, -99.0f);
    Kokkos::deep_copy(most_, -99.0f);
    Kokkos::deep_copy(x_grad_, -99.0f);
    Kokkos::deep_copy(ties_grad_, -99.0f);
    Kokkos::fence();
  }

  void call(const Context& ctx) const {
    p_norm(ctx, x_, rows_, along(1, 2.0));
    p_norm(ctx, x_, columns_, along(0, 2.3));
    p_norm(ctx, x_, most_, along_all(inf));
    p_norm_grad(ctx, x_, rows_, row_grads_, x_grad_, along(1, 2.0));
    p_norm_grad(ctx, x_, most_, most_grad_, ties_grad_, along_all(inf));
  }

  std::size_t workspace(const Context& ctx) const {
    return std::max({p_norm_workspace(ctx, x_, rows_, along(1, 2.0)),
                     p_norm_workspace(ctx, x_, columns_, along(0, 2.3)),
                     p_norm_workspace(ctx, x_, most_, along_all(inf)),
                     p_norm_grad_workspace(ctx, x_, rows_, row_grads_, x_grad_, along(1, 2.0)),
                     p_norm_grad_workspace(ctx, x_, most_, most_grad_, ties_grad_, along_all(inf))});
  }

  void expect_right(int salt) const {
    const auto rows = on_host(rows_), columns = on_host(columns_);
    const auto x_grad = on_host(x_grad_), ties_grad = on_host(ties_grad_);
    const auto x = [&](int i, int j) { return static_cast<double>(pattern(i * column_count + j, salt + 1)); };
    double most = 0.0, ties = 0.0;
    for (int i = 0; i < row_count; ++i) {
      double sum = 0.0;
      for (int j = 0; j < column_count; ++j) {
        const double magnitude = std::abs(x(i, j));
        sum += magnitude * magnitude;
        ties = magnitude > most ? 1.0 : magnitude == most ? ties + 1.0 : ties;
        most = std::max(most, magnitude);
      }
      const double norm = std::sqrt(sum);
      ASSERT_NEAR(rows(i), norm, 2e-6 * norm) << "row " << i;
      for (int j = 0; j < column_count; ++j) {
        ASSERT_NEAR(x_grad(i, j), x(i, j) / norm * pattern(i, salt + 2), 1e-6) << i << ", " << j;
      }
    }
    ASSERT_EQ(on_host(most_)(), static_cast<float>(most));
    for (int j = 0; j < column_count; ++j) {
      double sum = 0.0;
      for (int i = 0; i < row_count; ++i) {
        sum += std::pow(std::abs(x(i, j)), 2.3);
        const double share = std::abs(x(i, j)) == most ? sign_of(x(i, j)) / ties : 0.0;
        ASSERT_NEAR(ties_grad(i, j), share * pattern(0, salt + 3), 1e-8) << i << ", " << j;
      }
      const double norm = std::pow(sum, 1.0 / 2.3);
      ASSERT_NEAR(columns(j), norm, 2e-6 * norm) << "column " << j;
    }
  }

  /// Everything that the calls write.
  std::vector<float> results() const {
    std::vector<float> values;
    append(values, rows_);
    append(values, columns_);
    append(values, most_);
    append(values, x_grad_);
    append(values, ties_grad_);
    return values;
  }

 private:
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;
  using Vector = Kokkos::View<float*, Memory>;
  using Number = Kokkos::View<float, Memory>;
  static constexpr int row_count = 3;
  static constexpr int column_count = 33000;

  Matrix x_{"x", row_count, column_count}, x_grad_{"x_grad", row_count, column_count};
  Matrix ties_grad_{"ties_grad", row_count, column_count};
  Vector rows_{"rows", row_count}, row_grads_{"row_grads", row_count}, columns_{"columns", column_count};
  Number most_{"most"}, most_grad_{"most_grad"};
};

template <class Space>
class PNormInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(PNormInstancesTest, Spaces);

TYPED_TEST(PNormInstancesTest, do_not_disturb_each_other) {
  check_instances_do_not_disturb_each_other<TypeParam, NormProblem<typename TypeParam::memory_space>>();
}

TYPED_TEST(PNormInstancesTest, give_the_same_bits_as_one) {
  check_instances_give_the_same_bits<TypeParam, NormProblem<typename TypeParam::memory_space>>();
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(CudaPNormTest, is_captured_with_temporaries_from_the_pool) {
  check_capture_with_pool<NormProblem<Kokkos::CudaSpace>>();
}

TEST(CudaPNormTest, is_captured_with_a_lent_workspace) {
  check_capture_with_lent_workspace<NormProblem<Kokkos::CudaSpace>>();
}
#endif

}  // namespace
}  // namespace portops::test
