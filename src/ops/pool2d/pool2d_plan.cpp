// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/pool2d/pool2d_plan.hpp"

#include "core/lanes/tile_shape.hpp"

#include <cstdlib>

namespace portops::impl {
namespace {

/// Whether `axis` has its neighbours side by side, and blocks of a GPU's widest access along it are aligned to that.
bool is_wide(const TensorRef& tensor, int axis) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.type()));
  if (tensor.stride(axis) != 1 || reinterpret_cast<std::uintptr_t>(tensor.data()) % gpu_pack_bytes != 0) return false;
  for (int other = 0; other < tensor.rank(); ++other) {
    if (other != axis && tensor.extent(other) > 1 && tensor.stride(other) * size % gpu_pack_bytes != 0) return false;
  }
  return true;
}

}  // namespace

PoolTensor::PoolTensor(const TensorRef& tensor)
    : data(tensor.data()),
      image(tensor.stride(0)),
      channel(tensor.stride(1)),
      row(tensor.stride(2)),
      column(tensor.stride(3)) {}

PoolPlan make_pool_plan(const Pool2dExtents& windows, bool exclusive, const TensorRef& x, const TensorRef& out,
                        const TensorRef& index) {
  PoolPlan plan;
  plan.is_max = windows.is_max;
  plan.exclusive = exclusive;
  plan.by_channels = x.extent(1) > 1 && std::abs(x.stride(1)) < std::abs(x.stride(3));
  plan.wide_images = is_wide(x, plan.by_channels ? 1 : 3);
  plan.wide_windows = is_wide(out, plan.by_channels ? 1 : 3);
  plan.images = x.extent(0);
  plan.channels = x.extent(1);
  plan.down = windows.down;
  plan.across = windows.across;
  plan.x = PoolTensor(x);
  plan.out = PoolTensor(out);
  if (index) plan.index = PoolTensor(index);
  return plan;
}

}  // namespace portops::impl
