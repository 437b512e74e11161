// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clip.hpp"
#include "common/element_cast.hpp"
#include "common/npy.hpp"
#include "common/output_file.hpp"
#include "common/program.hpp"
#include "common/transfer.hpp"
#include "common/values.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace portops::apps;
namespace fs = std::filesystem;

constexpr const char* clip_help =
    "Where the norm of all gradients together is larger than MAX_NORM, every element\n"
    "is multiplied by MAX_NORM / norm. Otherwise the factor is 1, but it is computed\n"
    "as x / MAX_NORM * MAX_NORM and rounded at each step: f64 and f32 may change by\n"
    "two units in the last place, unless MAX_NORM is a power of two, such as 1.\n"
    "MAX_NORM and the norms are rounded to the element type. A norm too large for\n"
    "it (in f16 from 65520 on) is inf, and the gradients become 0.\n"
    "Outputs in bf16 are written as float32.\n";

struct CommandLine {
  std::vector<std::string> gradients;
  std::string max_norm = "1";
  std::string porder = "2";
  std::optional<std::string> output;
  std::optional<std::string> backend;
  std::string type = "f32";
  int repeats = 100;
};

double rounded(double value, portops::ElementType type) {
  return with_type(type, [value](auto tag) {
    using T = typename decltype(tag)::type;
    return element_cast<double>(element_cast<T>(value));
  });
}

ClipOptions options_of(const CommandLine& line, portops::ElementType type) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  ClipOptions options;
  options.max_norm = parse_number(line.max_norm).value_or(nan);
  const double max_norm = rounded(options.max_norm, type);
  if (!(max_norm > 0.0) || std::isinf(max_norm)) {
    throw portops::Error("--max-norm is '" + line.max_norm + "', expected a number that is positive and finite in " +
                         std::string(name_of(type)));
  }
  options.porder = parse_number(line.porder).value_or(nan);
  if (std::isnan(options.porder)) {
    throw portops::Error("--porder is '" + line.porder + "', expected a number, such as 2 or inf");
  }
  options.repeats = line.repeats;
  return options;
}

/// The files to write, one for each gradient; none when no folder is named.
std::vector<std::string> output_names(const CommandLine& line) {
  std::vector<std::string> names;
  if (!line.output) return names;
  if (line.gradients.empty()) throw portops::Error("--output is given, but no gradients, expected the files to clip");
  std::error_code error;
  if (!fs::is_directory(*line.output, error)) {
    throw portops::Error("--output is '" + *line.output + "', expected a folder that is there");
  }
  for (const std::string& input : line.gradients) {
    const std::string name = (fs::path(*line.output) / fs::path(input).filename()).string();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw portops::Error("two gradients would be written to " + name + ", expected different file names");
    }
    names.push_back(name);
  }
  return names;
}

void check_files_differ(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::map<FileIdentity, std::string> by_identity;
  for (const std::string& input : inputs) by_identity.try_emplace(identity_of(input), input);
  for (const std::string& output : outputs) {
    const auto found = by_identity.find(identity_of(output));
    if (found == by_identity.end()) continue;
    throw portops::Error("an output and an input are the same file " + found->second + ", expected different files");
  }
}

/// "1 file", "2 files"
std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// To six digits.
std::string shown(double value) {
  if (std::isnan(value)) return "nan";  // no sign
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

using Row = std::array<std::string, 4>;

void print_table(const std::vector<Row>& rows) {
  std::array<std::size_t, 4> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      std::cout << row[i] << std::string(widths[i] - row[i].size() + 2, ' ');
    }
    std::cout << row.back() << '\n';
  }
}

/// A line for each gradient or, where they are many, for those of the largest norms.
void print_norms(const std::vector<Gradients::Part>& parts, const ClipResult& result) {
  constexpr std::size_t many = 12;
  constexpr std::size_t largest = 5;
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (parts.size() > many) {
    const auto size = [&result](std::size_t i) {
      const double norm = result.norms_before[i];
      return std::isnan(norm) ? std::numeric_limits<double>::infinity() : norm;
    };
    std::stable_sort(order.begin(), order.end(), [&size](std::size_t a, std::size_t b) { return size(a) > size(b); });
    order.resize(largest);
  }
  std::vector<Row> rows{{"gradient", "extents", "norm before", "norm after"}};
  for (const std::size_t i : order) {
    rows.push_back(
        {parts[i].name, parts[i].extents.to_string(), shown(result.norms_before[i]), shown(result.norms_after[i])});
  }
  print_table(rows);
  if (order.size() < parts.size()) std::cout << "… " << parts.size() - order.size() << " more\n";
}

void clip(const CommandLine& line) {
  const portops::ElementType type = parse_element_type(line.type);
  const ClipOptions options = options_of(line, type);
  std::optional<portops::Backend> backend;
  if (line.backend) backend = parse_backend(*line.backend);
  const std::vector<std::string> names = output_names(line);
  std::vector<NpyFile> inputs;
  for (const std::string& name : line.gradients) inputs.emplace_back(name);
  check_files_differ(names, line.gradients);
  std::deque<OutputFile> outputs;
  for (const std::string& name : names) outputs.emplace_back(name);

  const portops::Runtime runtime;
  const portops::Device device = choose_device(backend);
  const portops::Context ctx(device.backend);
  Gradients gradients = inputs.empty() ? example_gradients(type) : read_gradients(inputs, type);
  gradients.flat = to_backend(ctx, gradients.flat);
  const ClipResult result = clip_gradients(ctx, gradients, options);
  if (!outputs.empty()) {
    gradients.flat = to_host(ctx, gradients.flat);
    write_gradients(gradients, outputs);
    OutputFile::commit(outputs);
  }

  std::array<char, 128> time;
  const double bytes = static_cast<double>(result.bytes_per_call);
  std::snprintf(time.data(), time.size(), "%.1f us a call (mean of %d), %.2f MB moved, %.1f GB/s",
                1e6 * result.seconds_per_call, options.repeats, 1e-6 * bytes, 1e-9 * bytes / result.seconds_per_call);
  std::cout << "clip     " << counted(gradients.parts.size(), "gradient") << " in " << name_of(type) << ", "
            << counted(static_cast<std::size_t>(gradients.flat.ref().size()), "element") << '\n';
  print_norms(gradients.parts, result);
  std::cout << "global   norm " << shown(result.norms_before.back()) << " before, " << shown(result.norms_after.back())
            << " after, of order " << to_string(options.porder) << '\n'
            << "factor   " << shown(result.factor) << ", for a norm of at most "
            << to_string(rounded(options.max_norm, type)) << '\n'
            << "backend  " << name_of(device.backend) << ", " << device.name << '\n'
            << "time     " << time.data() << '\n';
  if (line.output) {
    std::cout << "output   " << counted(outputs.size(), "file") << " in "
              << fs::absolute(*line.output).lexically_normal().string() << '\n';
  }
}

int command(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Clips gradients by their global norm: portops::p_norm, and portops::p_norm_grad in place.",
               "portops_clip");
  app.set_version_flag("--version", std::string("portops_clip ") + PORTOPS_VERSION);
  app.add_option("GRADIENT", line.gradients,
                 "gradients, one .npy file each; random ones of a small transformer if there are none");
  app.add_option("--max-norm", line.max_norm, "the largest norm that all gradients together may have")
      ->capture_default_str();
  app.add_option("--porder", line.porder, "the order of the norm: any number but nan, such as 1 or inf")
      ->capture_default_str();
  app.add_option("--output", line.output, "the folder to write the clipped gradients to, under their files' names");
  app.add_option("--backend", line.backend, "cuda, openmp or serial; the first whose device is present");
  app.add_option("--dtype", line.type, "f64, f32, f16 or bf16; converts the gradients, each element rounded once")
      ->capture_default_str();
  app.add_option("--repeat", line.repeats, "how often gradients are clipped for the time")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.footer(clip_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    throw portops::Error(std::string(error.what()) + " (portops_clip --help tells more)");
  }
  clip(line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops_clip", command, argc, argv); }
