// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_sm90.hpp"

#include "blas/gemm_launches_sm90.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace portops::blas {
namespace {

using namespace gemm_sm90;

/// A product as the kernel computes it: that of few rows with its operands exchanged, so that it has few columns.
struct Oriented {
  GemmOperand a, b;
  bool a_turned, b_turned;
  std::int64_t c_row, c_column;
  std::int64_t bias_row, bias_column;
  Shape shape;

  explicit Oriented(const Product& p)
      : a{static_cast<const float*>(p.a), p.a_stride, p.batch.a_stride, p.rows},
        b{static_cast<const float*>(p.b), p.b_stride, p.batch.b_stride, p.columns},
        a_turned(p.a_transpose == Transpose::yes),
        b_turned(p.b_transpose == Transpose::no),
        c_row(p.c_stride),
        c_column(1),
        bias_row(0),
        bias_column(p.bias_stride) {
    if (p.rows <= narrow_side && p.columns > narrow_side) {
      std::swap(a, b);
      std::swap(a_turned, b_turned);
      std::swap(c_row, c_column);
      std::swap(bias_row, bias_column);
    }
    shape = {a.lines, b.lines, p.inner, p.batch.count};
  }
};

bool is_aligned(const void* data, std::int64_t stride, std::int64_t batch_stride, std::int64_t contiguous) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % 4 == 0 && batch_stride % 4 == 0 &&
         contiguous % 4 == 0;
}

}  // namespace

bool suits_sm90(const Product& p) {
  // Below this, tiles of c are mostly empty.
  constexpr std::int64_t least = 64;
  // But others compute products of fewer rows or columns without tensor cores, where these have much to read: not as
  // fast from 33 on, and from 16 on where the larger operand has neighbours along the inner axis, or sums are long,
  // whose steps are shared out.
  constexpr std::int64_t least_of_longer = 2 * side, least_inner = 256;
  constexpr std::int64_t least_down = 33, least_along = 16, long_inner = 2048, inner_over_longer = 4;
  const bool a_inner = p.a_transpose == Transpose::no, b_inner = p.b_transpose == Transpose::yes;
  const auto [shorter, longer] = std::minmax(p.rows, p.columns);
  const bool is_along = p.rows > p.columns ? a_inner : b_inner;
  const bool is_long = p.inner >= long_inner && p.inner >= inner_over_longer * longer;
  const bool is_large = std::min(shorter, p.inner) >= least;
  const bool has_much_to_read = longer >= least_of_longer && p.inner >= least_inner &&
                                shorter >= (is_along || is_long ? least_along : least_down);
  return p.type == ElementType::f32 && (is_large || has_much_to_read) && p.inner < INT32_MAX &&
         is_aligned(p.a, p.a_stride, p.batch.a_stride, a_inner ? p.inner : p.rows) &&
         is_aligned(p.b, p.b_stride, p.batch.b_stride, b_inner ? p.inner : p.columns) &&
         impl::ceil_div(p.rows, narrow_side) * impl::ceil_div(p.columns, narrow_side) * p.batch.count < INT32_MAX;
}

std::size_t sm90_workspace(int multiprocessors, const Product& product) {
  return plan_of(Oriented(product).shape, multiprocessors, std::numeric_limits<std::size_t>::max()).bytes();
}

void multiply_by_sm90(void* stream, int multiprocessors, const Product& p, Workspace workspace) {
  const Oriented of(p);
  const Plan plan = plan_of(of.shape, multiprocessors, workspace.bytes);
  GemmArguments arguments{.rows = of.a.lines,
                          .b = of.b,
                          .c = static_cast<float*>(p.c),
                          .c_row = of.c_row,
                          .c_column = of.c_column,
                          .c_batch = p.batch.c_stride,
                          .bias = static_cast<const float*>(p.bias),
                          .bias_row = of.bias_row,
                          .bias_column = of.bias_column,
                          .rows_in_pairs = of.a_turned,
                          .has_pairs = of.c_column == 1 &&
                                       reinterpret_cast<std::uintptr_t>(p.c) % sizeof(float2) == 0 &&
                                       p.c_stride % 2 == 0 && p.batch.c_stride % 2 == 0,
                          .inner = p.inner,
                          .alpha = static_cast<float>(p.alpha),
                          .beta = static_cast<float>(p.beta)};
  follow(plan, workspace.data, arguments);
  const auto run = [&]<bool a_turned, bool b_turned>() {
    constexpr const char* label = "portops::gemm[sm90]";
    const MatrixRows<a_turned> a{of.a};
    auto* const in_order = static_cast<cudaStream_t>(stream);
    p.bias != nullptr ? launch<MatrixRows<a_turned>, b_turned, true>(label, in_order, plan, arguments, a)
                      : launch<MatrixRows<a_turned>, b_turned, false>(label, in_order, plan, arguments, a);
  };
  if (of.a_turned) {
    of.b_turned ? run.template operator()<true, true>() : run.template operator()<true, false>();
  } else {
    of.b_turned ? run.template operator()<false, true>() : run.template operator()<false, false>();
  }
}

}  // namespace portops::blas
