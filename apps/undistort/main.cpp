// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/output_file.hpp"
#include "common/picture.hpp"
#include "common/program.hpp"
#include "common/shipped_picture.hpp"
#include "common/values.hpp"
#include "lens.hpp"
#include "undistort.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace {

using namespace portops::apps;
namespace fs = std::filesystem;

constexpr const char* lens_help =
    "The lens is the radial model of Brown and Conrady, with the coefficients of OpenCV.\n"
    "What is at distance r from the centre in the corrected picture is at distance\n"
    "r * (1 + k1 * r^2 + k2 * r^4 + k3 * r^6) in the photograph. r is 1 at RADIUS pixels;\n"
    "for coefficients from OpenCV, RADIUS is the focal length in pixels, and X,Y are cx,cy.\n"
    "What the photograph does not show becomes black. The lens of the photograph that is\n"
    "shipped is known.\n";

/// The lens of the photograph that is shipped, from a calibration: see data/README.md.
constexpr Lens shipped_lens{-0.2905, 0.1041, 0.0, 342.5, 232.86, 532.89};

struct CommandLine {
  std::optional<std::string> picture;
  std::optional<std::string> k1;
  std::optional<std::string> k2;
  std::optional<std::string> k3;
  std::optional<std::string> centre;
  std::optional<std::string> radius;
  bool distort = false;
  std::string output = "undistorted.png";
  std::optional<std::string> backend;
  int repeats = 100;
};

std::optional<double> parse_finite(std::string_view text) {
  const auto value = parse_number(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

void set_coefficient(const std::string& option, const std::optional<std::string>& text, double& value) {
  if (!text) return;
  const auto number = parse_finite(*text);
  if (!number) throw portops::Error(option + " is '" + *text + "', expected a number, such as -0.25");
  value = *number;
}

void set_centre(const std::string& text, Lens& lens) {
  const std::size_t comma = text.find(',');
  const auto x = parse_finite(text.substr(0, comma));
  const auto y = comma == std::string::npos ? std::nullopt : parse_finite(text.substr(comma + 1));
  if (!x || !y) throw portops::Error("--center is '" + text + "', expected two numbers, such as 319.5,239.5");
  lens.centre_x = *x;
  lens.centre_y = *y;
}

void set_radius(const std::string& text, Lens& lens) {
  lens.radius = parse_finite(text).value_or(0.0);
  if (!(lens.radius > 0.0)) throw portops::Error("--radius is '" + text + "', expected a positive number of pixels");
}

Lens middle_of(const Picture& picture) {
  const auto width = static_cast<double>(picture.width);
  const auto height = static_cast<double>(picture.height);
  Lens lens;
  lens.centre_x = 0.5 * (width - 1.0);
  lens.centre_y = 0.5 * (height - 1.0);
  lens.radius = 0.5 * std::hypot(width, height);
  return lens;
}

Lens lens_of(const CommandLine& line, const Picture& picture) {
  Lens lens = line.picture ? middle_of(picture) : shipped_lens;
  set_coefficient("--k1", line.k1, lens.k1);
  set_coefficient("--k2", line.k2, lens.k2);
  set_coefficient("--k3", line.k3, lens.k3);
  if (line.centre) set_centre(*line.centre, lens);
  if (line.radius) set_radius(*line.radius, lens);
  return lens;
}

std::string describe(const Lens& lens) {
  return "k1 " + to_string(lens.k1) + ", k2 " + to_string(lens.k2) + ", k3 " + to_string(lens.k3) + ", centre " +
         to_string(lens.centre_x) + ',' + to_string(lens.centre_y) + ", radius " + to_string(lens.radius);
}

void undistort(const CommandLine& line) {
  std::optional<portops::Backend> backend;
  if (line.backend) backend = parse_backend(*line.backend);
  if (line.picture && !line.k1 && !line.k2 && !line.k3) {
    throw portops::Error("a picture is named without a lens, expected --k1, --k2 or --k3");
  }
  const std::string name = line.picture ? *line.picture : shipped_picture("chessboard.png");
  if (is_same_file(line.output, name)) {
    throw portops::Error("the output and the input are the same file " + name + ", expected different files");
  }
  const Picture picture = read_png(name);
  const Lens lens = lens_of(line, picture);
  std::deque<OutputFile> outputs;
  OutputFile& output = outputs.emplace_back(line.output);

  const portops::Runtime runtime;
  const portops::Device device = choose_device(backend);
  const portops::Context ctx(device.backend);

  const Direction direction = line.distort ? Direction::distort : Direction::correct;
  const portops::Tensor offsets = lens_offsets(lens, direction, picture.width, picture.height);
  const UndistortResult result = undistort(ctx, picture, offsets, line.repeats);
  write_png(output, result.picture);
  OutputFile::commit(outputs);

  std::array<char, 128> time;
  const double megapixels = 1e-6 * static_cast<double>(picture.width) * static_cast<double>(picture.height);
  std::snprintf(time.data(), time.size(), "%.1f us a call (mean of %d), %.2f megapixels, %.1f megapixels/s",
                1e6 * result.seconds_per_call, line.repeats, megapixels, megapixels / result.seconds_per_call);
  std::cout << "from     " << name << ", " << picture.size() << '\n'
            << (line.distort ? "distort  " : "correct  ") << describe(lens) << '\n'
            << "backend  " << name_of(device.backend) << ", " << device.name << '\n'
            << "time     " << time.data() << '\n'
            << "picture  " << fs::absolute(line.output).lexically_normal().string() << ", " << result.picture.size()
            << '\n';
}

int command(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Corrects the distortion of a photograph by its lens: portops::deform_conv2d, one offset a pixel.",
               "portops_undistort");
  app.set_version_flag("--version", std::string("portops_undistort ") + PORTOPS_VERSION);
  app.add_option("PICTURE", line.picture, "the photograph, PNG; one of a chessboard is shipped");
  app.add_option("--k1", line.k1, "the lens: the coefficient of r^2; 0");
  app.add_option("--k2", line.k2, "the coefficient of r^4; 0");
  app.add_option("--k3", line.k3, "the coefficient of r^6; 0");
  app.add_option("--center", line.centre, "X,Y of its centre in pixels; the middle of the picture");
  app.add_option("--radius", line.radius, "the pixels that make r = 1; half the diagonal");
  app.add_flag("--distort", line.distort, "the opposite: bend a picture as the lens does");
  app.add_option("--output", line.output, "the picture to write, PNG")->capture_default_str();
  app.add_option("--backend", line.backend, "cuda, openmp or serial; the first whose device is present");
  app.add_option("--repeat", line.repeats, "how often the operator is called for the time")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.footer(lens_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    throw portops::Error(std::string(error.what()) + " (portops_undistort --help tells more)");
  }
  undistort(line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops_undistort", command, argc, argv); }
