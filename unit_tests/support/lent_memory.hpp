// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/runtime.hpp"
#include "portops/core/tensor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace portops::test {

/// Memory to lend, with bytes behind it that must not change. At first all of it is NaN, whatever the type.
class LentMemory {
 public:
  LentMemory(const Context& ctx, std::size_t bytes)
      : ctx_(ctx),
        bytes_(bytes),
        host_((bytes + alignment + behind) / sizeof(float)),
        memory_(ElementType::f32, {static_cast<std::int64_t>(host_.size())}, default_memory_space(ctx.backend())) {
    std::memset(host_.data(), 0xff, host_.size() * sizeof(float));
    copy(ctx_, host_ref(), memory_);
    ctx_.fence();
  }

  Workspace workspace() const { return {memory_.data<unsigned char>() + first(), bytes_}; }

  bool is_untouched_outside() {
    copy(ctx_, memory_, host_ref());
    ctx_.fence();
    const auto* const begin = reinterpret_cast<const unsigned char*>(host_.data());
    const auto is_untouched = [](unsigned char byte) { return byte == 0xff; };
    return std::all_of(begin, begin + first(), is_untouched) &&
           std::all_of(begin + first() + bytes_, begin + host_.size() * sizeof(float), is_untouched);
  }

 private:
  static constexpr std::size_t alignment = 256;
  static constexpr std::size_t behind = 4096;

  std::size_t first() const {
    return (alignment - reinterpret_cast<std::uintptr_t>(memory_.data<void>()) % alignment) % alignment;
  }
  TensorRef host_ref() { return {host_.data(), memory_.ref().extents()}; }

  const Context& ctx_;
  std::size_t bytes_;
  std::vector<float> host_;
  Tensor memory_;
};

}  // namespace portops::test
