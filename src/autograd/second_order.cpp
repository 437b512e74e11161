// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/second_order.hpp"

#include "autograd/fill.hpp"
#include "core/loop/axes.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/add.hpp"
#include "portops/ops/concat.hpp"
#include "portops/ops/lerp.hpp"
#include "portops/ops/matmul.hpp"
#include "portops/ops/mean.hpp"
#include "portops/ops/multiply.hpp"
#include "portops/ops/reshape.hpp"
#include "portops/ops/split.hpp"
#include "portops/ops/subtract.hpp"
#include "portops/ops/sum.hpp"

#include <string_view>

namespace portops::impl {

namespace ag = portops::autograd;
using ag::Variable;

namespace {

constexpr const char* label = "portops::autograd::gradients";

Variable reshaped(const Context& ctx, const Variable& x, const Extents& extents) {
  return x.tensor().extents() == extents ? x : ag::reshape(ctx, x, {.shape = {extents.begin(), extents.end()}});
}

/// Sums over the axes along which a tensor of these extents was broadcast to those of x.
Variable sum_to(const Context& ctx, const Variable& x, const Extents& extents) {
  const Extents& from = x.tensor().extents();
  const int more = from.rank() - extents.rank();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis < more || extents[axis - more] != from[axis]) axes.push_back(axis);
  }
  return reshaped(ctx, axes.empty() ? x : ag::sum(ctx, x, {.axis = axes, .keepdim = true}), extents);
}

/// x, broadcast to these extents.
Variable spread_to(const Context& ctx, const Variable& x, const Extents& extents) {
  Value zeros = make_value(ctx, label, x.tensor().type(), extents);
  fill(ctx, zeros.tensor, 0.0);
  return ag::add(ctx, make_variable(std::move(zeros)), x);
}

/// The gradient of a reduction, with what was reduced spread back.
Variable spread_reduced(GradientCall& call, std::string_view op, const std::vector<std::int64_t>& axis) {
  const Extents& extents = call.tensor(0).extents();
  const AxisSet reduced = reduced_axes(op, extents.rank(), axis, axis.empty());
  const Variable out_grad = reshaped(call.ctx(), call.out_grad_variable(), reduced_extents(extents, reduced, true));
  return spread_to(call.ctx(), out_grad, extents);
}

}  // namespace

Gradients add_gradients(GradientCall& call) {
  Gradients grads(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (call.wants(i)) grads[i] = sum_to(call.ctx(), call.out_grad_variable(), call.tensor(i).extents());
  }
  return grads;
}

Gradients subtract_gradients(GradientCall& call) {
  Gradients grads = add_gradients(call);
  if (grads[1]) grads[1] = ag::multiply(call.ctx(), grads[1], -1.0);
  return grads;
}

Gradients multiply_gradients(GradientCall& call) {
  const Context& ctx = call.ctx();
  const Variable out_grad = call.out_grad_variable();
  Gradients grads(2);
  if (call.wants(0)) {
    grads[0] = sum_to(ctx, ag::multiply(ctx, out_grad, call.operand_variable(1)), call.tensor(0).extents());
  }
  if (call.wants(1)) {
    grads[1] = sum_to(ctx, ag::multiply(ctx, out_grad, call.variable(0)), call.tensor(1).extents());
  }
  return grads;
}

Gradients lerp_gradients(GradientCall& call) {
  const Context& ctx = call.ctx();
  const Variable out_grad = call.out_grad_variable();
  const Variable of_y = ag::multiply(ctx, out_grad, call.operand_variable(2));
  Gradients grads(3);
  if (call.wants(0)) grads[0] = sum_to(ctx, ag::subtract(ctx, out_grad, of_y), call.tensor(0).extents());
  if (call.wants(1)) grads[1] = sum_to(ctx, of_y, call.tensor(1).extents());
  if (call.wants(2)) {
    const Variable difference = ag::subtract(ctx, call.variable(1), call.variable(0));
    grads[2] = sum_to(ctx, ag::multiply(ctx, out_grad, difference), call.tensor(2).extents());
  }
  return grads;
}

Gradients matmul_gradients(GradientCall& call) {
  const Context& ctx = call.ctx();
  const auto& params = call.params<MatmulParams>();
  // Vectors stand for a row, and for a column.
  const auto matrix = [](const Extents& extents, bool is_row) {
    return extents.rank() > 1 ? extents : is_row ? Extents{1, extents[0]} : Extents{extents[0], 1};
  };
  const Extents x_extents = matrix(call.tensor(0).extents(), true), y_extents = matrix(call.tensor(1).extents(), false);
  const bool x_turned = params.transpose_x && call.tensor(0).rank() > 1;
  const bool y_turned = params.transpose_y && call.tensor(1).rank() > 1;
  std::vector<std::int64_t> extents(call.out_grad().extents().begin(), call.out_grad().extents().end());
  if (call.tensor(1).rank() == 1) extents.push_back(1);
  if (call.tensor(0).rank() == 1) extents.insert(extents.end() - 1, 1);
  const Variable out_grad = reshaped(ctx, call.out_grad_variable(), Extents(extents));
  Gradients grads(2);
  if (call.wants(0)) {
    const Variable y = reshaped(ctx, call.variable(1), y_extents);
    const Variable product = x_turned ? ag::matmul(ctx, y, out_grad, {.transpose_x = y_turned, .transpose_y = true})
                                      : ag::matmul(ctx, out_grad, y, {.transpose_y = !y_turned});
    grads[0] = reshaped(ctx, sum_to(ctx, product, x_extents), call.tensor(0).extents());
  }
  if (call.wants(1)) {
    const Variable x = reshaped(ctx, call.variable(0), x_extents);
    const Variable product = y_turned ? ag::matmul(ctx, out_grad, x, {.transpose_x = true, .transpose_y = x_turned})
                                      : ag::matmul(ctx, x, out_grad, {.transpose_x = !x_turned});
    grads[1] = reshaped(ctx, sum_to(ctx, product, y_extents), call.tensor(1).extents());
  }
  return grads;
}

Gradients sum_gradients(GradientCall& call) {
  return {spread_reduced(call, "sum_grad", call.params<SumParams>().axis)};
}

Gradients mean_gradients(GradientCall& call) {
  const Variable out_grad = spread_reduced(call, "mean_grad", call.params<MeanParams>().axis);
  const auto count = static_cast<double>(call.tensor(0).size()) / static_cast<double>(call.out_grad().size());
  return {ag::multiply(call.ctx(), out_grad, 1.0 / count)};
}

Gradients reshape_gradients(GradientCall& call) {
  return {reshaped(call.ctx(), call.out_grad_variable(), call.tensor(0).extents())};
}

Gradients concat_gradients(GradientCall& call) {
  const auto& params = call.params<ConcatParams>();
  const std::vector<TensorRef> x = call.list(0);
  const std::int64_t axis = params.axis < 0 ? params.axis + x.front().rank() : params.axis;
  std::vector<std::int64_t> sections;
  for (const TensorRef& part : x) sections.push_back(part.extent(static_cast<int>(axis)));
  return ag::split(call.ctx(), call.out_grad_variable(), {.sections = sections, .axis = axis});
}

Gradients split_gradients(GradientCall& call) {
  return {ag::concat(call.ctx(), call.out_grad_variables(), {.axis = call.params<SplitParams>().axis})};
}

}  // namespace portops::impl
