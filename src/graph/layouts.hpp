// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/call_facts.hpp"
#include "graph/program.hpp"

#include <cstdint>
#include <vector>

namespace portops::graph {

/// Of each value whether it lies with its channels last. Those do that convolutions write and read faster so:
/// images that only calls make and read which take them in this order as well as in the other one. What goes through
/// element by element, or pixel by pixel, has one order: where one of these values must lie in rows, as inputs,
/// constants and outputs do, all do.
std::vector<std::uint8_t> find_channels_last(const Program& program, const Needs& needs,
                                             const std::vector<std::uint8_t>& constants);

/// The strides of images [N, C, H, W] whose channels are neighbours, one pixel after the other.
Extents channels_last_strides(const Extents& extents);

}  // namespace portops::graph
