// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/measures.hpp"
#include "common/picture.hpp"
#include "images.hpp"

#include <cstdint>
#include <span>

namespace portops::apps {

/// The items that were told wrongly with most confidence: a line for each class, with the item of the class that was
/// told best at its left. Right of it stand the mistakes, at most so many, each with the best item of the class that it
/// was taken for.
Picture picture_of_mistakes(const LabelledImages& images, std::span<const Told> told, std::int64_t classes,
                            std::int64_t mistakes);

}  // namespace portops::apps
