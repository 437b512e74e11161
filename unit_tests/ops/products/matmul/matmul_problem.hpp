// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../product_reference.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/matmul.hpp>

namespace portops::test {

inline Extents matmul_extents_of(const Extents& x, const Extents& y, const MatmulParams& params) {
  return infer("matmul", Arguments()
                             .set("x", TensorRef::without_data(ElementType::f64, x))
                             .set("y", TensorRef::without_data(ElementType::f64, y))
                             .set("transpose_x", params.transpose_x)
                             .set("transpose_y", params.transpose_y))
      .at("out")
      .extents;
}

/// Tensors of a product and of its gradients, and what these must be.
template <class T>
struct MatmulProblem {
  MatmulProblem(const Context& ctx, const Extents& x_extents, const Extents& y_extents,
                const MatmulParams& attributes = {}, Layout layout = Layout::contiguous,
                Layout out_layout = Layout::contiguous)
      : params(attributes),
        x(ctx, x_extents, layout),
        y(ctx, y_extents, layout),
        out(ctx, matmul_extents_of(x_extents, y_extents, attributes), out_layout),
        out_grad(ctx, out.extents(), layout),
        x_grad(ctx, x_extents, out_layout),
        y_grad(ctx, y_extents, out_layout) {
    x.fill_randomly(1);
    y.fill_randomly(2);
    out_grad.fill_randomly(3);
  }

  /// Calls action(index in x, index in y, index in out) for each term.
  template <class Action>
  void for_terms(const Action& action) const {
    const Extents &xe = x.extents(), &ye = y.extents(), &oe = out.extents();
    const bool x_is_vector = xe.rank() == 1, y_is_vector = ye.rank() == 1;
    const bool x_turned = params.transpose_x && !x_is_vector, y_turned = params.transpose_y && !y_is_vector;
    const std::int64_t m = x_is_vector ? 1 : xe[xe.rank() - (x_turned ? 1 : 2)];
    const std::int64_t k = x_is_vector ? xe[0] : xe[xe.rank() - (x_turned ? 2 : 1)];
    const std::int64_t n = y_is_vector ? 1 : ye[ye.rank() - (y_turned ? 2 : 1)];
    const int batch_rank = oe.rank() - (x_is_vector ? 0 : 1) - (y_is_vector ? 0 : 1);
    std::int64_t batches = 1;
    for (int axis = 0; axis < batch_rank; ++axis) batches *= oe[axis];
    const auto batch_index = [&](const Extents& extents, std::int64_t batch) {
      std::int64_t index = 0, stride = 1;
      for (int axis = batch_rank - 1; axis >= 0; --axis) {
        const std::int64_t along = batch % oe[axis];
        batch /= oe[axis];
        const int own = axis - batch_rank + std::max(extents.rank() - 2, 0);
        if (own < 0) continue;
        if (extents[own] != 1) index += along * stride;
        stride *= extents[own];
      }
      return index;
    };
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      const std::int64_t first_x = batch_index(xe, batch) * m * k, first_y = batch_index(ye, batch) * k * n;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t l = 0; l < k; ++l) {
            action(first_x + (x_turned ? l * m + i : i * k + l), first_y + (y_turned ? j * k + l : l * n + j),
                   (batch * m + i) * n + j);
          }
        }
      }
    }
  }

  void check(const Context& ctx, Bound bound = Bound::chain) {
    ReferenceProduct expected(out.extents());
    for_terms([&](std::int64_t i, std::int64_t j, std::int64_t k) { expected.add(k, x[i], y[j]); });
    matmul(ctx, x, y, out, params);
    expect_near(out, expected, bound, "out", rounding_of_operands<T>(ctx));
  }

  void check_grad(const Context& ctx, Bound bound = Bound::chain) {
    ReferenceProduct of_x(x.extents()), of_y(y.extents());
    for_terms([&](std::int64_t i, std::int64_t j, std::int64_t k) {
      of_x.add(i, out_grad[k], y[j]);
      of_y.add(j, x[i], out_grad[k]);
    });
    matmul_grad(ctx, x, y, out_grad, x_grad, y_grad, params);
    expect_near(x_grad, of_x, bound, "x_grad", rounding_of_operands<T>(ctx));
    expect_near(y_grad, of_y, bound, "y_grad", rounding_of_operands<T>(ctx));
  }

  void check_all(const Context& ctx, Bound bound = Bound::chain) {
    SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + " " + x.extents().to_string() +
                 (params.transpose_x ? " transposed, " : ", ") + y.extents().to_string() +
                 (params.transpose_y ? " transposed, " : ", ") + describe(ctx));
    check(ctx, bound);
    check_grad(ctx, bound);
  }

  /// Runs both operators.
  void run(const Context& ctx) {
    matmul(ctx, x, y, out, params);
    matmul_grad(ctx, x, y, out_grad, x_grad, y_grad, params);
  }

  void expect_same_bits_as(MatmulProblem& other) {
    expect_same_bits(out, other.out, "out");
    expect_same_bits(x_grad, other.x_grad, "x_grad");
    expect_same_bits(y_grad, other.y_grad, "y_grad");
  }

  /// Fills all operands with one number.
  void fill_inputs(double value) {
    for (TestTensor<T>* tensor : {&x, &y, &out_grad}) tensor->fill([&](std::int64_t) { return value; });
  }

  MatmulParams params;
  TestTensor<T> x, y, out, out_grad, x_grad, y_grad;
};

}  // namespace portops::test
