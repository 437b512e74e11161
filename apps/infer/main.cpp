// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "classifier.hpp"
#include "common/picture.hpp"
#include "common/program.hpp"
#include "common/values.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace portops::apps;
using portops::Error;

constexpr const char* infer_help =
    "MODEL is an ONNX file with one input of images, [N, 1, H, W] or [N, 3, H, W], numbers\n"
    "from 0 to 1, and one output of scores, [N, classes], such as portops_train --program\n"
    "writes. PICTURES have the size H x W. Each line of NAMES names a class, from 0 on.\n";

struct CommandLine {
  std::string model;
  std::vector<std::string> pictures;
  std::optional<std::string> names;
  std::optional<std::string> images;
  std::optional<std::string> backend;
  std::size_t top = 3;
};

std::optional<portops::Extents> parse_images(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const portops::AttributeInfo info{.name = "--images",
                                    .description = {},
                                    .type = portops::AttributeType::integers,
                                    .default_value = {},
                                    .names = {}};
  const auto numbers = std::get<std::vector<std::int64_t>>(parse_attribute(info, *text));
  if (numbers.size() == 4 && std::all_of(numbers.begin(), numbers.end(), [](auto each) { return each > 0; })) {
    return portops::Extents(std::span<const std::int64_t>(numbers));
  }
  throw Error("--images is '" + *text + "', expected N,C,H,W, such as 1,3,224,224");
}

/// Of each class: the line of a file, or its number.
std::vector<std::string> class_names(const std::optional<std::string>& file, std::int64_t classes) {
  std::vector<std::string> names;
  if (file) {
    std::ifstream lines(*file);
    if (!lines) throw Error(*file + ": cannot be read");
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    if (static_cast<std::int64_t>(names.size()) == classes) return names;
    throw Error(*file + ": has " + std::to_string(names.size()) + " lines, expected one for each of " +
                std::to_string(classes) + " classes");
  }
  for (std::int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

/// The classes of the highest scores, the first of equal ones first.
std::vector<std::size_t> best(const double* scores, std::size_t classes, std::size_t count) {
  std::vector<std::size_t> order(classes);
  for (std::size_t i = 0; i < classes; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(count, classes));
  return order;
}

void infer(const CommandLine& line) {
  std::optional<portops::Backend> backend;
  if (line.backend) backend = parse_backend(*line.backend);
  const portops::graph::Program program = read_classifier(line.model, parse_images(line.images));
  std::vector<Picture> pictures;
  for (const std::string& name : line.pictures) pictures.push_back(read_png(name));

  const portops::Runtime runtime;
  const portops::Device device = choose_device(backend);
  Classifier classifier(portops::Context(device.backend), program);
  const std::vector<std::string> names = class_names(line.names, classifier.classes());
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<double> scores = classifier.scores(pictures, line.pictures);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  std::cout << "model    " << line.model << ", " << classifier.classes() << " classes\n"
            << "backend  " << name_of(device.backend) << ", " << device.name << '\n';
  std::array<char, 64> text;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const double* its = scores.data() + i * names.size();
    std::cout << line.pictures[i] << ":";
    const char* separator = " ";
    for (const std::size_t label : best(its, names.size(), line.top)) {
      std::snprintf(text.data(), text.size(), " %.4f", its[label]);
      std::cout << separator << names[label] << text.data();
      separator = ", ";
    }
    std::cout << '\n';
  }
  std::snprintf(text.data(), text.size(), "%.2f ms for %zu of them", 1e3 * seconds, pictures.size());
  std::cout << "time     " << text.data() << '\n';
}

int command(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Tells what is in pictures by a network in a file, with portops::graph.", "portops_infer");
  app.set_version_flag("--version", std::string("portops_infer ") + PORTOPS_VERSION);
  app.add_option("MODEL", line.model, "the network, ONNX")->required();
  app.add_option("PICTURES", line.pictures, "what to tell apart, PNG")->required();
  app.add_option("--names", line.names, "a file with the names of the classes; their numbers");
  app.add_option("--images", line.images, "N,C,H,W: the extents of the input, where the file leaves them open");
  app.add_option("--top", line.top, "how many classes to tell of each picture")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--backend", line.backend, "cuda, openmp or serial; the first whose device is present");
  app.footer(infer_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    throw Error(std::string(error.what()) + " (portops_infer --help tells more)");
  }
  infer(line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops_infer", command, argc, argv); }
