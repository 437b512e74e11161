// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/picture.hpp"

#include <portops/core/context.hpp>
#include <portops/core/tensor_ref.hpp>
#include <portops/graph/execution.hpp>
#include <portops/graph/program.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace portops::apps {

/// Reads a program that scores pictures: one input [N, C, H, W], C 1 (grey) or 3 (red, green, blue), and one output
/// [N, classes], both of numbers. `images` are the extents of the input, for a file that leaves them open. Throws
/// Error, which names the file, for every other program, and where graph::read_onnx does.
graph::Program read_classifier(const std::string& file, const std::optional<Extents>& images);

/// Scores pictures by a program of read_classifier, as many at a time as it takes.
class Classifier {
 public:
  Classifier(const Context& ctx, const graph::Program& program);

  std::int64_t classes() const { return classes_; }

  /// The scores of each picture, [pictures, classes]. A level of 0 to 255 is a number from 0 to 1, grey is the luma of
  /// BT.601. Throws Error, which says which of the names it is, where a picture has another size than the program
  /// takes.
  std::vector<double> scores(std::span<const Picture> pictures, std::span<const std::string> names);

 private:
  Context ctx_;
  graph::Execution execution_;
  std::string input_, output_;
  Extents images_;
  std::int64_t classes_;
};

}  // namespace portops::apps
