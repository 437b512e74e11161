// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/output_file.hpp"
#include "common/picture.hpp"
#include "common/program.hpp"
#include "common/shipped_picture.hpp"
#include "common/values.hpp"
#include "fade.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace {

using namespace portops::apps;
namespace fs = std::filesystem;

struct CommandLine {
  std::optional<std::string> a;
  std::optional<std::string> b;
  std::optional<std::string> weight;
  std::optional<int> frames;
  std::string output = "crossfade.png";
  std::optional<std::string> backend;
  std::string type = "f32";
  int repeats = 100;
};

FadeOptions options_of(const CommandLine& line) {
  FadeOptions options;
  options.type = parse_element_type(line.type);
  options.frames = line.frames;
  options.repeats = line.repeats;
  if (line.weight) {
    options.weight = parse_number(*line.weight);
    if (!options.weight || !(*options.weight >= 0.0 && *options.weight <= 1.0)) {
      throw portops::Error("--weight is '" + *line.weight + "', expected a number from 0 to 1");
    }
  }
  return options;
}

std::string describe(const FadeOptions& options) {
  if (options.weight) return "weight " + to_string(*options.weight);
  if (options.frames) return std::to_string(*options.frames) + " frames, weight 0 to 1";
  return "weight 0 at the left to 1 at the right";
}

void fade(const CommandLine& line) {
  const FadeOptions options = options_of(line);
  std::optional<portops::Backend> backend;
  if (line.backend) backend = parse_backend(*line.backend);
  if (line.a && !line.b) throw portops::Error("one picture is named, expected two, or none for the ones shipped");
  const std::string a_name = line.a ? *line.a : shipped_picture("chelsea.png");
  const std::string b_name = line.b ? *line.b : shipped_picture("coffee.png");
  for (const std::string& input : {a_name, b_name}) {
    if (is_same_file(line.output, input)) {
      throw portops::Error("the output and an input are the same file " + input + ", expected different files");
    }
  }
  Picture a = read_png(a_name);
  Picture b = read_png(b_name);
  std::deque<OutputFile> outputs;
  OutputFile& output = outputs.emplace_back(line.output);

  const portops::Runtime runtime;
  const portops::Device device = choose_device(backend);
  const portops::Context ctx(device.backend);

  std::cout << "from     " << a_name << ", " << a.size() << '\n' << "to       " << b_name << ", " << b.size() << '\n';
  if (a.width != b.width || a.height != b.height) {
    const std::int64_t width = std::min(a.width, b.width);
    const std::int64_t height = std::min(a.height, b.height);
    a = crop_centre(a, width, height);
    b = crop_centre(b, width, height);
    std::cout << "cropped  both to their middle " << a.size() << '\n';
  }
  const FadeResult result = cross_fade(ctx, a, b, options);
  write_png(output, result.picture);
  OutputFile::commit(outputs);

  std::array<char, 128> time;
  const double bytes = static_cast<double>(result.bytes_per_call);
  std::snprintf(time.data(), time.size(), "%.1f us a call (mean of %d), %.2f MB moved, %.1f GB/s",
                1e6 * result.seconds_per_call, options.repeats, 1e-6 * bytes, 1e-9 * bytes / result.seconds_per_call);
  std::cout << "lerp     of linear light in " << name_of(options.type) << ", " << describe(options) << '\n'
            << "backend  " << name_of(device.backend) << ", " << device.name << '\n'
            << "time     " << time.data() << '\n'
            << "picture  " << fs::absolute(line.output).lexically_normal().string() << ", " << result.picture.size()
            << '\n';
}

int command(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Cross-fades two photographs in linear light: sRGB to light, portops::lerp, light to sRGB.",
               "portops_crossfade");
  app.set_version_flag("--version", std::string("portops_crossfade ") + PORTOPS_VERSION);
  app.add_option("A", line.a, "the picture to fade from, PNG; two photographs are shipped");
  app.add_option("B", line.b, "the picture to fade to");
  auto* weight = app.add_option("--weight", line.weight, "one weight, 0 to 1, instead of a ramp from left to right");
  app.add_option("--frames", line.frames, "a strip of so many weights from 0 to 1, side by side")
      ->check(CLI::Range(2, 100))
      ->excludes(weight);
  app.add_option("--output", line.output, "the picture to write, PNG")->capture_default_str();
  app.add_option("--backend", line.backend, "cuda, openmp or serial; the first whose device is present");
  app.add_option("--dtype", line.type, "f64, f32, f16 or bf16")->capture_default_str();
  app.add_option("--repeat", line.repeats, "how often the operator is called for the time")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    throw portops::Error(std::string(error.what()) + " (portops_crossfade --help tells more)");
  }
  fade(line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops_crossfade", command, argc, argv); }
