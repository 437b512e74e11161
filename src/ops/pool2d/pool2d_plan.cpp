// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/pool2d/pool2d_plan.hpp"

#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace portops::impl {
namespace {

/// Whether `axis` has its neighbours side by side, and packs of so many along it are aligned to their bytes.
bool has_packs(const TensorRef& tensor, int axis, int pack) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.type()));
  const std::int64_t bytes = pack * size;
  if (tensor.stride(axis) != 1 || reinterpret_cast<std::uintptr_t>(tensor.data()) % bytes != 0) return false;
  for (int other = 0; other < tensor.rank(); ++other) {
    if (other != axis && tensor.extent(other) > 1 && tensor.stride(other) * size % bytes != 0) return false;
  }
  return true;
}

/// As many elements as a GPU's widest access has.
int widest(const TensorRef& tensor) { return gpu_pack_bytes / static_cast<int>(size_of(tensor.type())); }

PoolTensor pool_tensor(const TensorRef& tensor) {
  const auto stride = [&](int axis) { return tensor.extent(axis) > 1 ? tensor.stride(axis) : 0; };
  return {tensor.data(), stride(0), stride(1), stride(2), stride(3)};
}

/// Whether out and index are whole packs of so many neighbours, and x of as many channels or twice as many pixels.
bool are_packs(const PoolPlan& plan, int pack, const TensorRef& x, const TensorRef& out, const TensorRef& index) {
  const int axis = plan.by_channels ? 1 : 3;
  if (!has_packs(x, axis, plan.by_channels ? pack : 2 * pack) || !has_packs(out, axis, pack)) return false;
  if (index && !has_packs(index, axis, std::min(pack, widest(index)))) return false;
  return plan.by_channels ? plan.channels % pack == 0
                          : plan.across.windows % pack == 0 && plan.across.extent == 2 * plan.across.windows;
}

/// Sets PoolPlan::by_packs and PoolPlan::pack.
void choose_packs(PoolPlan& plan, const TensorRef& x, const TensorRef& out, const TensorRef& index) {
  const auto suits = [](const PoolAxis& axis) {
    return axis.kernel == axis.before + 2 && axis.kernel <= 3 && axis.stride == 2;
  };
  if (!suits(plan.down) || !suits(plan.across) || plan.down.kernel != plan.across.kernel) return;
  const int most = plan.by_channels ? widest(x) : widest(x) / 2;
  for (const int pack : {most, 2, 1}) {
    if (plan.by_channels && pack != most) return;
    if (!are_packs(plan, pack, x, out, index)) continue;
    plan.by_packs = static_cast<int>(plan.down.kernel);
    plan.pack = pack;
    return;
  }
}

}  // namespace

bool PoolPlan::is_small() const {
  constexpr std::int64_t most = INT32_MAX, most_of_axis = most / 4;
  const auto fits = [](const PoolAxis& axis) {
    return std::max({axis.extent, axis.kernel, axis.stride}) < most_of_axis;
  };
  const auto reaches = [this](const PoolTensor& tensor, std::int64_t rows, std::int64_t columns) {
    return std::abs(tensor.image) * (images - 1) + std::abs(tensor.channel) * (channels - 1) +
           std::abs(tensor.row) * (rows - 1) + std::abs(tensor.column) * (columns - 1);
  };
  const std::int64_t planes = images * channels;
  return fits(down) && fits(across) && planes * down.extent * across.extent < most &&
         planes * down.windows * across.windows < most && reaches(x, down.extent, across.extent) < most &&
         reaches(out, down.windows, across.windows) < most && reaches(index, down.windows, across.windows) < most;
}

PoolPlan PoolPlan::part(std::int64_t first_image, std::int64_t count, int element_bytes) const {
  PoolPlan part = *this;
  const auto move = [&](PoolTensor& tensor, int bytes) {
    if (tensor.data != nullptr) tensor.data = static_cast<std::byte*>(tensor.data) + first_image * tensor.image * bytes;
  };
  part.images = count;
  move(part.x, element_bytes);
  move(part.out, element_bytes);
  move(part.index, sizeof(std::int64_t));
  return part;
}

PoolPlan make_pool_plan(const Pool2dExtents& windows, bool exclusive, const TensorRef& x, const TensorRef& out,
                        const TensorRef& index) {
  PoolPlan plan;
  plan.is_max = windows.is_max;
  plan.exclusive = exclusive;
  plan.by_channels = x.extent(1) > 1 && std::abs(x.stride(1)) < std::abs(x.stride(3));
  plan.wide_images = has_packs(x, plan.by_channels ? 1 : 3, widest(x));
  plan.wide_windows = has_packs(out, plan.by_channels ? 1 : 3, widest(out));
  plan.images = x.extent(0);
  plan.channels = x.extent(1);
  plan.down = windows.down;
  plan.across = windows.across;
  plan.x = pool_tensor(x);
  plan.out = pool_tensor(out);
  if (index) plan.index = pool_tensor(index);
  choose_packs(plan, x, out, index);
  const bool even_pixels = x.extent(2) == 1 || x.stride(2) == x.extent(3) * x.stride(3);
  plan.is_whole = plan.down.is_whole() && plan.across.is_whole() && even_pixels;
  return plan;
}

}  // namespace portops::impl
