// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/elements.hpp"
#include "graph/onnx/node_reader.hpp"

#include <algorithm>
#include <numeric>

// Other extents, other orders of axes, parts.

namespace portops::impl {

using graph::ValueId;
using Integers = std::vector<std::int64_t>;

namespace {

/// Gives the first input with other extents: known elements stay known.
void give_reshaped(NodeReader& node, const Extents& extents) {
  const Tensor* elements = node.elements(0);
  if (elements == nullptr) {
    node.give(0, node.reshaped(node.input(0), extents));
    return;
  }
  if (elements->ref().size() != extents.product()) {
    node.refuse("makes extents ", extents.to_string(), " of ", elements->ref().extents().to_string(),
                ", another number of elements");
  }
  node.give(0, with_extents(*elements, extents));
}

Extents checked_extents(const NodeReader& node, const Integers& extents) {
  if (extents.size() > static_cast<std::size_t>(max_rank)) {
    node.refuse("makes ", extents.size(), " axes, expected ", max_rank, " or fewer");
  }
  return Extents(std::span(extents));
}

/// Axes in an attribute, or since operator set 13 in an input.
std::optional<Integers> given_axes(NodeReader& node) {
  if (node.has_input(1)) return node.integers(1);
  return node.integers("axes");
}

}  // namespace

void read_reshape(NodeReader& node) {
  Integers shape = node.integers(1);
  const Extents x = node.extents(0);
  const bool takes_zeros = node.flag("allowzero", false);
  std::int64_t rest = x.product();
  auto open = shape.end();
  for (auto each = shape.begin(); each != shape.end(); ++each) {
    if (*each < -1) node.refuse("has an extent of ", *each);
    if (*each == 0 && !takes_zeros) {
      const auto axis = each - shape.begin();
      if (axis >= x.rank()) node.refuse("takes over the extent of axis ", axis, " of ", x.to_string());
      *each = x[static_cast<int>(axis)];
    }
    if (*each == -1) {
      if (open != shape.end()) node.refuse("leaves two extents open");
      open = each;
    }
  }
  if (open != shape.end()) {
    for (auto each = shape.begin(); each != shape.end(); ++each) {
      if (each == open) continue;
      if (*each == 0 || rest % *each != 0)
        node.refuse("leaves an extent open that ", x.to_string(), " does not determine");
      rest /= *each;
    }
    *open = rest;
  }
  give_reshaped(node, checked_extents(node, shape));
}

void read_flatten(NodeReader& node) {
  const Extents x = node.extents(0);
  const std::int64_t given = node.integer("axis", 1);
  const std::int64_t axis = given < 0 ? given + x.rank() : given;
  if (axis < 0 || axis > x.rank()) node.refuse("has the axis ", given, " of ", x.rank());
  const int first = static_cast<int>(axis);
  give_reshaped(node, {product_of(x, 0, first), product_of(x, first, x.rank())});
}

void read_squeeze(NodeReader& node) {
  const Extents x = node.extents(0);
  const auto given = given_axes(node);
  const std::vector<int> axes = node.axes(given.value_or(Integers()), x.rank());
  Integers extents;
  for (int i = 0; i < x.rank(); ++i) {
    const bool is_named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (is_named && x[i] != 1) node.refuse("takes away axis ", i, " of ", x.to_string());
    if (given ? !is_named : x[i] != 1) extents.push_back(x[i]);
  }
  give_reshaped(node, checked_extents(node, extents));
}

void read_unsqueeze(NodeReader& node) {
  const Extents x = node.extents(0);
  const Integers given = given_axes(node).value_or(Integers());
  if (given.size() > static_cast<std::size_t>(max_rank)) node.refuse("adds ", given.size(), " axes");
  const int rank = x.rank() + static_cast<int>(given.size());
  const std::vector<int> axes = node.axes(given, rank);
  Integers extents;
  int next = 0;
  for (int i = 0; i < rank; ++i) {
    extents.push_back(std::find(axes.begin(), axes.end(), i) != axes.end() ? 1 : x[next++]);
  }
  give_reshaped(node, checked_extents(node, extents));
}

void read_transpose(NodeReader& node) {
  const Extents x = node.extents(0);
  Integers perm(static_cast<std::size_t>(x.rank()));
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = node.integers("perm").value_or(perm);
  if (perm.size() != static_cast<std::size_t>(x.rank())) node.refuse("perm has ", perm.size(), " axes of ", x.rank());
  node.axes(perm, x.rank());
  for (const std::int64_t each : perm) {
    if (each < 0) node.refuse("perm has the axis ", each);
  }
  node.give(0, node.transposed(node.input(0), perm));
}

void read_concat(NodeReader& node) {
  const int axis = node.axis(node.integer("axis", 0), node.extents(0).rank());
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < node.inputs(); ++i) parts.push_back(node.input(i));
  node.give(0, parts.size() == 1 ? parts[0] : node.call("concat", {{"x", parts}}, {{"axis", axis}}));
}

void read_split(NodeReader& node) {
  const Extents x = node.extents(0);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const auto parts = static_cast<std::int64_t>(node.outputs());
  Integers sections = node.integers("split").value_or(Integers());
  if (node.has_input(1)) sections = node.integers(1);
  if (sections.empty()) {
    if (node.integer("num_outputs", parts) != parts) {
      node.refuse("has ", parts, " outputs, but num_outputs is ", node.integer("num_outputs", parts));
    }
    if (x[axis] % parts != 0 && node.operator_set() < 18) {
      node.refuse("divides ", x.to_string(), " along axis ", axis, " into ", parts, " equal parts");
    }
    // The last one may be smaller.
    const std::int64_t each = x[axis] / parts + (x[axis] % parts != 0 ? 1 : 0);
    sections.assign(static_cast<std::size_t>(parts), each);
    sections.back() = x[axis] - (parts - 1) * each;
  }
  if (sections.size() != node.outputs()) node.refuse("has ", parts, " outputs, but the extents of ", sections.size());
  for (const std::int64_t each : sections) {
    if (each < 0) node.refuse("has a part of extent ", each);
  }
  const graph::Call call = node.call({.op = "split",
                                      .inputs = {{"x", node.input(0)}},
                                      .attributes = {{"sections", sections}, {"axis", axis}},
                                      .place = node.place()});
  for (std::size_t i = 0; i < node.outputs(); ++i) node.give(i, call.results("out")[i]);
}

/// data, starts, ends, axes, steps.
void read_slice(NodeReader& node) {
  const Extents x = node.extents(0);
  Integers starts = node.integers(1), ends = node.integers(2), axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) axes = node.integers(3);
  if (node.has_input(4)) steps = node.integers(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    node.refuse("has ", starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(),
                " steps");
  }
  const std::vector<int> numbers = node.axes(axes, x.rank());
  axes.assign(numbers.begin(), numbers.end());
  bool takes_all = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = x[numbers[i]];
    // Backwards ONNX begins no earlier than at the first element, where calls, as NumPy, would take nothing.
    starts[i] = std::clamp(starts[i], steps[i] < 0 ? -extent : -extent - 1, extent);
    ends[i] = std::clamp(ends[i], -extent - 1, extent);
    // Longer steps take one element, as these do.
    const std::int64_t longest = std::max<std::int64_t>(extent, 1);
    steps[i] = std::clamp(steps[i], -longest, longest);
    takes_all = takes_all && steps[i] == 1 && (starts[i] == 0 || starts[i] < -extent) && ends[i] == extent;
  }
  if (takes_all) {
    node.give(0, node.known(0));
    return;
  }
  node.give(0, node.call("slice", {{"x", node.input(0)}},
                         {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"strides", steps}}));
}

namespace {

/// Whether indices follow each other, so that a slice has what they take.
bool are_neighbours(const Integers& ids) {
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[0] + static_cast<std::int64_t>(i)) return false;
  }
  return !ids.empty();
}

/// By rows of a table: the axis in front, all others in one.
ValueId gather_rows(NodeReader& node, ValueId x, ValueId ids, int axis) {
  const Extents its = node.extents_of(x), places = node.extents_of(ids);
  Integers to_front{axis};
  for (int i = 0; i < its.rank(); ++i) {
    if (i != axis) to_front.push_back(i);
  }
  const ValueId turned = node.transposed(x, to_front);
  const Extents turned_extents = node.extents_of(turned);
  const ValueId table = node.reshaped(turned, {its[axis], product_of(turned_extents, 1, its.rank())});
  const ValueId rows = node.call("embedding", {{"weight", table}, {"ids", ids}});
  Integers extents(places.begin(), places.end());
  extents.insert(extents.end(), turned_extents.begin() + 1, turned_extents.end());
  if (extents.size() > static_cast<std::size_t>(max_rank)) node.refuse("gives ", extents.size(), " axes");
  const ValueId out = node.reshaped(rows, Extents(std::span<const std::int64_t>(extents)));
  // What the places gave stands where the axis was.
  Integers perm;
  for (int i = 0; i < axis; ++i) perm.push_back(places.rank() + i);
  for (int i = 0; i < places.rank(); ++i) perm.push_back(i);
  for (int i = axis; i + 1 < its.rank(); ++i) perm.push_back(places.rank() + i);
  return node.transposed(out, perm);
}

}  // namespace

void read_gather(NodeReader& node) {
  const Extents x = node.extents(0), places = node.extents(1);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const Tensor* elements = node.elements(1);
  if (elements == nullptr) {
    node.give(0, gather_rows(node, node.input(0), node.input(1), axis));
    return;
  }
  Integers ids = node.integers(1);
  bool counts_from_end = false;
  for (std::int64_t& each : ids) {
    if (each < -x[axis] || each >= x[axis]) node.refuse("takes ", each, " along axis ", axis, " of ", x.to_string());
    counts_from_end = counts_from_end || each < 0;
    if (each < 0) each += x[axis];
  }
  if (places.rank() <= 1 && are_neighbours(ids)) {
    const ValueId part =
        node.call("slice", {{"x", node.input(0)}},
                  {{"axes", Integers{axis}}, {"starts", Integers{ids.front()}}, {"ends", Integers{ids.back() + 1}}});
    Integers extents(x.begin(), x.end());
    if (places.rank() == 0) extents.erase(extents.begin() + axis);
    if (places.rank() == 1) extents[static_cast<std::size_t>(axis)] = places[0];
    node.give(0, node.reshaped(part, Extents(std::span<const std::int64_t>(extents))));
    return;
  }
  if (!counts_from_end) {
    node.give(0, gather_rows(node, node.input(0), node.input(1), axis));
    return;
  }
  node.take(ids.size() * sizeof ids[0]);
  const ValueId constant = node.constant(with_extents(integers_tensor(ids), places));
  node.give(0, gather_rows(node, node.input(0), constant, axis));
}

/// Axes of extent 1 repeated: their one element joined to itself.
void read_expand(NodeReader& node) {
  constexpr std::int64_t most_parts = 256;
  const Extents x = node.extents(0);
  const Extents shape = checked_extents(node, node.integers(1));
  const int rank = std::max(x.rank(), shape.rank());
  Extents extents = Extents::of_rank(rank), target = extents;
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - x.rank()), wanted = i - (rank - shape.rank());
    extents[i] = own >= 0 ? x[own] : 1;
    target[i] = wanted >= 0 && shape[wanted] != 1 ? shape[wanted] : extents[i];
    if (extents[i] != target[i] && extents[i] != 1) {
      node.refuse("makes extents ", shape.to_string(), " of ", x.to_string(), ", which does not broadcast to them");
    }
  }
  ValueId out = node.reshaped(node.input(0), extents);
  for (int i = rank - 1; i >= 0; --i) {
    if (extents[i] == target[i]) continue;
    if (target[i] < 1 || target[i] > most_parts)
      node.refuse("repeats axis ", i, " ", target[i], " times, expected at most ", most_parts);
    out = node.call("concat", {{"x", std::vector<ValueId>(static_cast<std::size_t>(target[i]), out)}}, {{"axis", i}});
  }
  node.give(0, out);
}

}  // namespace portops::impl
