// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/order.hpp"
#include "common/program.hpp"
#include "common/values.hpp"
#include "learn.hpp"
#include "speaking_words.hpp"
#include "text.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace portops::apps;

constexpr const char* classify_help =
    "Words are runs of letters, in lower case; bytes beyond ASCII count as letters. The\n"
    "learning rate falls evenly to 0. Unless --learning-rate says another one it begins\n"
    "at 0.1 for adam, 50 for momentum and 500 for sgd: the gradient of a line is shared\n"
    "out among all its words, and so is small.\n"
    "The same seed gives the same bits on every run and for any number of threads.\n";

struct CommandLine {
  std::vector<std::string> files;
  std::int64_t min_count = 2;
  std::string held_out = "0.1";
  int epochs = 10;
  std::int64_t batch = 256;
  std::string optimizer = "adam";
  std::optional<std::string> learning_rate;
  std::size_t words = 8;
  std::int64_t seed = 1;
  std::optional<std::string> backend;
  std::string type = "f32";
};

struct OptimizerInfo {
  std::string name;
  Optimizer optimizer;
  double learning_rate;
};

OptimizerInfo parse_optimizer(const std::string& text) {
  const std::vector<OptimizerInfo> known{
      {"adam", Optimizer::adam, 0.1}, {"momentum", Optimizer::momentum, 50.0}, {"sgd", Optimizer::sgd, 500.0}};
  for (const OptimizerInfo& info : known) {
    if (info.name == text) return info;
  }
  throw portops::Error("--optimizer is '" + text + "', expected adam, momentum or sgd");
}

double parse_learning_rate(const CommandLine& line, const OptimizerInfo& optimizer) {
  if (!line.learning_rate) return optimizer.learning_rate;
  const double rate = parse_number(*line.learning_rate).value_or(-1.0);
  if (rate > 0.0 && std::isfinite(rate)) return rate;
  throw portops::Error("--learning-rate is '" + *line.learning_rate + "', expected a positive number");
}

double parse_share(const std::string& text) {
  const double share = parse_number(text).value_or(-1.0);
  if (share > 0.0 && share < 1.0) return share;
  throw portops::Error("--held-out is '" + text + "', expected a number between 0 and 1");
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// "1 line", "2 lines"
std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// How often each class is among the lines.
std::vector<std::int64_t> class_counts(const Examples& examples, const std::vector<Line>& lines) {
  std::vector<std::int64_t> counts(examples.classes.size());
  for (const Line& line : lines) ++counts[static_cast<std::size_t>(line.label)];
  return counts;
}

void print_examples(const Examples& examples, const CommandLine& line) {
  std::cout << "lines    " << examples.train.size() << " to learn from, " << examples.held_out.size() << " held out\n"
            << "words    " << examples.words.size() << " that occur "
            << counted(static_cast<std::size_t>(line.min_count), "time") << " or more\n"
            << "classes  " << examples.classes.size() << '\n';
}

/// What it would be right in to say of every held-out line that it is of the most frequent class.
void print_result(const Examples& examples, double accuracy) {
  const std::vector<std::int64_t> counts = class_counts(examples, examples.train);
  const auto most = static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  const double always = static_cast<double>(class_counts(examples, examples.held_out)[most]) /
                        static_cast<double>(examples.held_out.size());
  std::cout << formatted("result   %.2f %% of the held-out lines are right; always '", 100.0 * accuracy)
            << examples.classes[most] << formatted("' would be right in %.2f %%\n", 100.0 * always);
}

/// The words that speak most for each class or, where there are many, for each of the most frequent ones.
void print_words(const Examples& examples, const std::vector<double>& table, std::size_t words) {
  constexpr std::size_t many = 12;
  const std::vector<std::int64_t> counts = class_counts(examples, examples.train);
  std::vector<std::size_t> order = numbers_to(counts.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  order.resize(std::min(order.size(), many));
  std::size_t width = 0;
  for (const std::size_t label : order) width = std::max(width, examples.classes[label].size());
  for (const std::size_t label : order) {
    const std::string& name = examples.classes[label];
    std::string list;
    for (const std::string& word : speaking_words(examples, table, label, words)) append_item(list, word, " ");
    std::cout << "speak    " << name << std::string(width - name.size() + 2, ' ') << list << '\n';
  }
  if (order.size() < counts.size()) std::cout << "… " << counts.size() - order.size() << " more\n";
}

void print_epoch(const Epoch& epoch) {
  std::cout << formatted("%5d  %7.4f  %6.2f %%  %6.2f %%\n", epoch.number, epoch.learned.loss(),
                         100.0 * epoch.learned.accuracy(), 100.0 * epoch.held_out.accuracy())
            << std::flush;
}

LearnOptions learn_options(const CommandLine& line) {
  const OptimizerInfo optimizer = parse_optimizer(line.optimizer);
  LearnOptions options;
  options.model = {parse_element_type(line.type), optimizer.optimizer};
  options.learning_rate = parse_learning_rate(line, optimizer);
  options.epochs = line.epochs;
  options.batch = line.batch;
  options.seed = static_cast<std::uint64_t>(line.seed);
  if (options.model.type == portops::ElementType::f16 && optimizer.optimizer == Optimizer::adam) {
    throw portops::Error("--dtype is 'f16', which cannot hold adam's second moments, expected f64, f32 or bf16");
  }
  return options;
}

void classify(const CommandLine& line) {
  const LearnOptions options = learn_options(line);
  const ExampleOptions example_options{parse_share(line.held_out), line.min_count,
                                       static_cast<std::uint64_t>(line.seed)};
  std::optional<portops::Backend> backend;
  if (line.backend) backend = parse_backend(*line.backend);
  Text text;
  for (const std::string& file : line.files) text.read(file);
  const Examples examples = divide(text, example_options);

  const portops::Runtime runtime;
  const portops::Device device = choose_device(backend);
  print_examples(examples, line);
  std::cout << "table    [" << examples.rows() << ", " << examples.classes.size() << "] in "
            << name_of(options.model.type) << ", by " << line.optimizer << " from a learning rate of "
            << to_string(options.learning_rate) << '\n'
            << "backend  " << name_of(device.backend) << ", " << device.name << "\n\n"
            << "epoch     loss  accuracy  held out\n";
  const Learned learned = learn(portops::Context(device.backend), examples, options, print_epoch);
  std::cout << '\n';
  print_result(examples, learned.accuracy);
  print_words(examples, learned.table, line.words);
  std::cout << formatted("time     %.1f us a step of %lld lines, %.2f million words a second, in the fastest epoch\n",
                         1e6 * learned.seconds_per_step, static_cast<long long>(line.batch),
                         1e-6 * learned.words_per_second);
}

int command(int argc, char** argv) {
  CommandLine line;
  CLI::App app(
      "Learns to tell the class of a line of text from its words: embedding bags, by portops::sequence_pool on ragged\n"
      "batches and steps of the optimizer by sparse gradients.",
      "portops_classify");
  app.set_version_flag("--version", std::string("portops_classify ") + PORTOPS_VERSION);
  app.add_option("FILE", line.files, "files with lines of the form label<TAB>text; - is standard input")->required();
  app.add_option("--min-count", line.min_count, "how often a word has to occur to be known")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--held-out", line.held_out, "the share of the lines that is not learned from, but shows how well")
      ->capture_default_str();
  app.add_option("--epochs", line.epochs, "how often each line is learned from")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--batch", line.batch, "the lines of a step")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}))
      ->capture_default_str();
  app.add_option("--optimizer", line.optimizer, "adam, momentum or sgd")->capture_default_str();
  app.add_option("--learning-rate", line.learning_rate, "that of the first step");
  app.add_option("--words", line.words, "how many words to show for each class")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--seed", line.seed, "of the order of the lines, and of which are held out")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  app.add_option("--backend", line.backend, "cuda, openmp or serial; the first whose device is present");
  app.add_option("--dtype", line.type, "f64, f32, bf16 or, but not for adam, f16: the type of the table")
      ->capture_default_str();
  app.footer(classify_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    throw portops::Error(std::string(error.what()) + " (portops_classify --help tells more)");
  }
  classify(line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("portops_classify", command, argc, argv); }
