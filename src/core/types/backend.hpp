// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace portops {

enum class Backend : std::uint8_t { serial, openmp, cuda };

/// "serial", "openmp" or "cuda".
PORTOPS_EXPORT std::string_view name_of(Backend backend);
/// The backends compiled into this library, devices first.
PORTOPS_EXPORT std::vector<Backend> enabled_backends();

}  // namespace portops
