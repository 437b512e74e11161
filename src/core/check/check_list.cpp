// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check/check_list.hpp"

#include "core/types/overlap.hpp"

#include <algorithm>
#include <vector>

namespace portops::impl {
namespace {

/// Whether the tensor passes check_data: that of the first one has been looked at, and this one lies in the same space.
bool is_like_checked(const TensorRef& tensor, const TensorRef& checked) {
  return tensor.has_data() && tensor.space() == checked.space() &&
         reinterpret_cast<std::uintptr_t>(tensor.data()) % size_of(tensor.type()) == 0;
}

/// The bytes from a tensor's lowest to its highest; none where it has no elements.
struct ByteRange {
  std::int64_t first = 0;
  std::int64_t last = -1;
  const TensorRef* tensor = nullptr;

  bool is_empty() const { return last < first; }
  bool meets(const ByteRange& other) const { return first <= other.last && other.first <= last; }
};

ByteRange byte_range(const TensorRef& tensor) {
  if (!tensor.has_data() || tensor.size() == 0) return {};
  const auto element = static_cast<std::int64_t>(size_of(tensor.type()));
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(tensor.data()));
  ByteRange range{address, address + element - 1, &tensor};
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const std::int64_t reach = tensor.stride(axis) * (tensor.extent(axis) - 1) * element;
    (reach < 0 ? range.first : range.last) += reach;
  }
  return range;
}

[[noreturn]] void fail_overlap(std::string_view op, std::string_view output, std::string_view other) {
  fail("portops::", op, ": ", output, " overlaps ", other, " in memory, expected disjoint tensors");
}

/// Rows that many tensors share: slices of one matrix, whose ranges of bytes all meet.
class SharedRows {
 public:
  explicit SharedRows(std::vector<ByteRange> ranges) : ranges_(std::move(ranges)) {}

  /// Whether all tensors step from row to row alike, and none meets another one within a row. Not finding it means
  /// nothing.
  bool are_disjoint() {
    const int axis = longest_axis(*ranges_.front().tensor);
    if (axis < 0) return false;
    const TensorRef& first = *ranges_.front().tensor;
    const std::int64_t period = std::abs(first.stride(axis)) * static_cast<std::int64_t>(size_of(first.type()));
    for (ByteRange& range : ranges_) {
      const TensorRef& tensor = *range.tensor;
      if (tensor.rank() != first.rank() || std::abs(tensor.stride(axis)) != std::abs(first.stride(axis))) return false;
      const std::int64_t width = range.last - range.first + 1 - (tensor.extent(axis) - 1) * period;
      if (width > period || width <= 0) return false;
      range.first %= period;
      range.last = range.first + width - 1;
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const ByteRange& a, const ByteRange& b) { return a.first < b.first; });
    std::int64_t last = ranges_.back().last - period;
    for (const ByteRange& range : ranges_) {
      if (range.first <= last) return false;
      last = range.last;
    }
    return true;
  }

 private:
  /// That of the largest steps in memory; -1 where a tensor is one element.
  static int longest_axis(const TensorRef& tensor) {
    int result = -1;
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      if (tensor.extent(axis) == 1 || tensor.stride(axis) == 0) continue;
      if (result < 0 || std::abs(tensor.stride(axis)) > std::abs(tensor.stride(result))) result = axis;
    }
    return result;
  }

  std::vector<ByteRange> ranges_;
};

/// Of the tensors that have elements, lowest address first.
std::vector<ByteRange> sorted_ranges(std::span<const TensorRef> tensors) {
  std::vector<ByteRange> ranges;
  ranges.reserve(tensors.size());
  bool sorted = true;
  for (const TensorRef& tensor : tensors) {
    const ByteRange range = byte_range(tensor);
    if (range.is_empty()) continue;
    sorted = sorted && (ranges.empty() || ranges.back().first <= range.first);
    ranges.push_back(range);
  }
  if (!sorted) {
    std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.first < b.first; });
  }
  return ranges;
}

/// Ranges of bytes, of which some may meet each other, to be asked which ones meet another range.
class RangeIndex {
 public:
  explicit RangeIndex(std::span<const TensorRef> tensors) : ranges_(sorted_ranges(tensors)) {
    furthest_.reserve(ranges_.size());
    for (const ByteRange& range : ranges_) {
      furthest_.push_back(furthest_.empty() ? range.last : std::max(furthest_.back(), range.last));
    }
  }

  bool is_empty() const { return ranges_.empty(); }

  /// Calls visit(tensor) for those whose ranges meet this one.
  template <class Visit>
  void visit_meeting(const ByteRange& other, const Visit& visit) const {
    const auto end = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const ByteRange& range) { return range.first <= other.last; });
    for (auto i = static_cast<std::size_t>(end - ranges_.begin()); i > 0 && furthest_[i - 1] >= other.first; --i) {
      if (ranges_[i - 1].meets(other)) visit(*ranges_[i - 1].tensor);
    }
  }

 private:
  std::vector<ByteRange> ranges_;
  std::vector<std::int64_t> furthest_;  // the last byte of all ranges up to this one
};

/// No output overlaps an input, but for those of which may(output, input) says that they may.
template <class May>
void check_overlap_of_lists(std::string_view op, const NamedList& outputs, const NamedList& inputs, const May& may) {
  const RangeIndex index(inputs.tensors);
  if (index.is_empty()) return;
  const std::size_t none = inputs.tensors.size();
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i) {
    const TensorRef& output = outputs.tensors[i];
    const ByteRange written = byte_range(output);
    if (written.is_empty()) continue;
    std::size_t first = none;  // that it overlaps
    index.visit_meeting(written, [&](const TensorRef& input) {
      const auto k = static_cast<std::size_t>(&input - inputs.tensors.data());
      if (k < first && !may(i, k) && may_overlap(output, input)) first = k;
    });
    if (first != none) fail_overlap(op, name_in_list(outputs.name, i), name_in_list(inputs.name, first));
  }
}

[[noreturn]] void fail_to_join(std::string_view op, const NamedList& list, std::size_t index, int axis) {
  const TensorRef& tensor = list.tensors[index];
  const std::string name = name_in_list(list.name, index);
  if (!tensor) fail("portops::", op, ": ", name, " is empty, expected a tensor");
  std::string expected;
  for (int k = 0; k < list.tensors.front().rank(); ++k) {
    expected += (k > 0 ? ", " : "") + (k == axis ? "any" : std::to_string(list.tensors.front().extent(k)));
  }
  fail("portops::", op, ": ", name, " has extents ", tensor.extents().to_string(), ", expected [", expected,
       "] (those of ", list.name, "[0] but for axis ", axis, ")");
}

/// Negative axes are counted from the last. The message names the tensor `of`.
int checked_axis(std::string_view op, std::int64_t axis, int rank, std::string_view of) {
  if (rank == 0) fail("portops::", op, ": ", of, " has rank 0, expected one axis or more");
  if (axis < -rank || axis >= rank) {
    fail("portops::", op, ": axis is ", axis, ", expected ", -rank, " to ", rank - 1, " (", of, " has rank ", rank,
         ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

template <class ExtentsOf>
void check_list_outputs_of(std::string_view op, const Context& ctx, const NamedList& outputs, ElementType type,
                           std::string_view like, std::string_view origin, const ExtentsOf& extents_of) {
  const TensorRef* checked = nullptr;
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i) {
    const TensorRef& tensor = outputs.tensors[i];
    if (!tensor) continue;
    const Extents& expected = extents_of(i);
    if (checked != nullptr && tensor.type() == type && is_like_checked(tensor, *checked) && !tensor.read_only() &&
        tensor.extents() == expected && is_row_major(tensor)) {
      continue;
    }
    check_output(op, ctx, {name_in_list(outputs.name, i), tensor}, type, like, expected, name_in_list(origin, i));
    if (tensor.size() != 0) checked = &tensor;
  }
}

}  // namespace

std::vector<TensorRef> values_of(std::span<const RaggedRef> list) {
  std::vector<TensorRef> values;
  values.reserve(list.size());
  for (const RaggedRef& item : list) values.push_back(item.values);
  return values;
}

std::string name_in_list(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

void check_list_given(std::string_view op, const NamedList& list) {
  if (list.tensors.empty()) fail("portops::", op, ": ", list.name, " is an empty list, expected one tensor or more");
  if (!list.tensors.front()) fail("portops::", op, ": ", list.name, "[0] is empty, expected a tensor");
}

void check_all_given(std::string_view op, const NamedList& list) {
  for (std::size_t i = 0; i < list.tensors.size(); ++i) {
    if (!list.tensors[i]) fail("portops::", op, ": ", name_in_list(list.name, i), " is empty, expected a tensor");
  }
}

void check_list_inputs(std::string_view op, const Context& ctx, const NamedList& inputs, ElementType type,
                       std::string_view like) {
  const TensorRef* checked = nullptr;  // the last one with elements
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
    const TensorRef& tensor = inputs.tensors[i];
    if (checked != nullptr && tensor && tensor.type() == type && is_like_checked(tensor, *checked)) continue;
    check_input(op, ctx, {name_in_list(inputs.name, i), tensor}, type, like);
    if (tensor.size() != 0) checked = &tensor;
  }
}

void check_list_shape_only_inputs(std::string_view op, const NamedList& inputs, ElementType type,
                                  std::string_view like) {
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
    const TensorRef& tensor = inputs.tensors[i];
    if (tensor && tensor.type() == type) continue;
    check_shape_only_input(op, {name_in_list(inputs.name, i), tensor}, type, like);
  }
}

PartShapes joined_shapes(std::string_view op, const NamedList& list, std::int64_t axis) {
  check_list_given(op, list);
  const TensorRef& first = list.tensors.front();
  const int along = checked_axis(op, axis, first.rank(), name_in_list(list.name, 0));
  PartShapes shapes{along, first.extents(), {}};
  shapes.lengths.reserve(list.tensors.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < list.tensors.size(); ++i) {
    const TensorRef& tensor = list.tensors[i];
    bool fits = tensor && tensor.rank() == first.rank();
    for (int k = 0; fits && k < first.rank(); ++k) fits = k == along || tensor.extent(k) == first.extent(k);
    if (!fits) fail_to_join(op, list, i, along);
    if (__builtin_add_overflow(sum, tensor.extent(along), &sum)) {
      fail("portops::", op, ": the extents of ", list.name, " along axis ", along,
           " add up to more than 64 bits can count");
    }
    shapes.lengths.push_back(tensor.extent(along));
  }
  shapes.whole[along] = sum;
  return shapes;
}

PartShapes divided_shapes(std::string_view op, const Named& whole, std::span<const std::int64_t> sections,
                          std::int64_t axis) {
  const int along = checked_axis(op, axis, whole.tensor.rank(), whole.name);
  const std::int64_t extent = whole.tensor.extent(along);
  if (sections.empty()) fail("portops::", op, ": sections is empty, expected one length or more");
  std::int64_t sum = 0;
  auto rest = sections.end();
  for (auto section = sections.begin(); section != sections.end(); ++section) {
    if (*section == -1) {
      if (rest != sections.end()) fail("portops::", op, ": sections has -1 twice, expected at most once");
      rest = section;
    } else if (*section < -1) {
      fail("portops::", op, ": sections[", section - sections.begin(), "] is ", *section, ", expected a length or -1");
    } else if (__builtin_add_overflow(sum, *section, &sum)) {
      fail("portops::", op, ": sections add up to more than 64 bits can count");
    }
  }
  if (rest == sections.end() ? sum != extent : sum > extent) {
    fail("portops::", op, ": sections add up to ", sum, ", expected ",
         rest == sections.end() ? "" : "at most (besides -1) ", extent, " (the extent of ", whole.name, " along axis ",
         along, ")");
  }
  PartShapes shapes{along, whole.tensor.extents(), {sections.begin(), sections.end()}};
  if (rest != sections.end()) shapes.lengths[static_cast<std::size_t>(rest - sections.begin())] = extent - sum;
  return shapes;
}

void check_list_size(std::string_view op, const NamedList& list, std::size_t expected, std::string_view one_for_each) {
  if (list.tensors.size() == expected) return;
  fail("portops::", op, ": ", list.name, " has ", list.tensors.size(), " tensors, expected ", expected,
       " (one for each of ", one_for_each, ")");
}

void check_list_extents(std::string_view op, const NamedList& list, std::span<const TensorRef> tensors,
                        std::string_view origin) {
  for (std::size_t i = 0; i < list.tensors.size(); ++i) {
    if (list.tensors[i].extents() == tensors[i].extents()) continue;
    check_extents(op, {name_in_list(list.name, i), list.tensors[i]}, tensors[i].extents(), name_in_list(origin, i));
  }
}

void check_list_outputs(std::string_view op, const Context& ctx, const NamedList& outputs, ElementType type,
                        std::string_view like, const PartShapes& shapes, std::string_view origin) {
  Extents expected = shapes.whole;
  check_list_outputs_of(op, ctx, outputs, type, like, origin, [&](std::size_t i) -> const Extents& {
    expected[shapes.axis] = shapes.lengths[i];
    return expected;
  });
}

void check_list_outputs(std::string_view op, const Context& ctx, const NamedList& outputs, ElementType type,
                        std::string_view like, std::span<const TensorRef> tensors, std::string_view origin) {
  check_list_outputs_of(op, ctx, outputs, type, like, origin,
                        [&](std::size_t i) -> const Extents& { return tensors[i].extents(); });
}

void check_no_overlap(std::string_view op, const Named& output, const NamedList& inputs) {
  const ByteRange written = byte_range(output.tensor);
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
    if (!written.meets(byte_range(inputs.tensors[i]))) continue;
    if (may_overlap(output.tensor, inputs.tensors[i])) fail_overlap(op, output.name, name_in_list(inputs.name, i));
  }
}

void check_no_overlap(std::string_view op, const NamedList& outputs, const NamedList& inputs) {
  check_overlap_of_lists(op, outputs, inputs, [](std::size_t, std::size_t) { return false; });
}

void check_in_place(std::string_view op, const NamedList& outputs, const NamedList& inputs) {
  const auto coincides = [&](std::size_t output, std::size_t input) {
    return output == input && coincide(outputs.tensors[output], inputs.tensors[input]);
  };
  bool all = outputs.tensors.size() <= inputs.tensors.size();
  for (std::size_t i = 0; all && i < outputs.tensors.size(); ++i) all = coincides(i, i);
  if (all) return check_disjoint(op, outputs);
  check_overlap_of_lists(op, outputs, inputs, coincides);
}

void check_no_overlap(std::string_view op, const NamedList& outputs, const Named& input) {
  const ByteRange read = byte_range(input.tensor);
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i) {
    if (!read.meets(byte_range(outputs.tensors[i]))) continue;
    if (may_overlap(outputs.tensors[i], input.tensor)) fail_overlap(op, name_in_list(outputs.name, i), input.name);
  }
}

void check_disjoint(std::string_view op, const NamedList& outputs) {
  const std::vector<ByteRange> ranges = sorted_ranges(outputs.tensors);
  bool meet = false;
  for (std::size_t i = 1; i < ranges.size(); ++i) meet = meet || ranges[i].first <= ranges[i - 1].last;
  if (!meet || SharedRows(ranges).are_disjoint()) return;
  const auto index = [&](const ByteRange& range) {
    return static_cast<std::size_t>(range.tensor - outputs.tensors.data());
  };
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t k = i + 1; k < ranges.size() && ranges[k].first <= ranges[i].last; ++k) {
      if (!may_overlap(*ranges[i].tensor, *ranges[k].tensor)) continue;
      const auto [low, high] = std::minmax({index(ranges[i]), index(ranges[k])});
      fail_overlap(op, name_in_list(outputs.name, low), name_in_list(outputs.name, high));
    }
  }
}

}  // namespace portops::impl
