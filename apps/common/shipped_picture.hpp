// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace portops::apps {

/// The file of a photograph that comes with the program: beside it in the build, in the data folder when installed.
/// Throws portops::Error when it is not there.
std::string shipped_picture(const std::string& name);

}  // namespace portops::apps
