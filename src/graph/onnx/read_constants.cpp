// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/elements.hpp"
#include "graph/onnx/node_reader.hpp"

#include <algorithm>
#include <cstring>

// Constants, and arithmetic on integers that are known: where exporters compute extents.

namespace portops::impl {

using Integers = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t most_folded = 65'536;

}  // namespace

void read_constant(NodeReader& node) {
  if (node.proto().attribute_size() != 1)
    node.refuse("has ", node.proto().attribute_size(), " attributes, expected one");
  const onnx::AttributeProto& its = node.proto().attribute(0);
  const auto integers = [](const auto& values) { return integers_tensor(Integers(values.begin(), values.end())); };
  const auto floats = [](const auto& values) {
    Tensor tensor(ElementType::f32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.data<float>());
    return tensor;
  };
  if (its.name() == "value" && its.has_t()) {
    node.give(0, Known{.elements = node.elements_of(its)});
  } else if (its.name() == "value_int") {
    node.give(0, with_extents(integers(std::vector{its.i()}), {}));
  } else if (its.name() == "value_ints") {
    node.give(0, integers(its.ints()));
  } else if (its.name() == "value_float") {
    node.give(0, with_extents(floats(std::vector{its.f()}), {}));
  } else if (its.name() == "value_floats") {
    node.give(0, floats(its.floats()));
  } else {
    node.refuse("is a constant that is neither numbers nor a tensor");
  }
}

void read_constant_of_shape(NodeReader& node) {
  const Integers shape = node.integers(0);
  if (shape.size() > static_cast<std::size_t>(max_rank)) node.refuse("has ", shape.size(), " axes");
  std::int64_t count = 1;
  for (const std::int64_t each : shape) {
    const bool fits = each >= 0 && each <= most_folded;
    if (fits) count *= each;
    if (!fits || count > most_folded) {
      node.refuse("makes more than ", most_folded, " elements, or an extent of ", each);
    }
  }
  const onnx::AttributeProto* value = node.attribute("value");
  Tensor number(ElementType::f32, {1});
  *number.data<float>() = 0.0F;
  if (value != nullptr) number = node.elements_of(*value);
  if (number.ref().size() != 1) node.refuse("has a value of ", number.ref().size(), " elements");
  const Tensor all(number.ref().type(), Extents(std::span(shape)));
  const std::size_t bytes = size_of(number.ref().type());
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<char*>(all.ref().data()) + static_cast<std::size_t>(i) * bytes, number.ref().data(), bytes);
  }
  node.give(0, all);
}

void read_shape(NodeReader& node) {
  const Extents x = node.extents(0);
  const auto place = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t given = node.integer(name, otherwise);
    return std::clamp<std::int64_t>(given < 0 ? given + x.rank() : given, 0, x.rank());
  };
  const std::int64_t start = place("start", 0), end = std::max(place("end", x.rank()), start);
  node.give(0, integers_tensor(Integers(x.begin() + start, x.begin() + end)));
}

void read_size(NodeReader& node) { node.give(0, with_extents(integers_tensor({node.extents(0).product()}), {})); }

void read_range(NodeReader& node) {
  const auto one = [&](std::size_t number) {
    const Integers its = node.integers(number);
    if (its.size() != 1) node.refuse("input ", number, " has ", its.size(), " elements");
    return its[0];
  };
  const std::int64_t start = one(0), limit = one(1), delta = one(2);
  constexpr std::int64_t most = std::int64_t{1} << 60;  // sums of a few of these fit into 64 bits
  const auto fits = [](std::int64_t each) { return -most <= each && each <= most; };
  if (delta == 0 || !fits(start) || !fits(limit) || !fits(delta)) {
    node.refuse("goes from ", start, " to ", limit, " by ", delta);
  }
  const std::int64_t count = delta > 0 ? (limit - start + delta - 1) / delta : (start - limit - delta - 1) / -delta;
  if (count > most_folded) node.refuse("makes ", count, " elements, expected at most ", most_folded);
  Integers values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(start + i * delta);
  node.give(0, integers_tensor(values));
}

namespace {

bool add(std::int64_t a, std::int64_t b, std::int64_t* out) { return !__builtin_add_overflow(a, b, out); }
bool subtract(std::int64_t a, std::int64_t b, std::int64_t* out) { return !__builtin_sub_overflow(a, b, out); }
bool multiply(std::int64_t a, std::int64_t b, std::int64_t* out) { return !__builtin_mul_overflow(a, b, out); }
bool divide(std::int64_t a, std::int64_t b, std::int64_t* out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  *out = a / b;
  return true;
}

/// Of operands of the same extents, or of which one is a number.
void fold_arithmetic(NodeReader& node) {
  const std::string& op = node.proto().op_type();
  auto* function = op == "Add" ? add : op == "Sub" ? subtract : op == "Mul" ? multiply : divide;
  const Integers a = node.integers(0), b = node.integers(1);
  const Extents x = node.extents(0), y = node.extents(1);
  const bool spreads_a = a.size() == 1 && x.rank() <= y.rank(), spreads_b = b.size() == 1 && y.rank() <= x.rank();
  if (!(x == y) && !spreads_a && !spreads_b) {
    node.refuse("computes with integers of extents ", x.to_string(), " and ", y.to_string());
  }
  Integers result(spreads_a ? b.size() : a.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t left = a[spreads_a ? 0 : i], right = b[spreads_b ? 0 : i];
    if (!function(left, right, &result[i]))
      node.refuse("computes ", left, " and ", right, ", which gives no integer of 64 bits");
  }
  node.give(0, with_extents(integers_tensor(result), spreads_a ? y : x));
}

void fold_concat(NodeReader& node) {
  node.axis(node.integer("axis", 0), 1);
  Integers all;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Integers part = node.integers(i);
    all.insert(all.end(), part.begin(), part.end());
  }
  node.give(0, integers_tensor(all));
}

void fold_gather(NodeReader& node) {
  node.axis(node.integer("axis", 0), 1);
  const Integers all = node.integers(0);
  Integers taken;
  for (const std::int64_t each : node.integers(1))
    taken.push_back(all[static_cast<std::size_t>(node.axis(each, static_cast<int>(all.size())))]);
  node.give(0, with_extents(integers_tensor(taken), node.extents(1)));
}

void fold_slice(NodeReader& node) {
  const Integers all = node.integers(0), starts = node.integers(1), ends = node.integers(2);
  const Integers steps = node.has_input(4) ? node.integers(4) : Integers{1};
  const Integers axes = node.has_input(3) ? node.integers(3) : Integers{0};
  if (axes.size() == 1) node.axis(axes[0], 1);
  if (axes.size() != 1 || starts.size() != 1 || ends.size() != 1 || steps.size() != 1 || steps[0] == 0) {
    node.refuse("slices integers along another number of axes than one, or by 0");
  }
  const auto count = static_cast<std::int64_t>(all.size());
  const auto place = [&](std::int64_t given, std::int64_t least, std::int64_t most) {
    return std::clamp(given < 0 ? std::max(given, -count - 1) + count : given, least, most);
  };
  const std::int64_t step = std::clamp(steps[0], -count - 1, count + 1);
  const std::int64_t first = step > 0 ? 0 : -1, last = step > 0 ? count : count - 1;
  Integers taken;
  const std::int64_t end = place(ends[0], first, last);
  // Backwards it begins no earlier than at the first element.
  for (std::int64_t i = place(starts[0], 0, std::max<std::int64_t>(last, 0));
       count > 0 && (step > 0 ? i < end : i > end); i += step) {
    taken.push_back(all[static_cast<std::size_t>(i)]);
  }
  node.give(0, integers_tensor(taken));
}

}  // namespace

bool fold_integers(NodeReader& node) {
  using Fold = void (*)(NodeReader&);
  static const std::map<std::string_view, std::pair<Fold, int>> folds = {
      // the most axes of the first input
      {"Add", {fold_arithmetic, 8}}, {"Sub", {fold_arithmetic, 8}}, {"Mul", {fold_arithmetic, 8}},
      {"Div", {fold_arithmetic, 8}}, {"Concat", {fold_concat, 1}},  {"Gather", {fold_gather, 1}},
      {"Slice", {fold_slice, 1}},
  };
  const auto fold = folds.find(node.proto().op_type());
  if (fold == folds.end()) return false;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (!node.has_input(i)) continue;
    const Tensor* elements = node.elements(i);
    if (elements == nullptr || elements->ref().type() != ElementType::i64) return false;
    count += elements->ref().size();
    const int most_axes = fold->second.first == fold_gather && i == 1 ? max_rank : fold->second.second;
    if (elements->ref().rank() > most_axes || count > most_folded) return false;
    const bool is_list = fold->second.second == 1 && (fold->second.first != fold_gather || i == 0);
    if (is_list && elements->ref().rank() != 1) return false;
  }
  fold->second.first(node);
  return true;
}

}  // namespace portops::impl
