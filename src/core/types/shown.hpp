// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace portops::impl {

/// A name as messages show it: of strangers' files, so without control characters, and cut where it is longer than
/// `most` bytes.
std::string shown(std::string_view name, std::size_t most = 120);

}  // namespace portops::impl
