// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace portops {

namespace impl {
class LevelsData;
}

/// How the rows of a tensor (its axis 0: the steps) are divided into sequences, these into groups of sequences, and so
/// on: levels of offsets (Paddle's level of detail, LoD), coarsest first. Item i of a level is what lies in
/// [offset[i], offset[i + 1]) of the next one; the items of the last level are the sequences of rows.
///
/// Made once from offsets on the host, and validated then. Copies are cheap and share what was made. What calls on a
/// GPU need of the levels is copied to it at the first of them, without waiting for the device, and kept; it may be
/// freed while calls that read it are under way. A CUDA graph needs the levels of the calls captured in it for as long
/// as it is launched.
class Levels {
 public:
  /// No levels: a tensor that is not ragged.
  Levels() = default;
  /// Throws Error, which names the level and the position, unless every level begins with 0, never decreases, and ends
  /// with the number of items of the next level.
  PORTOPS_EXPORT explicit Levels(std::vector<std::vector<std::int64_t>> offsets);
  /// One level from the lengths of the sequences. Throws Error where one is negative, or 64 bits cannot hold their sum.
  PORTOPS_EXPORT static Levels from_lengths(const std::vector<std::int64_t>& lengths);

  /// False for no levels.
  explicit operator bool() const { return data_ != nullptr; }

  /// The number of levels.
  PORTOPS_EXPORT int depth() const;
  /// Of a level from 0 on; −1 is the last one.
  PORTOPS_EXPORT const std::vector<std::int64_t>& offsets(int level = -1) const;
  /// The number of a level's items.
  std::int64_t items(int level = -1) const { return static_cast<std::int64_t>(offsets(level).size()) - 1; }
  /// The rows of the tensor that the levels divide.
  std::int64_t rows() const { return offsets().back(); }
  /// All levels but the last: those of a tensor with one row a sequence. No levels where there is one alone.
  PORTOPS_EXPORT Levels upper() const;
  /// "[[0, 2, 3]]"; of a long level the first and last offsets.
  PORTOPS_EXPORT std::string to_string() const;

  /// Whether the offsets are the same.
  PORTOPS_EXPORT friend bool operator==(const Levels& a, const Levels& b);

  const std::shared_ptr<impl::LevelsData>& data() const { return data_; }

 private:
  std::shared_ptr<impl::LevelsData> data_;
};

/// A ragged tensor: values whose rows are divided into sequences. Values without levels are not ragged.
struct RaggedRef {
  TensorRef values;
  Levels levels;
};

}  // namespace portops
