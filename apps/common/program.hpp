// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace portops::apps {

/// What every program's `main` does around its own work: calls `command` and gives its exit status. A wrong call and
/// every other portops::Error end with status 2, what nobody foresaw with 1; both with one line on stderr.
int run_program(std::string_view name, int (*command)(int argc, char** argv), int argc, char** argv);

/// A text as terminals may show it: its control characters are something else.
std::string without_controls(const std::string& text, char instead);

/// `message` on one line: prefixed with the program's name, without a leading `portops::` and control characters.
std::string error_line(std::string_view program, std::string_view message);

}  // namespace portops::apps
