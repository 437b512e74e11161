// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/program.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// What the schema says of a call that a plan stands on.

namespace portops::graph {

/// The calls whose results are needed, and what they read.
struct Needs {
  std::vector<std::uint8_t> calls;          ///< of each call whether it is to run
  std::vector<std::uint8_t> values;         ///< of each value whether it is to be computed
  std::vector<std::vector<ValueId>> reads;  ///< of each call the values whose elements it reads, one for each operand
};

/// `constants`: of each value whether it is known, so that nothing need compute it.
Needs needs_of(const Program& program, const std::vector<std::uint8_t>& constants);

/// Whether the call reads the elements of an input, not its extents alone, where these outputs are computed.
bool reads_elements(const Call& call, std::string_view input, const std::vector<std::uint8_t>& computed);

/// An output of a call that moves nothing: it shows elements of an input.
struct View {
  ValueId from;
  ValueId to;
};
/// All outputs of a reshape, transpose, slice or split, or of the gradient of one of the first two. Of other calls
/// there are none.
std::vector<View> views_of(const Call& call);

/// Where the elements of a view lie within those of its input, from whose first one `offset` counts.
struct ViewLayout {
  std::int64_t offset = 0;  ///< in elements
  Extents strides;
};
/// The layouts of the views of such a call, over an input of these strides; none where strides cannot say them all.
std::vector<ViewLayout> view_layouts(const Program& program, const Call& call, const Extents& strides);

/// The pairs of an input and an output that may be the same memory, of lists those in the same place. Pairs that are
/// views are not among them.
struct InPlacePair {
  ValueId from;
  ValueId to;
};
std::vector<InPlacePair> in_place_pairs(const Call& call);

/// Whether elements of the same extents lie at the same distances.
bool lie_alike(const Extents& extents, const Extents& strides, const Extents& others);

/// Whether elements lie one after the other, last axis fastest.
bool is_row_major(const Extents& extents, const Extents& strides);

std::int64_t bytes_of(const ValueInfo& value);

/// Whether it is conv2d or deform_conv2d.
bool is_convolution(const Call& call);

}  // namespace portops::graph
