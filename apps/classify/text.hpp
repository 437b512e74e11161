// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Lines of text with labels, and their words as the rows of a table.

namespace portops::apps {

/// The letters of ASCII, in lower case, and every byte beyond ASCII; what else there is separates words.
std::vector<std::string> words_of(const std::string& text);

/// A line of text: what it is, and the words in it.
struct Line {
  std::int64_t label = 0;
  std::vector<std::int64_t> words;
};

/// Labelled text as it is read. Classes and words are numbered in the order of their first lines.
class Text {
 public:
  /// Reads lines of the form label<TAB>text; lines without any characters are passed over. "-" is standard input.
  /// Throws Error, which names the file and the line.
  void read(const std::string& name);

  const std::vector<std::string>& classes() const { return classes_.names; }
  const std::vector<std::string>& words() const { return words_.names; }
  const std::vector<Line>& lines() const { return lines_; }

 private:
  struct Names {
    std::int64_t number(const std::string& name);

    std::map<std::string, std::int64_t> numbers;
    std::vector<std::string> names;
  };

  void add(const std::string& line);

  Names classes_;
  Names words_;
  std::vector<Line> lines_;
};

/// What is learned from and, apart from it, what shows how much has been learned. The words of the lines are rows of a
/// table: row 0 is one that every line begins with, so that classes can differ where no word is known.
struct Examples {
  std::vector<std::string> classes;
  std::vector<std::string> words;  ///< of each row from 1 on, the most frequent first
  std::vector<Line> train;
  std::vector<Line> held_out;

  std::int64_t rows() const { return static_cast<std::int64_t>(words.size()) + 1; }
};

struct ExampleOptions {
  double held_out = 0.1;  ///< between 0 and 1, the share of the lines that is held out; one line at least
  std::int64_t min_count = 2;
  std::uint64_t seed = 1;
};

/// Holds lines out, by chance, and gives a row to each word that occurs min_count times or more in the others. Words
/// without a row are left out. Throws Error unless the text has two lines and two classes.
Examples divide(const Text& text, const ExampleOptions& options);

}  // namespace portops::apps
