// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/lerp/lerp.hpp"

#include "core/check/check.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "core/map/sum_plan.hpp"
#include "ops/lerp/lerp_kernels.hpp"

#include <array>

namespace portops {
namespace {

using impl::Named;

Extents broadcast_extents(std::string_view op, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight) {
  const std::array inputs{Named{"x", x}, Named{"y", y}, Named{"weight", impl::shape_of(weight)}};
  return impl::broadcast_extents(op, inputs);
}

/// A checked call of lerp_grad: its loop, and whether it needs the elements of x and y.
struct Gradient {
  impl::Loop loop;
  bool with_weight;
};

void check_gradient(const Context& ctx, const Named& gradient, const Named& operand, std::span<const Named> inputs,
                    std::span<const Named> other_gradients) {
  if (!gradient.tensor) return;
  const std::string origin = "the extents of " + std::string(operand.name);
  impl::check_output("lerp_grad", ctx, gradient, operand.tensor.type(), "out_grad", operand.tensor.extents(), origin);
  impl::check_no_overlap("lerp_grad", gradient, inputs);
  impl::check_no_overlap("lerp_grad", gradient, other_gradients);
}

Gradient check_lerp_grad(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
                         const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
                         const TensorRef& weight_grad) {
  constexpr std::string_view op = "lerp_grad";
  const bool with_weight = static_cast<bool>(weight_grad);
  impl::check_input(op, ctx, {"out_grad", out_grad}, out_grad.type(), "out_grad");
  const ElementType type = out_grad.type();
  for (const Named& input : {Named{"x", x}, Named{"y", y}}) {
    if (with_weight) {
      impl::check_input(op, ctx, input, type, "out_grad");
    } else {
      impl::check_shape_only_input(op, input, type, "out_grad");
    }
  }
  if (weight.is_tensor()) {
    impl::check_input(op, ctx, {"weight", weight.tensor()}, type, "out_grad");
  } else if (with_weight) {
    impl::fail("portops::lerp_grad: weight_grad is given, but weight is a number and has no gradient");
  }
  const Extents extents = broadcast_extents(op, x, y, weight);
  if (out_grad.extents() != extents) {
    impl::fail("portops::lerp_grad: out_grad has extents ", out_grad.extents().to_string(), ", expected ",
               extents.to_string(), " (what x, y and weight broadcast to)");
  }
  const std::array inputs{Named{"x", x}, Named{"y", y}, Named{"weight", weight.tensor()}, Named{"out_grad", out_grad}};
  const std::array gradients{Named{"x_grad", x_grad}, Named{"y_grad", y_grad}, Named{"weight_grad", weight_grad}};
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    check_gradient(ctx, gradients[k], inputs[k], inputs, std::span(gradients).subspan(k + 1));
  }
  const TensorOrNumber out_grad_operand = out_grad;
  if (with_weight) {
    const TensorOrNumber x_operand = x;
    const TensorOrNumber y_operand = y;
    return {impl::make_loop(type, extents, std::array{&x_operand, &y_operand, &weight, &out_grad_operand},
                            std::array{&x_grad, &y_grad, &weight_grad}),
            with_weight};
  }
  return {impl::make_loop(type, extents, std::array{&weight, &out_grad_operand}, std::array{&x_grad, &y_grad}),
          with_weight};
}

}  // namespace

void lerp(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
          const TensorRef& out) {
  const impl::Region region("portops::lerp");
  constexpr std::string_view op = "lerp";
  const ElementType type = x.type();
  impl::check_input(op, ctx, {"x", x}, type, "x");
  impl::check_input(op, ctx, {"y", y}, type, "x");
  if (weight.is_tensor()) impl::check_input(op, ctx, {"weight", weight.tensor()}, type, "x");
  const Extents extents = broadcast_extents(op, x, y, weight);
  impl::check_output(op, ctx, {"out", out}, type, "x", extents, "what x, y and weight broadcast to");
  impl::check_in_place(op, {"out", out}, {"x", x});
  const std::array others{Named{"y", y}, Named{"weight", weight.tensor()}};
  impl::check_no_overlap(op, {"out", out}, others);
  if (out.size() == 0) return;

  const TensorOrNumber x_operand = x;
  const TensorOrNumber y_operand = y;
  const impl::Loop loop = impl::make_loop(type, extents, std::array{&x_operand, &y_operand, &weight}, std::array{&out});
  impl::dispatch(ctx.backend(), type, [&]<Backend B, class T>() { impl::LerpKernels<B, T>::lerp(ctx, loop); });
}

void lerp_grad(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
               const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
               const TensorRef& weight_grad) {
  const impl::Region region("portops::lerp_grad");
  const Gradient gradient = check_lerp_grad(ctx, x, y, weight, out_grad, x_grad, y_grad, weight_grad);
  if (!x_grad && !y_grad && !weight_grad) return;

  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    using Kernels = impl::LerpKernels<B, T>;
    gradient.with_weight ? Kernels::lerp_grad_xyw(ctx, gradient.loop) : Kernels::lerp_grad_xy(ctx, gradient.loop);
  });
}

std::size_t lerp_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y,
                                const TensorOrNumber& weight, const TensorRef& out_grad, const TensorRef& x_grad,
                                const TensorRef& y_grad, const TensorRef& weight_grad) {
  const Gradient gradient = check_lerp_grad(ctx, x, y, weight, out_grad, x_grad, y_grad, weight_grad);
  return impl::map_workspace(gradient.loop, ctx.backend());
}

}  // namespace portops
