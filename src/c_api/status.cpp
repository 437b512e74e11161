// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/status.hpp"

#include "core/types/fail.hpp"

#include <string>

namespace portops::impl {
namespace {

struct LastError {
  std::string text;
  const char* shown = "";
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

}  // namespace

portops_status failed(portops_status status, const char* message) noexcept {
  LastError& last = last_error();
  try {
    last.text = message;
    last.shown = last.text.c_str();
  } catch (...) {
    last.shown = "portops: there is not enough memory for the message";
  }
  return status;
}

void check_address(std::string_view where, std::string_view name, bool is_there) {
  if (!is_there) fail(where, ": ", name, " is NULL");
}

void check_list_address(std::string_view where, std::string_view name, bool is_there, std::size_t count) {
  constexpr std::size_t most = std::size_t{1} << 54;  // of 8 bytes, all that a process can address
  if (count > most) fail(where, ": ", name, " has ", count, " items, more than a process can address");
  if (count > 0 && !is_there) fail(where, ": ", name, " is NULL, expected ", count, " items");
}

bool checked_boolean(std::string_view where, std::string_view name, std::int64_t value) {
  if (value != 0 && value != 1) fail(where, ": ", name, " is ", value, ", expected 0 or 1");
  return value == 1;
}

}  // namespace portops::impl

const char* portops_last_error(void) { return portops::impl::last_error().shown; }
