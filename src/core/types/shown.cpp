// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/shown.hpp"

namespace portops::impl {

std::string shown(std::string_view name, std::size_t most) {
  std::string text(name.substr(0, most));
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < ' ' || each == '\x7f') each = '?';
  }
  return name.size() > most ? text + "…" : text;
}

}  // namespace portops::impl
