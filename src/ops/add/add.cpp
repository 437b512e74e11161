// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/add/add.hpp"

#include "core/check/check.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "core/map/sum_plan.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "core/types/overlap.hpp"
#include "ops/add/add_kernels.hpp"

#include <array>
#include <optional>

namespace portops {
namespace {

using impl::Named;

Extents broadcast_extents(std::string_view op, const TensorRef& x, const TensorOrNumber& y) {
  return impl::broadcast_extents(op, std::array{Named{"x", x}, Named{"y", impl::shape_of(y)}});
}

void check_gradient(const Context& ctx, const Named& gradient, const Named& operand, ElementType type) {
  if (!gradient.tensor) return;
  const std::string origin = "the extents of " + std::string(operand.name);
  impl::check_output("add_grad", ctx, gradient, type, "out_grad", operand.tensor.extents(), origin);
}

/// The axes along which a gradient is summed: those that the operand lacks, or has extent 1 of.
impl::AxisSet summed_axes(const TensorRef& gradient, const Extents& extents) {
  impl::AxisSet summed{};
  for (int axis = 0; axis < extents.rank(); ++axis) {
    const int own = axis - (extents.rank() - gradient.rank());
    summed[static_cast<std::size_t>(axis)] = extents[axis] != 1 && (own < 0 || gradient.extent(own) == 1);
  }
  return summed;
}

/// Whether a loop is a reduction along its last axis. Down the others a walk through tiles is faster, which reads 16
/// bytes at once.
bool is_reduction(const impl::Loop& loop) { return loop.rank > 0 && loop.reduced[loop.rank - 1]; }

/// Of one gradient.
impl::Loop make_loop(const TensorRef& out_grad, const TensorRef& gradient) {
  const Extents& extents = out_grad.extents();
  if (out_grad.size() > 0) {
    // out_grad stands where outputs do: its strides give the order of the axes.
    const TensorOrNumber result = gradient;
    const impl::Loop loop = impl::make_loop(out_grad.type(), extents, std::array{&result}, std::array{&out_grad},
                                            summed_axes(gradient, extents));
    if (is_reduction(loop)) return loop;
  }
  const TensorOrNumber operand = out_grad;
  return impl::make_loop(out_grad.type(), extents, std::array{&operand}, std::array{&gradient});
}

/// The loop of a checked call; none where nothing is to be computed.
std::optional<impl::Loop> check_add_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                         const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  constexpr std::string_view op = "add_grad";
  const ElementType type = out_grad.type();
  impl::check_input(op, ctx, {"out_grad", out_grad}, type, "out_grad");
  impl::check_shape_only_input(op, {"x", x}, type, "out_grad");
  if (y.is_tensor()) {
    impl::check_shape_only_input(op, {"y", y.tensor()}, type, "out_grad");
  } else if (y_grad) {
    impl::fail("portops::add_grad: y_grad is given, but y is a number and has no gradient");
  }
  const Extents extents = broadcast_extents(op, x, y);
  if (out_grad.extents() != extents) {
    impl::fail("portops::add_grad: out_grad has extents ", out_grad.extents().to_string(), ", expected ",
               extents.to_string(), " (what x and y broadcast to)");
  }
  check_gradient(ctx, {"x_grad", x_grad}, {"x", x}, type);
  check_gradient(ctx, {"y_grad", y_grad}, {"y", y.tensor()}, type);
  impl::check_in_place(op, {"x_grad", x_grad}, {"out_grad", out_grad});
  impl::check_no_overlap(op, {"x_grad", x_grad},
                         std::array{Named{"x", x}, Named{"y", y.tensor()}, Named{"y_grad", y_grad}});
  impl::check_no_overlap(op, {"y_grad", y_grad},
                         std::array{Named{"x", x}, Named{"y", y.tensor()}, Named{"out_grad", out_grad}});

  const bool with_x = x_grad && !impl::coincide(x_grad, out_grad);  // else it is there already
  if (!with_x && !y_grad) return {};
  if (!with_x || !y_grad) return make_loop(out_grad, with_x ? x_grad : y_grad);
  const TensorOrNumber operand = out_grad;
  return impl::make_loop(type, extents, std::array{&operand}, std::array{&x_grad, &y_grad});
}

}  // namespace

void add(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out) {
  const impl::Region region("portops::add");
  constexpr std::string_view op = "add";
  const ElementType type = x.type();
  impl::check_input(op, ctx, {"x", x}, type, "x");
  if (y.is_tensor()) impl::check_input(op, ctx, {"y", y.tensor()}, type, "x");
  const Extents extents = broadcast_extents(op, x, y);
  impl::check_output(op, ctx, {"out", out}, type, "x", extents, "what x and y broadcast to");
  impl::check_in_place(op, {"out", out}, {"x", x});
  impl::check_no_overlap(op, {"out", out}, std::array{Named{"y", y.tensor()}});
  if (out.size() == 0) return;

  // The sum is the same the other way round: kernels need to know fewer cases where the larger operand comes first.
  const TensorOrNumber first = x;
  const bool swap = impl::shape_of(y).size() > x.size();
  const impl::Loop loop =
      impl::make_loop(type, extents, std::array{swap ? &y : &first, swap ? &first : &y}, std::array{&out});
  impl::dispatch(ctx.backend(), type, [&]<Backend B, class T>() { impl::AddKernels<B, T>::add(ctx, loop); });
}

void add_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
              const TensorRef& x_grad, const TensorRef& y_grad) {
  const impl::Region region("portops::add_grad");
  const std::optional<impl::Loop> loop = check_add_grad(ctx, x, y, out_grad, x_grad, y_grad);
  if (!loop) return;

  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    using Kernels = impl::AddKernels<B, T>;
    is_reduction(*loop) ? Kernels::sum_grad(ctx, impl::make_reduce_plan(*loop)) : Kernels::add_grad(ctx, *loop);
  });
}

std::size_t add_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                               const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  const std::optional<impl::Loop> loop = check_add_grad(ctx, x, y, out_grad, x_grad, y_grad);
  if (!loop) return 0;
  if (is_reduction(*loop)) return impl::reduce_workspace(impl::make_reduce_plan(*loop), out_grad.type());
  return impl::map_workspace(*loop, ctx.backend());
}

}  // namespace portops
