// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/loop/loop.hpp"

#include <algorithm>
#include <cstdlib>

namespace portops::impl {
namespace {

/// The tensor's strides along the loop's axes, aligned at the last one; 0 where it is broadcast.
void spread(LoopOperand& operand, const TensorRef& tensor, const Extents& extents) {
  operand.data = static_cast<std::byte*>(tensor.data());
  const int missing = extents.rank() - tensor.rank();
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) != 1) operand.stride[static_cast<std::size_t>(missing + axis)] = tensor.stride(axis);
  }
}

void drop_axes_of_extent_1(Loop& loop) {
  int kept = 0;
  for (int axis = 0; axis < loop.rank; ++axis) {
    if (loop.extent[axis] == 1) continue;
    loop.extent[kept] = loop.extent[axis];
    loop.reduced[kept] = loop.reduced[axis];
    for (LoopOperand& operand : loop.operand) operand.stride[kept] = operand.stride[axis];
    ++kept;
  }
  loop.rank = kept;
}

/// The operand that counts as the k-th where strides are compared: from `leader` on, and then those before it.
const LoopOperand& by_rank(const Loop& loop, int leader, int k) { return loop.operand[(leader + k) % loop.operands()]; }

/// Walks an axis from its other end where the first operand that moves along it does so backwards.
void turn_negative_axes(Loop& loop, int leader) {
  const auto bytes = static_cast<std::int64_t>(size_of(loop.type));
  for (int axis = 0; axis < loop.rank; ++axis) {
    std::int64_t stride = 0;
    for (int k = 0; k < loop.operands() && stride == 0; ++k) stride = by_rank(loop, leader, k).stride[axis];
    if (stride >= 0) continue;
    for (LoopOperand& operand : loop.operand) {
      if (operand.data != nullptr) operand.data += operand.stride[axis] * (loop.extent[axis] - 1) * bytes;
      operand.stride[axis] = -operand.stride[axis];
    }
  }
}

/// Whether axis a should lie outside axis b: by the first operand that moves along both.
bool belongs_outside(const Loop& loop, int leader, int a, int b) {
  for (int k = 0; k < loop.operands(); ++k) {
    const LoopOperand& operand = by_rank(loop, leader, k);
    const std::int64_t stride_a = std::abs(operand.stride[a]);
    const std::int64_t stride_b = std::abs(operand.stride[b]);
    if (stride_a != 0 && stride_b != 0 && stride_a != stride_b) return stride_a > stride_b;
  }
  return false;
}

/// Insertion sort: the order is not transitive where operands disagree, and axes that are in order already must stay.
void order_axes_by_stride(Loop& loop, int leader) {
  for (int sorted = 1; sorted < loop.rank; ++sorted) {
    for (int axis = sorted; axis > 0 && belongs_outside(loop, leader, axis, axis - 1); --axis) {
      std::swap(loop.extent[axis], loop.extent[axis - 1]);
      std::swap(loop.reduced[axis], loop.reduced[axis - 1]);
      for (LoopOperand& operand : loop.operand) std::swap(operand.stride[axis], operand.stride[axis - 1]);
    }
  }
}

void merge_axes(Loop& loop) {
  if (loop.rank == 0) return;
  int last = 0;  // the axis that the next one may be merged into
  for (int axis = 1; axis < loop.rank; ++axis) {
    const bool mergeable =
        loop.reduced[last] == loop.reduced[axis] &&
        std::all_of(loop.operand.begin(), loop.operand.begin() + loop.operands(), [&](const LoopOperand& operand) {
          return operand.stride[last] == operand.stride[axis] * loop.extent[axis];
        });
    if (!mergeable) ++last;
    loop.extent[last] = mergeable ? loop.extent[last] * loop.extent[axis] : loop.extent[axis];
    loop.reduced[last] = loop.reduced[axis];
    for (LoopOperand& operand : loop.operand) operand.stride[last] = operand.stride[axis];
  }
  loop.rank = last + 1;
}

/// Brings a loop into canonical form, by the strides of operand `leader` before those of the others.
void bring_into_form(Loop& loop, int leader) {
  drop_axes_of_extent_1(loop);
  turn_negative_axes(loop, leader);
  order_axes_by_stride(loop, leader);
  merge_axes(loop);
}

}  // namespace

std::int64_t Loop::size() const {
  std::int64_t result = 1;
  for (int axis = 0; axis < rank; ++axis) result *= extent[axis];
  return result;
}

bool Loop::sums(int output) const {
  const LoopOperand& operand = this->operand[inputs + output];
  if (operand.data == nullptr) return false;
  return std::any_of(operand.stride.begin(), operand.stride.begin() + rank,
                     [](std::int64_t stride) { return stride == 0; });
}

Loop make_loop(ElementType type, const Extents& extents, std::span<const TensorOrNumber* const> inputs,
               std::span<const TensorRef* const> outputs, const AxisSet& reduced) {
  Loop loop;
  loop.reduced = reduced;
  loop.type = type;
  loop.rank = extents.rank();
  std::copy(extents.begin(), extents.end(), loop.extent.begin());
  loop.inputs = static_cast<int>(inputs.size());
  loop.outputs = static_cast<int>(outputs.size());
  for (int k = 0; k < loop.inputs; ++k) {
    if (inputs[k]->is_tensor()) {
      spread(loop.operand[k], inputs[k]->tensor(), extents);
    } else {
      loop.operand[k].number = inputs[k]->number();
    }
  }
  for (int k = 0; k < loop.outputs; ++k) {
    if (*outputs[k]) spread(loop.operand[loop.inputs + k], *outputs[k], extents);
  }
  bring_into_form(loop, loop.inputs);
  return loop;
}

Loop make_reduction(const TensorRef& x, const TensorRef& out, const AxisSet& reduced) {
  Loop loop;
  loop.reduced = reduced;
  loop.type = x.type();
  loop.rank = x.rank();
  std::copy(x.extents().begin(), x.extents().end(), loop.extent.begin());
  loop.inputs = loop.outputs = 1;
  spread(loop.operand[reduction_x], x, x.extents());
  spread(loop.operand[reduction_out], out, x.extents());
  bring_into_form(loop, reduction_x);
  return loop;
}

}  // namespace portops::impl
