// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/agree.hpp"

#include "core/types/fail.hpp"

#include <algorithm>
#include <string_view>

namespace portops::impl {
namespace {

/// FNV-1a.
std::int64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash);
}

std::string text_of(Engine& engine, const std::string& own, std::int64_t length, int rank) {
  std::string text = rank == engine.rank ? own : std::string(static_cast<std::size_t>(length), ' ');
  engine.broadcast_bytes(text, rank);
  return text;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

void agree(Engine& engine, const char* name, const std::string& text) {
  const std::int64_t own[] = {hash_of(text), static_cast<std::int64_t>(text.size())};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(engine.size));
  engine.gather_numbers(own, all);
  for (int rank = 1; rank < engine.size; ++rank) {
    const std::size_t at = 2 * static_cast<std::size_t>(rank);
    if (all[at] == all[0] && all[at + 1] == all[1]) continue;
    const std::string texts[] = {text_of(engine, text, all[1], 0), text_of(engine, text, all[at + 1], rank)};
    std::string_view rest[] = {texts[0], texts[1]}, line[] = {"", ""};
    while (line[0] == line[1] && !(rest[0].empty() && rest[1].empty())) {
      for (int i = 0; i < 2; ++i) line[i] = take_line(rest[i]);
    }
    for (std::string_view& each : line) each = each.empty() ? std::string_view("nothing") : each;
    fail(name, ": process ", rank, " of ", engine.size, " has ", line[1], ", process 0 has ", line[0]);
  }
}

}  // namespace portops::impl
