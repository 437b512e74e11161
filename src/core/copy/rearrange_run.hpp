// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/tile_shape.hpp"

#include <cstdint>

namespace portops::impl {

/// Elements of two types that lie in one order, columns after columns, without gaps, on a GPU: a thread takes a pack.
template <class From, class To>
class RearrangeRun {
 public:
  static constexpr int blocks = 0;

  static bool suits(const Rearrangement& what) {
    const auto is_dense = [&](const Rearrangement::Side& side) {
      return (side.row == 1 || what.rows == 1) && (side.x == what.rows || what.width == 1) &&
             (side.y == what.width * what.rows || what.height == 1) &&
             (side.batch == what.columns() * what.rows || what.batches == 1) &&
             reinterpret_cast<std::uintptr_t>(side.data) % gpu_pack_bytes == 0;
    };
    return is_dense(what.from) && is_dense(what.to) && what.size() % width == 0;
  }

  explicit RearrangeRun(const Rearrangement& what)
      : from_(static_cast<const Word<From, width>*>(what.from.data)),
        to_(static_cast<Word<To, width>*>(what.to.data)),
        items_(what.size() / width) {}

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const Word<From, width> in = in_device_memory(from_)[item];
    Word<To, width> out;
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) out.set(i, static_cast<To>(in[i]));
    in_device_memory(to_)[item] = out;
  }

 private:
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(From) < sizeof(To) ? sizeof(To) : sizeof(From));

  const Word<From, width>* from_;
  Word<To, width>* to_;
  std::int64_t items_;
};

}  // namespace portops::impl
