// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include "common/values.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <limits>

namespace portops::apps {

namespace {

constexpr const char* train_help =
    "DATA is a folder with the files of MNIST or Fashion-MNIST, gzipped or not. The learning\n"
    "rate rises over a twentieth of the steps, and falls along a cosine to 0. f16 has a scale\n"
    "of the loss, f16 and bf16 have masters of the parameters in f32. --checkpoint is written\n"
    "after each epoch; with --deterministic training that --resume takes up ends in the same\n"
    "bits, by any number of processes (mpirun -n 4 portops_train ...), which share the\n"
    "micro-batches that it began with. With --synchronise-batch-norm each process has one\n"
    "micro-batch, and any number of processes learns the same but for rounding. --timeline is\n"
    "of the first 1000 steps. --timing learns nothing: it measures.\n";

/// What is checked and read beyond what CLI11 does.
struct Texts {
  std::string width = "1";
  std::string learning_rate = "0.002";
  std::string type = "f32";
  std::string math = "ieee";
  std::optional<std::string> backend;
  bool augment = false;
  bool captured = false, not_captured = false;
};

double positive(const std::string& option, const std::string& text, double most) {
  const double number = parse_number(text).value_or(-1.0);
  if (number > 0.0 && number <= most) return number;
  throw Error(option + " is '" + text + "', expected a positive number of at most " + to_string(most));
}

void read_texts(const Texts& texts, Options& options) {
  options.train.network.width = positive("--width", texts.width, 8.0);
  options.train.learning_rate = positive("--learning-rate", texts.learning_rate, 1000.0);
  options.train.network.type = parse_element_type(texts.type);
  options.math = parse_math(texts.math);
  if (texts.backend) options.backend = parse_backend(*texts.backend);
  if (texts.captured || texts.not_captured) options.captured = texts.captured;
  if (texts.augment) options.train.augmentation = {.shift = 2, .flips = true};
  if (options.timeline && options.timed_steps > 0) {
    throw Error("--timeline is of training, and --timing trains nothing: expected one of them");
  }
  if (options.resume && !options.checkpoint) throw Error("--resume needs --checkpoint, the file to go on from");
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  options.train.micro_batches = 0;  // as many as there are processes
  Texts texts;
  constexpr std::int64_t many = std::int64_t{1} << 30;
  CLI::App app("Trains a deformable network to tell small grey images apart, with portops::nn.", "portops_train");
  app.set_version_flag("--version", std::string("portops_train ") + PORTOPS_VERSION);
  const auto number = [&](const char* name, std::int64_t& value, std::int64_t least, std::int64_t most,
                          const char* what) {
    app.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
  };
  app.add_option("--data", options.data, "the folder of the images")->capture_default_str();
  number("--classes", options.train.network.classes, 2, 256, "how many classes there are");
  number("--items", options.items, 0, many, "learn from so many of the first images; 0: from all");
  number("--test-items", options.test_items, 0, many, "test so many of the first images; 0: all");
  number("--epochs", options.train.epochs, 1, 1000000, "how often each image is learned from");
  number("--micro-batches", options.train.micro_batches, 0, 1000000,
         "that a step's images are divided into, for the processes to share; 0: one each, or those of --resume");
  app.add_flag("--synchronise-batch-norm", options.train.synchronise_batch_norm,
               "normalise a step's images as one batch, whatever processes have them");
  number("--bucket-bytes", options.train.bucket_bytes, 1, std::int64_t{1} << 40,
         "of gradients that processes send each other at once, or a little more");
  number("--batch", options.train.batch, 1, 1000000, "the images of a step");
  app.add_option("--learning-rate", texts.learning_rate, "the highest one of Adam")->capture_default_str();
  app.add_option("--width", texts.width, "a factor of the channels of all layers")->capture_default_str();
  app.add_flag("--augment", texts.augment, "mirror images and shift them by up to 2 pixels, by chance");
  number("--seed", options.train.seed, 0, std::numeric_limits<std::int64_t>::max(),
         "of the first weights, the order of the images, and what --augment does");
  app.add_option("--checkpoint", options.checkpoint, "the file to write after each epoch, safetensors");
  app.add_flag("--resume", options.resume, "go on from the checkpoint");
  app.add_option("--picture", options.picture, "the picture of mistakes to write, PNG")->capture_default_str();
#if defined(PORTOPS_HAS_ONNX)
  app.add_option("--program", options.program, "the file to write the network to when it has learned, ONNX");
  number("--program-batch", options.program_batch, 1, 1000000, "the images that a run of the program takes");
#endif
  app.add_option("--timeline", options.timeline,
                 "the file to write what the processes did when, JSON for Perfetto or chrome://tracing");
  number("--timing", options.timed_steps, 0, 1000000, "measure so many steps, and as many batches of inference");
  app.add_option("--backend", texts.backend, "cuda, openmp or serial; the first whose device is present");
  app.add_option("--dtype", texts.type, "f64, f32, f16 or bf16")->capture_default_str();
  app.add_option("--math", texts.math, "ieee or tf32: the arithmetic of products of f32")->capture_default_str();
  CLI::Option* const captured = app.add_flag("--captured", texts.captured,
                                             "compute each whole batch by one program, on a GPU in one launch, as is "
                                             "done there without being asked for; not with "
                                             "several micro-batches or --timeline");
  app.add_flag("--no-captured", texts.not_captured, "compute it call by call")->excludes(captured);
  app.add_flag("--deterministic", options.deterministic, "the same bits on every run, for any number of threads");
  app.footer(train_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error), std::nullopt;  // --help and --version
    throw Error(std::string(error.what()) + " (portops_train --help tells more)");
  }
  read_texts(texts, options);
  return options;
}

}  // namespace portops::apps
