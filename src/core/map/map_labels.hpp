// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace portops::impl {

/// The labels of an operator's kernels and temporaries, made once.
struct MapLabels {
  explicit MapLabels(const std::string& op)
      : flat("portops::" + op + "::map[flat]"),
        rows("portops::" + op + "::map[rows]"),
        gather("portops::" + op + "::map[gather]"),
        down("portops::" + op + "::map[down]"),
        along("portops::" + op + "::map[along]"),
        interleaved("portops::" + op + "::map[interleaved]"),
        tiles("portops::" + op + "::map[tiles]"),
        sum("portops::" + op + "::sum[partials]"),
        partials("portops::" + op + "::partials") {}

  std::string flat;
  std::string rows;
  std::string gather;
  std::string down;
  std::string along;
  std::string interleaved;
  std::string tiles;
  std::string sum;
  std::string partials;
};

}  // namespace portops::impl
