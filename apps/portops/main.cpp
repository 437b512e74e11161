// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/program.hpp"
#include "common/values.hpp"
#include "describe.hpp"
#include "program.hpp"
#include "run.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace portops::apps;

constexpr const char* run_help =
    "NAME=FILE.npy: an input is read from the file; an output is computed and\n"
    "written to it. A list of tensors is NAME=A.npy,B.npy (no file's name may have a\n"
    "comma), NAME=A.npy,,C.npy one without the gradient that is not wanted.\n"
    "NAME.levels=FILE.npy,…: the levels of a ragged tensor, coarsest first; of a\n"
    "list, one for each tensor. NAME=NUMBER: where the operator takes a number for an\n"
    "input (a file named 0.3 is ./0.3). ATTR=VALUE: 3, 0.5, inf, true, or a list:\n"
    "1,2, without items '[]'. What an operator leaves alone in an output is 0.\n"
    "Outputs in bf16 are written as float32. portops info OP tells the names.\n";

constexpr const char* program_help =
    "NAME=FILE.npy: an input is read from the file; an output is written to it, and by\n"
    "check compared with it. NAME=2,3,16,16: the extents of an input that the file\n"
    "leaves open, or by its name one of them: batch=2.\n";

struct CommandLine {
  std::optional<std::string> info_op;
  std::string op;
  std::string file;
  std::vector<std::string> arguments;
  std::optional<std::string> backend;
  std::optional<std::string> type;
  std::optional<std::string> math;
  std::optional<std::string> products;
  bool deterministic = false;
  std::int64_t repeats = 0;
};

void run(const CommandLine& line) {
  RunRequest request;
  request.op = line.op;
  request.arguments = line.arguments;
  if (line.backend) request.backend = parse_backend(*line.backend);
  if (line.type) request.type = parse_element_type(*line.type);
  request.deterministic = line.deterministic;
  if (line.math) request.math = parse_math(*line.math);
  if (line.products) request.products = parse_products(*line.products);
  run_request(request);
}

#if defined(PORTOPS_HAS_ONNX)
ProgramRequest program_request(const CommandLine& line) {
  ProgramRequest request;
  request.file = line.file;
  request.arguments = line.arguments;
  if (line.backend) request.backend = parse_backend(*line.backend);
  request.deterministic = line.deterministic;
  if (line.math) request.math = parse_math(*line.math);
  if (line.products) request.products = parse_products(*line.products);
  request.repeats = line.repeats;
  return request;
}
#endif

/// The options of calls.
void add_call_options(CLI::App& app, CommandLine& line) {
  app.add_option("--backend", line.backend, "cuda, openmp or serial; the first whose device is present");
  app.add_flag("--deterministic", line.deterministic, "the same bits on every run and number of threads");
  app.add_option("--math", line.math, "ieee or tf32: the arithmetic of matrix products of f32");
  app.add_option("--products", line.products, "automatic, own or kokkos_kernels: who computes matrix products");
}

int command(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Differentiable machine-learning operators on CUDA, OpenMP and Serial.", "portops");
  app.set_version_flag("--version", std::string("portops ") + PORTOPS_VERSION);
  app.require_subcommand(1);
  const CLI::App* list = app.add_subcommand("list", "list the operators");
  CLI::App* info = app.add_subcommand("info", "tell about an operator, or about this build");
  info->add_option("OP", line.info_op, "the operator");
  const CLI::App* devices = app.add_subcommand("devices", "list the devices of this machine");
  CLI::App* run_app = app.add_subcommand("run", "run an operator on .npy files");
  run_app->add_option("OP", line.op, "the operator")->required();
  run_app->add_option("ARGUMENTS", line.arguments, "NAME=FILE.npy, ATTR=VALUE");
  run_app->add_option("--dtype", line.type, "f64, f32, f16 or bf16; converts the inputs, each element rounded once");
  add_call_options(*run_app, line);
  run_app->footer(run_help);
  CLI::App* program = app.add_subcommand("program", "tell about a program in an ONNX file, run, check or time it");
  program->require_subcommand(1);
  const auto add_program = [&](const char* name, const char* what) {
    CLI::App* its = program->add_subcommand(name, what);
    its->add_option("FILE", line.file, "the .onnx file")->required();
    its->add_option("ARGUMENTS", line.arguments, "NAME=FILE.npy, NAME=EXTENTS, EXTENT=NUMBER");
    add_call_options(*its, line);
    its->footer(program_help);
    return its;
  };
  [[maybe_unused]] const CLI::App* program_info = add_program("info", "tell its inputs, outputs, operators and memory");
  [[maybe_unused]] const CLI::App* program_run = add_program("run", "run it on .npy files");
  [[maybe_unused]] const CLI::App* program_check =
      add_program("check", "compare its plan with plain calls, on files or random numbers");
  CLI::App* program_time = add_program("time", "measure a run, on files or random numbers");
  program_time->add_option("--repeat", line.repeats, "how many runs; 0: as many as two seconds take")
      ->check(CLI::Range(0, 100000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    if (app.get_subcommands().empty()) {
      const std::vector<std::string> found = app.remaining();
      throw portops::Error((found.empty() ? "no command is given" : "'" + found.front() + "' is not a command") +
                           ", expected list, info, devices, run or program");
    }
    throw portops::Error(std::string(error.what()) + " (portops --help tells more)");
  }

  if (list->parsed()) describe_operators(std::cout);
  if (info->parsed() && !line.info_op) describe_build(std::cout);
  if (info->parsed() && line.info_op) describe(portops::find_operator(*line.info_op), std::cout);
  if (devices->parsed()) {
    const portops::Runtime runtime;
    describe_devices(std::cout);
  }
  if (run_app->parsed()) run(line);
#if defined(PORTOPS_HAS_ONNX)
  if (program_info->parsed()) describe_program(program_request(line), std::cout);
  if (program_run->parsed()) run_program_file(program_request(line));
  if (program_check->parsed()) check_program(program_request(line), std::cout);
  if (program_time->parsed()) time_program(program_request(line), std::cout);
#else
  if (program->parsed()) {
    throw portops::Error("program: this build reads no programs: it was made without ONNX (PORTOPS_ENABLE_ONNX)");
  }
#endif
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops", command, argc, argv); }
