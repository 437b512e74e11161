// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/levels.hpp"
#include "ops/sequence/pieces.hpp"

#include <memory>

namespace portops::impl {

/// The longest sequence of the last level; 0 where there are none.
std::int64_t longest_sequence(const Levels& levels);

/// Moves between rows and [sequences, padded, …]. What is behind the sequences' own rows is filled.
std::shared_ptr<const MovePlan> moves_to_padded(const Levels& levels, std::int64_t padded);
std::shared_ptr<const MovePlan> moves_from_padded(const Levels& levels);

}  // namespace portops::impl
