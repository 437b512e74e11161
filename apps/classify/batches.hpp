// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "text.hpp"

#include <portops/core/context.hpp>
#include <portops/core/levels.hpp>
#include <portops/core/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portops::apps {

/// Some lines as a ragged tensor: their words one behind the other, divided into lines by the levels.
struct Batch {
  TensorRef words;   ///< i64 [words of all lines]
  TensorRef labels;  ///< i64 [lines]
  Levels levels;
  std::int64_t first = 0;  ///< how many lines the batches before it have

  std::int64_t lines() const { return labels.extent(0); }
};

/// Lines in batches, where the context's backend has its tensors.
class Batches {
 public:
  /// All lines, in the given order; the last batch may have fewer than `size`. Returns when they are there.
  Batches(const Context& ctx, const std::vector<Line>& lines, const std::vector<std::size_t>& order, std::int64_t size);

  std::int64_t lines() const { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t words() const { return words_.ref().extent(0); }
  /// Of the batches, one behind the other.
  const std::vector<std::int64_t>& labels() const { return labels_; }
  std::vector<Batch>::const_iterator begin() const { return batches_.begin(); }
  std::vector<Batch>::const_iterator end() const { return batches_.end(); }

 private:
  std::vector<std::int64_t> labels_;
  Tensor words_;
  Tensor device_labels_;
  std::vector<Batch> batches_;
};

}  // namespace portops::apps
