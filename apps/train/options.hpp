// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "trainer.hpp"

#include <portops/core/backend.hpp>
#include <portops/core/context.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace portops::apps {

/// What the user has asked for.
struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  TrainOptions train;
  std::int64_t items = 0;       ///< to learn from, at most; 0: all
  std::int64_t test_items = 0;  ///< to test, at most; 0: all
  std::optional<std::string> checkpoint;
  bool resume = false;
  std::string picture = "mistakes.png";
  std::optional<std::string> program;   ///< the file to write the network to, ONNX
  std::int64_t program_batch = 1;       ///< the images that a run of it takes
  std::optional<std::string> timeline;  ///< the file to write trace events to
  std::int64_t timed_steps = 0;         ///< 0: no timing, but training
  std::optional<bool> captured;         ///< TrainOptions::is_program; by default on a GPU
  std::optional<Backend> backend;
  Math math = Math::ieee;
  bool deterministic = false;
};

/// None where all there was to do was to print a help or a version. Throws Error where the call is wrong.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace portops::apps
