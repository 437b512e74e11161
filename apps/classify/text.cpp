// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include "common/order.hpp"

#include <portops/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

namespace portops::apps {

namespace {

/// The byte in lower case where it belongs to a word, else 0. Beyond ASCII all bytes do: those of UTF-8's letters.
char letter(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  const bool is_letter = (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
  return is_letter ? c : '\0';
}

/// How often each word occurs.
std::vector<std::int64_t> occurrences(const std::vector<Line>& lines, std::size_t words) {
  std::vector<std::int64_t> counts(words);
  for (const Line& line : lines) {
    for (const std::int64_t word : line.words) ++counts[static_cast<std::size_t>(word)];
  }
  return counts;
}

/// The words that occur min_count times or more, the most frequent first.
std::vector<std::size_t> frequent_words(const std::vector<std::int64_t>& counts, std::int64_t min_count) {
  std::vector<std::size_t> words = numbers_to(counts.size());
  std::erase_if(words, [&](std::size_t word) { return counts[word] < min_count; });
  std::stable_sort(words.begin(), words.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  return words;
}

/// Turns the words of the lines into rows, whose number is 0 for words without one.
void number_rows(std::vector<Line>& lines, const std::vector<std::int64_t>& row) {
  for (Line& line : lines) {
    std::vector<std::int64_t> rows{0};
    for (const std::int64_t word : line.words) {
      if (row[static_cast<std::size_t>(word)] != 0) rows.push_back(row[static_cast<std::size_t>(word)]);
    }
    line.words = std::move(rows);
  }
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (const char found = letter(c)) {
      word += found;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::int64_t Text::Names::number(const std::string& name) {
  const auto [place, is_new] = numbers.try_emplace(name, static_cast<std::int64_t>(names.size()));
  if (is_new) names.push_back(name);
  return place->second;
}

void Text::add(const std::string& line) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string::npos) throw Error("no tab, expected a label, a tab and the text");
  if (tab == 0) throw Error("no label before the tab");
  Line added{classes_.number(line.substr(0, tab)), {}};
  for (const std::string& word : words_of(line.substr(tab + 1))) added.words.push_back(words_.number(word));
  lines_.push_back(std::move(added));
}

void Text::read(const std::string& name) {
  std::ifstream file;
  std::error_code error;
  if (std::filesystem::is_directory(name, error))
    throw Error(name + ": is a folder, expected a file of labelled lines");
  if (name != "-") file.open(name, std::ios::binary);
  if (!file) throw Error(name + ": cannot be read: " + std::strerror(errno));
  std::istream& stream = name == "-" ? std::cin : file;
  std::string line;
  for (std::int64_t number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line == "\r") continue;
    try {
      add(line);
    } catch (const Error& problem) {
      throw Error(name + ":" + std::to_string(number) + ": " + problem.what());
    }
  }
  if (stream.bad()) throw Error(name + ": cannot be read: " + std::strerror(errno));
}

Examples divide(const Text& text, const ExampleOptions& options) {
  const std::vector<Line>& lines = text.lines();
  if (lines.size() < 2) {
    throw Error("the text has " + std::to_string(lines.size()) + (lines.size() == 1 ? " line" : " lines") +
                ", expected at least 2");
  }
  if (text.classes().size() < 2) {
    throw Error("all lines have the label '" + text.classes().front() + "', expected two labels or more");
  }
  std::vector<std::size_t> order = numbers_to(lines.size());
  std::mt19937_64 random(options.seed);
  shuffle(order, random);
  const auto share = static_cast<std::size_t>(std::llround(options.held_out * static_cast<double>(lines.size())));
  const std::size_t held_out = std::clamp(share, std::size_t{1}, lines.size() - 1);

  Examples examples;
  examples.classes = text.classes();
  for (std::size_t i = 0; i < order.size(); ++i) {
    (i < held_out ? examples.held_out : examples.train).push_back(lines[order[i]]);
  }
  const std::vector<std::int64_t> counts = occurrences(examples.train, text.words().size());
  std::vector<std::int64_t> row(counts.size());
  for (const std::size_t word : frequent_words(counts, options.min_count)) {
    examples.words.push_back(text.words()[word]);
    row[word] = static_cast<std::int64_t>(examples.words.size());
  }
  number_rows(examples.train, row);
  number_rows(examples.held_out, row);
  return examples;
}

}  // namespace portops::apps
