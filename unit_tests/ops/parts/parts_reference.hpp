// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

// A tensor and its parts along an axis: what concat and split must move, written plainly.

namespace portops::test {

/// The extents of the whole but for the axis, the parts' lengths along it, and how the tensors lie in memory.
struct PartsCase {
  Extents extents;
  int axis = 0;
  std::vector<std::int64_t> lengths;
  Layout whole = Layout::contiguous;
  Layout part = Layout::contiguous;

  Extents part_extents(std::size_t part) const {
    Extents result = extents;
    result[axis] = lengths[part];
    return result;
  }
  Extents whole_extents() const {
    Extents result = extents;
    result[axis] = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    return result;
  }
  std::string describe() const {
    return Extents(extents).to_string() + " along axis " + std::to_string(axis) + " in " +
           std::to_string(lengths.size()) + " parts, the first of " + std::to_string(lengths.front()) + ", layouts " +
           std::to_string(static_cast<int>(whole)) + ", " + std::to_string(static_cast<int>(part));
  }
};

template <class T>
struct PartsTensors {
  PartsCase what;
  TestTensor<T> whole;
  std::vector<TestTensor<T>> parts;

  PartsTensors(const Context& ctx, const PartsCase& of) : what(of), whole(ctx, of.whole_extents(), of.whole) {
    parts.reserve(of.lengths.size());
    for (std::size_t i = 0; i < of.lengths.size(); ++i) {
      parts.emplace_back(ctx, of.part_extents(i), of.part);
    }
  }

  std::vector<TensorRef> part_refs() const { return {parts.begin(), parts.end()}; }
  /// The parts as inputs of which only the extents are read.
  std::vector<TensorRef> part_shapes() const {
    std::vector<TensorRef> shapes;
    for (const TestTensor<T>& part : parts) {
      shapes.push_back(TensorRef::without_data(ElementTypeOf<T>::value, part.extents()));
    }
    return shapes;
  }

  /// Neighbours, and elements of different tensors, have different values.
  void fill_whole() {
    whole.fill([](std::int64_t i) { return static_cast<double>(i * 7 % 251) - 120.0; });
  }
  void fill_parts() {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      parts[k].fill([k](std::int64_t i) {
        return static_cast<double>((i * 7 + static_cast<std::int64_t>(k) * 31) % 251) - 120.0;
      });
    }
  }

  /// Where an element of a part lies in the whole, both counted last axis fastest.
  std::int64_t index_in_whole(std::size_t part, std::int64_t index) const {
    const Extents& extents = what.extents;
    std::int64_t inner = 1, before = 0;
    for (int axis = what.axis + 1; axis < extents.rank(); ++axis) inner *= extents[axis];
    for (std::size_t k = 0; k < part; ++k) before += what.lengths[k];
    const std::int64_t row = what.lengths[part] * inner, whole_row = whole.extents()[what.axis] * inner;
    return index / row * whole_row + before * inner + index % row;
  }

  void download() {
    whole.download();
    for (TestTensor<T>& part : parts) part.download();
  }

  /// That the parts' elements, but for those that `is_wanted` says no to, are the whole's, bit by bit.
  void expect_same(const std::function<bool(std::size_t)>& is_wanted = [](std::size_t) { return true; }) const {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!is_wanted(k)) continue;
      const std::int64_t size = parts[k].size();
      for (std::int64_t i = 0; i < size; ++i) {
        const T found = whole.element(index_in_whole(k, i)), expected = parts[k].element(i);
        ASSERT_EQ(bits_of(found), bits_of(expected))
            << "element " << i << " of part " << k << " (" << what.describe() << "): " << static_cast<double>(found)
            << " and " << static_cast<double>(expected);
      }
    }
  }
};

/// Cases of every rank and axis: parts of one length and of several, empty ones, one alone, many.
inline std::vector<PartsCase> parts_cases() {
  std::vector<PartsCase> cases;
  std::vector<std::int64_t> many(700);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i * 5 % 4);
  for (const Extents& extents : {Extents{1}, Extents{3, 1}, Extents{1, 8}, Extents{5, 7}, Extents{2, 3, 4},
                                 Extents{3, 1, 16}, Extents{2, 3, 2, 5}}) {
    for (int axis = 0; axis < extents.rank(); ++axis) {
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>{4, 4, 4}, {3}, {1, 0, 5, 2}, {1, 1, 1, 1, 1}, {0, 640, 1}}) {
        cases.push_back({extents, axis, lengths});
      }
    }
  }
  for (int axis = 0; axis < 2; ++axis) {
    cases.push_back({{2, 3}, axis, many});
    cases.push_back({{4, 8}, axis, std::vector<std::int64_t>(1000, 8)});
  }
  cases.push_back({{3001, 2}, 1, {4, 0, 3, 5}});
  return cases;
}

}  // namespace portops::test
