// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/shown.hpp"

namespace portops::impl {

namespace {

/// The bytes of a control character at the beginning of a text, in UTF-8: 0 where there is none.
std::size_t control_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7f) return 1;
  // U+0080 to U+009F, which some terminals obey.
  return first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0 ? 2 : 0;
}

}  // namespace

std::string shown(std::string_view name, std::size_t most) {
  std::string text;
  std::size_t at = 0;
  while (at < name.size() && text.size() < most) {
    const std::size_t control = control_bytes(name.substr(at));
    text += control > 0 ? '?' : name[at];
    at += control > 0 ? control : 1;
  }
  return at < name.size() ? text + "…" : text;
}

}  // namespace portops::impl
