// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "text.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace portops::apps {

/// The words that speak most for a class by the learned table, the first of them most: at most `count`, and none that
/// speaks against it.
std::vector<std::string> speaking_words(const Examples& examples, const std::vector<double>& table, std::size_t label,
                                        std::size_t count);

}  // namespace portops::apps
