// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/parts_plan.hpp"

#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace portops::impl {
namespace {

/// Axes of the tensors in the order in which they are walked, those of extent 1 left out.
struct AxisOrder {
  std::array<int, max_rank> axis{};
  int count = 0;
  int position = 0;  ///< of the axis along which the parts follow each other
};

class AxisSorter {
 public:
  AxisSorter(const TensorRef& whole, const TensorRef* part, int along, PartsDirection direction)
      : whole_(whole), part_(part), along_(along), direction_(direction) {}

  AxisOrder sort() const {
    AxisOrder order;
    for (int axis = 0; axis < whole_.rank(); ++axis) {
      if (axis != along_ && whole_.extent(axis) == 1) continue;
      int at = order.count++;
      for (; at > 0 && belongs_outside(axis, order.axis[at - 1]); --at) order.axis[at] = order.axis[at - 1];
      order.axis[at] = axis;
    }
    while (order.axis[order.position] != along_) ++order.position;
    return order;
  }

 private:
  /// By what is written, else, where that does not tell, by what is read.
  bool belongs_outside(int a, int b) const {
    const bool part_first = direction_ == PartsDirection::to_parts;
    const TensorRef* const leaders[] = {part_first ? part_ : &whole_, part_first ? &whole_ : part_};
    for (const TensorRef* tensor : leaders) {
      if (tensor == nullptr || tensor->extent(a) == 1 || tensor->extent(b) == 1) continue;
      const std::int64_t stride_a = std::abs(tensor->stride(a)), stride_b = std::abs(tensor->stride(b));
      if (stride_a != 0 && stride_b != 0 && stride_a != stride_b) return stride_a > stride_b;
    }
    return false;
  }

  const TensorRef& whole_;
  const TensorRef* part_;
  int along_;
  PartsDirection direction_;
};

/// Finds out, tensor by tensor, which neighbouring axes all of them allow to merge.
class Merging {
 public:
  explicit Merging(const AxisOrder& order) : order_(order) {
    mergeable_.fill(true);
    if (order.position > 0) mergeable_[order.position - 1] = false;  // the parts' lengths differ
  }

  void look_at(const TensorRef& tensor) {
    for (int i = 0; i + 1 < order_.count; ++i) {
      const int axis = order_.axis[i], inside = order_.axis[i + 1];
      if (tensor.stride(axis) != tensor.stride(inside) * tensor.extent(inside) && tensor.extent(axis) != 1) {
        mergeable_[i] = false;
      }
    }
    const int last = order_.axis[order_.count - 1];
    dense_ = dense_ && (tensor.stride(last) == 1 || tensor.extent(last) == 1);
  }

  /// Whether each tensor's elements lie side by side from the axis of the parts on.
  bool contiguous() const {
    return dense_ && std::all_of(mergeable_.begin() + order_.position, mergeable_.begin() + order_.count - 1,
                                 [](bool mergeable) { return mergeable; });
  }
  /// Whether the i-th axis and the one inside it can be one.
  bool mergeable(int i) const { return mergeable_[i]; }

 private:
  const AxisOrder& order_;
  std::array<bool, max_rank> mergeable_{};
  bool dense_ = true;
};

/// The i-th bits are set that some of the numbers have: the lowest of them is the widest power of two that divides all.
class Divisibility {
 public:
  void add(std::int64_t bytes) { bits_ |= static_cast<std::uint64_t>(bytes); }
  void add(const void* address) { bits_ |= reinterpret_cast<std::uintptr_t>(address); }
  int widest(int most) const {
    return static_cast<int>(std::uint64_t{1} << std::countr_zero(bits_ | static_cast<std::uint64_t>(most)));
  }

 private:
  std::uint64_t bits_ = 0;
};

/// The axes whose strides the plan keeps: the last of each group of merged ones.
struct KeptAxes {
  std::array<int, max_rank> axis{};
  int count = 0;
};

class PlanMaker {
 public:
  PlanMaker(const TensorRef& whole, std::span<const TensorRef> parts, std::span<const std::int64_t> lengths, int axis)
      : whole_(whole), parts_(parts), lengths_(lengths), along_(axis), element_(size_of(whole.type())) {}

  PartsPlan make(PartsDirection direction, Backend backend) {
    const auto first = std::find_if(parts_.begin(), parts_.end(),
                                    [&](const TensorRef& part) { return part && part.extent(along_) != 0; });
    if (first != parts_.end()) model_ = &*first;
    const AxisOrder order = AxisSorter(whole_, model_, along_, direction).sort();
    Merging merging(order);
    merging.look_at(whole_);
    if (model_ != nullptr) merging.look_at(*model_);
    for (const TensorRef& part : parts_) {
      if (part && part.extent(along_) != 0 && !is_like_model(part)) merging.look_at(part);
    }
    plan_.direction = direction;
    plan_.contiguous = merging.contiguous();
    plan_.whole = static_cast<std::byte*>(whole_.data());
    keep_axes(order, merging);
    plan_.word = static_cast<int>(element_);
    if (plan_.contiguous && backend == Backend::cuda) plan_.word = widest_word();
    add_strides(whole_, plan_.stride.data());
    add_entries();
    return std::move(plan_);
  }

 private:
  void keep_axes(const AxisOrder& order, const Merging& merging) {
    std::int64_t extent = 1;
    for (int i = 0; i < order.count; ++i) {
      const int axis = order.axis[i];
      if (i == order.position) {
        if (plan_.contiguous) break;
        continue;
      }
      extent *= whole_.extent(axis);
      if (i + 1 < order.count && i + 1 != order.position && merging.mergeable(i)) continue;
      (i < order.position ? plan_.outer_axes : plan_.inner_axes) += 1;
      plan_.extent[kept_.count] = extent;
      kept_.axis[kept_.count++] = axis;
      extent = 1;
    }
    if (!plan_.contiguous) {
      kept_.axis[kept_.count++] = along_;
      return;
    }
    for (int i = order.position + 1; i < order.count; ++i) run_of_one_ *= whole_.extent(order.axis[i]);
  }

  /// Whether the part has the strides of the first one, as most lists' parts have, and nothing else to be looked at.
  bool is_like_model(const TensorRef& part) const {
    if (part.extent(along_) != model_->extent(along_)) return false;
    bool result = true;
    for (int axis = 0; axis < part.rank(); ++axis) result = result && part.stride(axis) == model_->stride(axis);
    return result;
  }

  std::int64_t bytes_of(std::int64_t length) const {
    return length * run_of_one_ * static_cast<std::int64_t>(element_);
  }

  /// Of up to 16 bytes, that all addresses, runs and strides are multiples of.
  int widest_word() const {
    Divisibility bytes;
    const auto add_strides_of = [&](const TensorRef& tensor) {
      for (int k = 0; k < kept_.count; ++k) {
        bytes.add(tensor.stride(kept_.axis[k]) * static_cast<std::int64_t>(element_));
      }
    };
    bytes.add(whole_.data());
    add_strides_of(whole_);
    if (model_ != nullptr) add_strides_of(*model_);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const TensorRef& part = parts_[i];
      bytes.add(bytes_of(lengths_[i]));
      if (lengths_[i] == 0 || !part) continue;
      bytes.add(part.data());
      if (!is_like_model(part)) add_strides_of(part);
    }
    return bytes.widest(gpu_pack_bytes);
  }

  void add_strides(const TensorRef& tensor, std::int64_t* strides) const {
    // Words are powers of two of elements: a thousand divisions would take longer than all the rest.
    const int shift = std::countr_zero(static_cast<unsigned>(plan_.word)) - std::countr_zero(element_);
    for (int k = 0; k < kept_.count; ++k) strides[k] = tensor.stride(kept_.axis[k]) >> shift;
  }

  void add_entries() {
    const auto words = static_cast<std::size_t>(plan_.entry_words());
    plan_.entries.resize(parts_.size() * words);
    std::int64_t* entry = plan_.entries.data();
    const int word_bits = std::countr_zero(static_cast<unsigned>(plan_.word));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (lengths_[i] == 0) continue;
      entry[0] = parts_[i] ? static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(parts_[i].data())) : 0;
      entry[1] = plan_.contiguous ? bytes_of(lengths_[i]) >> word_bits : lengths_[i];
      if (parts_[i]) add_strides(parts_[i], entry + 2);
      entry += words;
    }
    plan_.entries.resize(static_cast<std::size_t>(entry - plan_.entries.data()));
  }

  const TensorRef& whole_;
  std::span<const TensorRef> parts_;
  std::span<const std::int64_t> lengths_;
  int along_;
  std::size_t element_;
  const TensorRef* model_ = nullptr;  ///< the first part that has elements and is wanted
  std::int64_t run_of_one_ = 1;       ///< elements of a run a position along the axis, where runs are contiguous
  KeptAxes kept_;
  PartsPlan plan_;
};

}  // namespace

std::int64_t PartsPlan::rows() const {
  std::int64_t result = 1;
  for (int axis = 0; axis < outer_axes; ++axis) result *= extent[axis];
  return result;
}

std::int64_t PartsPlan::inner() const {
  std::int64_t result = 1;
  for (int axis = outer_axes; axis < outer_axes + inner_axes; ++axis) result *= extent[axis];
  return result;
}

PartsPlan make_parts_plan(const TensorRef& whole, std::span<const TensorRef> parts,
                          std::span<const std::int64_t> lengths, int axis, PartsDirection direction, Backend backend) {
  return PlanMaker(whole, parts, lengths, axis).make(direction, backend);
}

}  // namespace portops::impl
