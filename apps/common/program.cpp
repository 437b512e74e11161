// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.hpp"

#include <portops/core/error.hpp>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

namespace portops::apps {

namespace {

int fail(int status, std::string_view program, std::string_view message) {
  std::cerr << error_line(program, message) << std::flush;
  return status;
}

}  // namespace

int run_program(std::string_view name, int (*command)(int argc, char** argv), int argc, char** argv) {
  // A file that grows past the limit set for it is then an error of the write, and is reported as one.
  std::signal(SIGXFSZ, SIG_IGN);
  // One line on stderr is all that an error prints; Kokkos' advice on thread binding would come before it.
  setenv("KOKKOS_DISABLE_WARNINGS", "1", 0);
  try {
    const int status = command(argc, argv);
    return std::cout.flush() ? status : fail(2, name, "standard output: cannot be written");
  } catch (const Error& error) {
    return fail(2, name, error.what());
  } catch (const std::bad_alloc&) {
    return fail(1, name, "not enough memory");
  } catch (const std::exception& error) {
    return fail(1, name, error.what());
  }
}

std::string without_controls(const std::string& text, char instead) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which some terminals obey, are two bytes in UTF-8.
    const bool is_pair = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    kept += byte < 0x20 || byte == 0x7f || is_pair ? instead : text[i];
    if (is_pair) ++i;
  }
  return kept;
}

std::string error_line(std::string_view program, std::string_view message) {
  constexpr std::string_view library = "portops::";
  if (message.starts_with(library)) message.remove_prefix(library.size());
  std::string line = std::string(program) + ": " + std::string(message);
  return without_controls(line, ' ') + "\n";  // a file name may hold a line break
}

}  // namespace portops::apps
