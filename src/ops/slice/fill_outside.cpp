// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/slice/fill_outside.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"

#include <string>

namespace portops::impl {
namespace {

/// An axis of a tensor, in words, and what a slice takes of it: places first, first + step, …, with a step of 1 or
/// more.
struct FilledAxis {
  std::int64_t extent, stride;
  std::int64_t first, step, count;
};

/// A tensor as words: runs along the last axes, of which the slice takes everything, are as wide as 16 bytes.
struct FilledTensor {
  std::byte* data = nullptr;
  int word_bytes = 0;
  int rank = 0;
  std::int64_t words = 1;
  FilledAxis axis[max_rank + 1] = {};

  void add(const FilledAxis& one) {
    axis[rank++] = one;
    words *= one.extent;
  }
};

/// The places of a slice in ascending order.
AxisSlice ascending(const AxisSlice& slice) {
  if (slice.step > 0) return slice;
  return {slice.first + (slice.count - 1) * slice.step, -slice.step, slice.count};
}

FilledTensor make_filled(const TensorRef& tensor, const std::array<AxisSlice, max_rank>& slices) {
  const auto joins_run = [&](int axis, std::int64_t run) {
    const std::int64_t extent = tensor.extent(axis);
    return slices[static_cast<std::size_t>(axis)].count == extent && (extent == 1 || tensor.stride(axis) == run);
  };
  int end = tensor.rank();  // of the axes in front of a run
  std::int64_t run = 1;
  for (; end > 0 && joins_run(end - 1, run); --end) run *= tensor.extent(end - 1);
  FilledTensor filled;
  filled.data = static_cast<std::byte*>(tensor.data());
  const auto element = static_cast<std::int64_t>(size_of(tensor.type()));
  const auto fits = [&](std::int64_t bytes) {
    const auto divides = [&](std::int64_t elements) { return elements * element % bytes == 0; };
    bool all = divides(run) && reinterpret_cast<std::uintptr_t>(filled.data) % static_cast<std::size_t>(bytes) == 0;
    for (int axis = 0; axis < end; ++axis) all = all && (tensor.extent(axis) == 1 || divides(tensor.stride(axis)));
    return all;
  };
  std::int64_t bytes = 16;
  while (bytes > element && !fits(bytes)) bytes /= 2;
  filled.word_bytes = static_cast<int>(bytes);
  const std::int64_t per_word = bytes / element;
  for (int axis = 0; axis < end; ++axis) {
    const AxisSlice slice = ascending(slices[static_cast<std::size_t>(axis)]);
    filled.add({tensor.extent(axis), tensor.stride(axis) / per_word, slice.first, slice.step, slice.count});
  }
  filled.add({run / per_word, 1, 0, 1, run / per_word});
  return filled;
}

template <Backend B, class Word>
class FillOutside {
 public:
  static constexpr int blocks = 0;

  explicit FillOutside(const FilledTensor& filled)
      : data_(reinterpret_cast<Word*>(filled.data)), rank_(filled.rank), words_(filled.words) {
    for (int axis = 0; axis < rank_; ++axis) axis_[axis] = filled.axis[axis];
  }

  std::int64_t items() const { return words_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t offset = 0;
    bool is_inside = true;
    PORTOPS_NO_UNROLL
    for (int k = rank_ - 1; k >= 0; --k) {
      const FilledAxis& axis = axis_[k];
      const std::int64_t outer = k > 0 ? quotient(item, axis.extent) : 0;
      const std::int64_t place = item - outer * axis.extent;
      item = outer;
      offset += place * axis.stride;
      const std::int64_t behind = place - axis.first;
      const std::int64_t number = behind < 0 ? -1 : axis.step == 1 ? behind : quotient(behind, axis.step);
      is_inside = is_inside && number >= 0 && number < axis.count && number * axis.step == behind;
    }
    if (!is_inside) *in_device_memory(data_ + offset) = Word{};
  }

 private:
  Word* data_;
  int rank_;
  std::int64_t words_;
  FilledAxis axis_[max_rank + 1];
};

}  // namespace

void fill_outside(const Context& ctx, const TensorRef& tensor, const std::array<AxisSlice, max_rank>& slices) {
  static const std::string label = "portops::slice_grad::fill[outside]";
  const FilledTensor filled = make_filled(tensor, slices);
  dispatch_backend(ctx.backend(), [&]<Backend B>() {
    switch (filled.word_bytes) {
      case 2: return launch_by_items<B>(ctx, label, FillOutside<B, std::uint16_t>(filled));
      case 4: return launch_by_items<B>(ctx, label, FillOutside<B, std::uint32_t>(filled));
      case 8: return launch_by_items<B>(ctx, label, FillOutside<B, std::uint64_t>(filled));
      default: return launch_by_items<B>(ctx, label, FillOutside<B, Pack<std::uint32_t, 4>>(filled));
    }
  });
}

}  // namespace portops::impl
