// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy_header.hpp"

#include <portops/core/error.hpp>

#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

namespace portops::apps {

namespace {

constexpr std::string_view expected_types = "expected float16, float32, float64 or int64";

/// What NumPy calls an element type: "int64" for '<i8'.
std::string name_of_descr(std::string_view descr) {
  const std::string quoted = " ('" + std::string(descr) + "')";
  if (descr.size() < 2 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    return "elements of unknown type" + quoted;
  }
  int size = 0;
  std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  const std::string bits = size > 0 && size <= 64 ? std::to_string(8 * size) : "";
  switch (descr[1]) {
    case 'b': return "bool" + quoted;
    case 'i': return "int" + bits + quoted;
    case 'u': return "uint" + bits + quoted;
    case 'f': return "float" + bits + quoted;
    case 'c': return "complex" + bits + quoted;
    case 'O': return "Python objects" + quoted;
    case 'S':
    case 'U': return "text" + quoted;
    case 'M': return "datetime64" + quoted;
    case 'm': return "timedelta64" + quoted;
    case 'V': return "raw bytes" + quoted;
    default: return "elements of unknown type" + quoted;
  }
}

/// A parser of just the dictionary that NumPy writes: Python's literals of strings, booleans and tuples of integers.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  NpyHeader parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{', "a dictionary");
    while (!accept('}')) {
      const std::string key = string("a key");
      expect(':', "':'");
      if (key == "descr" && !descr) {
        descr = element_type();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        throw Error("malformed header: key '" + key + "', expected descr, fortran_order and shape, each once");
      }
      if (!accept(',')) {
        expect('}', "',' or '}'");
        break;
      }
    }
    if (!descr || !fortran_order || !shape) {
      const char* missing = !descr ? "descr" : !fortran_order ? "fortran_order" : "shape";
      throw Error(std::string("malformed header: it has no key ") + missing);
    }
    skip_space();
    if (!rest_.empty()) fail("the end of the header");

    NpyHeader header;
    set_type(*descr, header);
    header.fortran_order = *fortran_order;
    set_extents(*shape, header);
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = rest_.empty() ? "its end" : "'" + std::string(rest_.substr(0, 20)) + "'";
    throw Error("malformed header: found " + found + ", expected " + std::string(expected));
  }

  void skip_space() {
    const std::size_t count = rest_.find_first_not_of(" \t\n\r");
    rest_.remove_prefix(count == std::string_view::npos ? rest_.size() : count);
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }

  void expect(char c, std::string_view expected) {
    if (!accept(c)) fail(expected);
  }

  std::string string(std::string_view expected) {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) fail(expected);
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos || end > 64) fail(expected);  // no name that NumPy writes here is that long
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string element_type() {
    skip_space();
    if (rest_.starts_with('[') || rest_.starts_with('(')) {
      throw Error("holds structured elements, " + std::string(expected_types));
    }
    return string("a string");
  }

  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) fail("True or False");
    return false;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(', "a tuple of integers");
    while (!accept(')')) {
      std::int64_t value = 0;
      skip_space();
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error == std::errc::result_out_of_range) throw Error("lying header: an extent does not fit into 64 bits");
      if (error != std::errc()) fail("an integer or ')'");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      accept('L');  // Python 2's mark of a long integer
      values.push_back(value);
      // Python reads (3) as a number and (3,) as a tuple.
      if (!accept(',') && (values.size() == 1 || !rest_.starts_with(')'))) fail("','");
    }
    return values;
  }

  static void set_type(const std::string& descr, NpyHeader& header) {
    constexpr bool little = std::endian::native == std::endian::little;
    const bool ordered = descr.size() == 3 && (descr[0] == '<' || descr[0] == '>');
    const std::string kind = ordered ? descr.substr(1) : "";
    if (kind == "f8") {
      header.type = ElementType::f64;
    } else if (kind == "f4") {
      header.type = ElementType::f32;
    } else if (kind == "f2") {
      header.type = ElementType::f16;
    } else if (kind == "i8") {
      header.type = ElementType::i64;
    } else {
      throw Error("holds " + name_of_descr(descr) + ", " + std::string(expected_types));
    }
    header.swapped = (descr[0] == '<') != little;
  }

  static void set_extents(const std::vector<std::int64_t>& shape, NpyHeader& header) {
    if (shape.size() > static_cast<std::size_t>(max_rank)) {
      throw Error("has " + std::to_string(shape.size()) + " axes, expected at most " + std::to_string(max_rank));
    }
    header.extents = Extents(std::span(shape));
    // Extents of 0 are left out of this product: [2^40, 2^40, 0] has no elements, but no strides either.
    auto bytes = static_cast<std::int64_t>(size_of(header.type));
    for (const std::int64_t extent : shape) {
      if (extent < 0) throw Error("lying header: extents " + header.extents.to_string() + ", one of them negative");
      if (extent == 0) continue;
      if (bytes > std::numeric_limits<std::int64_t>::max() / extent) {
        throw Error("lying header: extents " + header.extents.to_string() + ", more elements than 64 bits can count");
      }
      bytes *= extent;
    }
    for (const std::int64_t extent : shape) bytes = extent == 0 ? 0 : bytes;
    header.bytes = bytes;
  }

  std::string_view rest_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) { return Parser(text).parse(); }

std::string format_npy_header(ElementType type, const Extents& extents) {
  std::string shape;
  for (const std::int64_t extent : extents) shape += std::to_string(extent) + ", ";
  if (extents.rank() == 1) shape.pop_back();               // (3,)
  if (extents.rank() > 1) shape.resize(shape.size() - 2);  // (3, 4)
  const char kind = type == ElementType::i64 ? 'i' : 'f';
  const char order = std::endian::native == std::endian::little ? '<' : '>';
  std::string text = std::string("{'descr': '") + order + kind + std::to_string(size_of(type)) +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t before = 10;  // magic, version, length
  constexpr std::size_t alignment = 64;
  text.append(alignment - (before + text.size()) % alignment, ' ');
  text.back() = '\n';
  std::string header(npy_magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace portops::apps
