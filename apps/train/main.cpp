// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint.hpp"
#include "common/output_file.hpp"
#include "common/picture.hpp"
#include "common/program.hpp"
#include "common/values.hpp"
#include "images.hpp"
#include "inference_program.hpp"
#include "mistakes.hpp"
#include "options.hpp"
#include "report.hpp"
#include "timeline.hpp"
#include "timing.hpp"
#include "trainer.hpp"

#include <portops/comm/world.hpp>
#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iostream>
#include <optional>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if defined(PORTOPS_HAS_ONNX)
#include <portops/graph/onnx.hpp>
#endif

namespace {

using namespace portops::apps;
using portops::Context;
using portops::Error;

ImageData read_data(const Options& options) {
  ImageData data = read_image_data(options.data, options.train.network.classes);
  if (options.items > 0) data.train.keep(options.items);
  if (options.test_items > 0) data.test.keep(options.test_items);
  return data;
}

Context make_context(const Options& options, const portops::Device& device) {
  return Context(device.backend).math(options.math).deterministic(options.deterministic);
}

void print_set_up(const Options& options, const ImageData& data, Trainer& trainer, const portops::Device& device) {
  std::int64_t numbers = 0;
  for (const portops::nn::NamedVariable& each : trainer.network().parameters()) {
    numbers += each.variable.tensor().size();
  }
  const TrainOptions& train = options.train;
  std::cout << "data     " << options.data << ": " << data.train.items() << " images to learn from, "
            << data.test.items() << " to test, " << data.train.width() << " x " << data.train.height() << ", "
            << train.network.classes << " classes\n"
            << "network  " << numbers << " numbers in " << name_of(train.network.type) << ", batches of " << train.batch
            << ", a learning rate of " << to_string(train.learning_rate)
            << (train.augmentation.flips ? ", images moved and mirrored" : "") << '\n'
            << "backend  " << name_of(device.backend) << ", " << device.name
            << (options.math == portops::Math::tf32 ? ", tf32" : "") << (options.deterministic ? ", deterministic" : "")
            << '\n';
}

Measures measures_of(const std::vector<Told>& told, const LabelledImages& images) {
  Measures measures;
  measures.add(told, images.labels);
  return measures;
}

/// Several processes measure when all of them do.
Measures train_epoch(Trainer& trainer, Progress& progress, bool is_alone) {
  const std::int64_t epoch = trainer.epochs_done() + 1, steps = trainer.steps_per_epoch();
  Measures all;
  trainer.begin_epoch();
  for (std::int64_t step = 1; step <= steps; ++step) {
    trainer.step();
    if (step < steps && !(is_alone && progress.is_due())) continue;
    const Measures latest = trainer.measure();
    all.add(latest);
    if (step < steps) progress.show(epoch, step, trainer.all_steps() - trainer.steps(), latest);
  }
  progress.clear();
  return all;
}

/// The file of a checkpoint, and what became of it. Where one cannot be written training goes on, so that nothing that
/// was learned is lost; the next one may succeed, and only that the last one did not is an error in the end.
class Checkpoints {
 public:
  /// Throws Error where the file is there, but nobody wants to go on from it, or where none can be written there, which
  /// the end of an epoch would be too late to find out.
  Checkpoints(const Context& ctx, const Options& options, const portops::nn::Metadata& settings, bool is_writer)
      : ctx_(ctx), options_(options), settings_(settings) {
    if (!options.checkpoint) return;
    std::error_code error;
    if (!options.resume && std::filesystem::exists(*options.checkpoint, error)) {
      throw Error(*options.checkpoint + ": is there already: --resume goes on from it");
    }
    if (is_writer) const OutputFile tried(*options.checkpoint);
  }

  void resume(Trainer& trainer) const {
    if (!options_.resume) return;
    load_checkpoint(ctx_, *options_.checkpoint, trainer, settings_);
    std::cout << "resumed  " << *options_.checkpoint << ", after epoch " << trainer.epochs_done() << " of "
              << options_.train.epochs << '\n';
  }

  void save(Trainer& trainer) {
    if (!options_.checkpoint) return;
    problem_.clear();
    try {
      save_checkpoint(ctx_, *options_.checkpoint, trainer, settings_);
    } catch (const Error& error) {
      problem_ = error.what();
      if (trainer.epochs_done() < options_.train.epochs) std::cerr << error_line("portops_train", problem_);
    }
  }

  /// Throws Error where the last one could not be written.
  void finish() const {
    if (!problem_.empty()) throw Error(problem_);
  }

 private:
  Context ctx_;
  const Options& options_;
  portops::nn::Metadata settings_;
  std::string problem_;
};

std::vector<Told> train(const Options& options, const ImageData& data, Trainer& trainer, Checkpoints& checkpoints,
                        const portops::comm::Communicator& processes) {
  std::cout << '\n';
  std::vector<Told> told;
  if (trainer.epochs_done() == options.train.epochs) told = trainer.test();
  if (told.empty()) print_epoch_head();
  while (trainer.epochs_done() < options.train.epochs) {
    Progress progress(trainer.steps_per_epoch());
    const Measures learned = train_epoch(trainer, progress, processes.size() == 1);
    const double seconds = progress.seconds();
    told = trainer.test();
    print_epoch(trainer.epochs_done(), learned, measures_of(told, data.test), seconds);
    if (processes.rank() == 0) checkpoints.save(trainer);
  }
  return told;
}

void print_timing(const char* what, const TimedCalls& calls) {
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(),
                "%s %8.3f ms, of which the host took %.3f; memory at most %.1f MiB beside the images\n", what,
                1e3 * calls.each, 1e3 * calls.enqueued, static_cast<double>(calls.peak_bytes) / (1 << 20));
  std::cout << text.data();
}

void measure_times(const Context& ctx, const Options& options, const ImageData& data, Trainer& trainer) {
  const std::int64_t items = std::min(options.train.batch, data.test.items());
  print_timing("step    ", time_steps(ctx, trainer, options.timed_steps));
  print_timing("infer   ", time_inference(ctx, trainer, items, options.timed_steps));
  print_timing("program ", time_program(ctx, trainer, options.train.network, items, options.timed_steps));
}

/// What process 0 says is enough. The buffer is never destroyed: std::cout flushes it when all else has ended.
void be_quiet() {
  struct Nowhere : std::streambuf {
    int overflow(int c) override { return traits_type::not_eof(c); }
  };
  static auto* const nowhere = new Nowhere;
  std::cout.rdbuf(nowhere);
}

/// As many micro-batches as processes, unless the user has said how many, or goes on from a checkpoint: then its own.
void choose_micro_batches(const Context& ctx, Options& options, std::int64_t processes) {
  std::int64_t& number = options.train.micro_batches;
  if (options.train.synchronise_batch_norm && number != 0 && number != processes) {
    throw Error("--micro-batches is " + std::to_string(number) + ", expected one for each of " +
                std::to_string(processes) + " processes, or none said, with --synchronise-batch-norm");
  }
  const bool is_of_checkpoint = number == 0 && options.resume && !options.train.synchronise_batch_norm;
  if (is_of_checkpoint) number = micro_batches_of(ctx, *options.checkpoint);
  if (number == 0) number = processes;
  if (number >= processes && number <= options.train.batch) return;
  throw Error(std::string("--micro-batches ") + (is_of_checkpoint ? "of the checkpoint " : "") + "is " +
              std::to_string(number) + ", expected one for each of " + std::to_string(processes) +
              " processes or more, and no more than the " + std::to_string(options.train.batch) + " images of a batch");
}

/// Throws Error where a file that is written is also read, or written for something else.
void check_files(const Options& options) {
  std::vector<std::pair<std::string, std::string>> files;  // what each is, and its name
  for (const std::string& name : image_files(options.data)) files.emplace_back("a file of --data", name);
  const auto add = [&](const char* option, const std::string& name) {
    for (const auto& [other, its_name] : files) {
      if (!is_same_file(name, its_name)) continue;
      throw Error(other + " and " + option + " are the same file " + name + ", expected different files");
    }
    files.emplace_back(option, name);
  };
  add("--picture", options.picture);
  if (options.program) add("--program", *options.program);
  if (options.timeline) add("--timeline", *options.timeline);
  if (options.checkpoint) add("--checkpoint", *options.checkpoint);
}

/// The files that are written when all has been learned: the picture; the program and the timeline where they are
/// wanted.
std::deque<OutputFile> open_outputs(const Options& options, const portops::comm::Communicator& processes) {
  std::deque<OutputFile> outputs;
  if (options.timed_steps > 0 || processes.rank() > 0) return outputs;
  check_files(options);
  outputs.emplace_back(options.picture);
  if (options.program) outputs.emplace_back(*options.program);
  if (options.timeline) outputs.emplace_back(*options.timeline);
  return outputs;
}

std::string full_name(const std::string& file) { return std::filesystem::absolute(file).lexically_normal().string(); }

void write_program([[maybe_unused]] const Context& ctx, [[maybe_unused]] const Options& options,
                   [[maybe_unused]] const LabelledImages& images, [[maybe_unused]] Trainer& trainer,
                   [[maybe_unused]] OutputFile& file) {
#if defined(PORTOPS_HAS_ONNX)
  const portops::Extents extents{options.program_batch, 1, images.height, images.width};
  const std::string model =
      portops::graph::onnx_model(inference_program(ctx, trainer.network(), options.train.network, extents));
  file.write(model.data(), model.size());
  file.finish();
#endif
}

void run(Options options, const portops::comm::Communicator& processes) {
  const ImageData data = read_data(options);
  std::deque<OutputFile> outputs = open_outputs(options, processes);

  const portops::Runtime runtime;
  const portops::Device device = choose_device(options.backend);
  const Context ctx = make_context(options, device);
  choose_micro_batches(ctx, options, processes.size());
  options.train.is_program = options.captured.value_or(device.backend == portops::Backend::cuda);
  const portops::nn::Metadata settings =
      settings_of(ctx, options.train, data.train, checksum_of(ctx, processes, data.train));
  std::vector<std::string> texts = texts_of(settings);
  texts.emplace_back(options.timeline ? "--timeline" : "no --timeline");
  check_agreement(ctx, processes, texts);
  Checkpoints checkpoints(ctx, options, settings, options.timed_steps == 0 && processes.rank() == 0);
  std::optional<Timeline> timeline;
  if (options.timeline) timeline.emplace(processes);
  Trainer trainer(ctx, options.train, data.train, data.test, processes, timeline ? &*timeline : nullptr);
  print_set_up(options, data, trainer, device);
  if (options.timed_steps == 0) checkpoints.resume(trainer);
  check_agreement(ctx, processes, {"step " + std::to_string(trainer.steps())});
  if (options.timed_steps > 0) return measure_times(ctx, options, data, trainer);

  const std::vector<Told> told = train(options, data, trainer, checkpoints, processes);
  const std::string trace = timeline ? timeline->trace(ctx, processes) : "";
  if (processes.rank() > 0) return;
  std::cout << '\n';
  print_confusion(told, data.test.labels, class_names(options.data, options.train.network.classes));
  constexpr std::int64_t mistakes = 8;  // of each class
  const Picture picture = picture_of_mistakes(data.test, told, options.train.network.classes, mistakes);
  write_png(outputs.front(), picture);
  if (options.program) write_program(ctx, options, data.test, trainer, outputs[1]);
  if (options.timeline) {
    outputs.back().write(trace.data(), trace.size());
    outputs.back().finish();
  }
  OutputFile::commit(outputs);
  std::cout << "picture  " << full_name(options.picture) << ", " << picture.size() << '\n';
  if (options.program) std::cout << "program  " << full_name(*options.program) << '\n';
  if (options.timeline) std::cout << "timeline " << full_name(*options.timeline) << '\n';
  checkpoints.finish();
}

int command(int argc, char** argv) {
  const auto options = parse_options(argc, argv);
  if (!options) return 0;
  const portops::comm::World world;
  const portops::comm::Communicator& processes = world.communicator();
  if (processes.size() == 1) {
    run(*options, processes);
    return 0;
  }
  if (processes.rank() > 0) be_quiet();
  try {
    run(*options, processes);
  } catch (const std::exception& error) {
    processes.end_job(error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops_train", command, argc, argv); }
