// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/config.hpp>
#include <portops/core/context.hpp>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// What `portops program` does with files of programs, in builds that read them (PORTOPS_HAS_ONNX).

namespace portops::apps {

struct ProgramRequest {
  std::string file;
  std::vector<std::string> arguments;  ///< NAME=FILE.npy, NAME=EXTENTS, EXTENT=NUMBER
  std::optional<Backend> backend;      ///< none: the first whose device is present
  bool deterministic = false;          ///< whatever the environment says
  std::optional<Math> math;            ///< the environment's where it is not given
  std::optional<Products> products;    ///< likewise
  std::int64_t repeats = 0;            ///< of what is timed; 0: as many as two seconds take
};

/// What a program takes, gives and calls, and its plan in memory.
void describe_program(const ProgramRequest& request, std::ostream& out);

/// Runs a program: inputs are read from files, outputs written. Throws Error on a wrong request and on every failure;
/// no output file is there then.
void run_program_file(const ProgramRequest& request);

/// Runs a program as it is planned, and once more by plain calls with NaN in all memory that is dead, on inputs from
/// files or random ones, and tells how far the results are apart. An output's file is compared too. Throws Error where
/// that is more than rounding: 1e-4 of the largest number in f32, 1e-9 in f64, 1e-2 in f16, 5e-2 in bf16.
void check_program(const ProgramRequest& request, std::ostream& out);

/// Runs a program again and again, on inputs from files or random ones, and waits for each run: the time of the middle
/// one, and of the quickest.
void time_program(const ProgramRequest& request, std::ostream& out);

}  // namespace portops::apps
