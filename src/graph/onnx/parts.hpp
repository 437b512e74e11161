// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

namespace portops::impl {

/// How many parts the bytes of a model have: graphs, nodes, attributes, tensors, names and what else has a length of
/// its own, which become objects where a model is parsed, each of two bytes or more in a file and of up to some hundred
/// in memory. Counts no further than past `most`, and nothing behind what is no model.
std::uint64_t count_parts(std::string_view bytes, std::uint64_t most);

}  // namespace portops::impl
