// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/safetensors_header.hpp"

#include "core/types/fail.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace portops::impl {
namespace {

using nlohmann::json;

/// Bytes of an element; 0 of a type that is unknown.
std::uint64_t bytes_of(std::string_view type) {
  static constexpr std::pair<std::string_view, std::uint64_t> types[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};
  const auto* found =
      std::find_if(std::begin(types), std::end(types), [&](const auto& its) { return its.first == type; });
  return found != std::end(types) ? found->second : 0;
}

/// Takes a header from nlohmann's parser event by event: so nothing is kept but what belongs into one, and a name that
/// occurs twice is seen.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  FileHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a number that is not whole"); }
  bool binary(binary_t&) override { unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ == Place::shape) {
      if (number > static_cast<number_unsigned_t>(INT64_MAX)) refuse_tensor("has an extent of ", number);
      tensor().extents.push_back(static_cast<std::int64_t>(number));
    } else if (place_ == Place::offsets) {
      if (offsets_ == 2) refuse_tensor("has more than two data_offsets");
      (offsets_++ == 0 ? tensor().begin : tensor().end) = number;
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = std::move(text);
    } else if (place_ == Place::tensor && key_ == "dtype") {
      tensor().type = std::move(text);
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == "__metadata__") {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::tensor;
      header_.tensors.emplace_back().name = key_;
      keys_.clear();
      offsets_ = 0;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(string_t& key) override {
    key_ = std::move(key);
    if (place_ == Place::top) {
      if (!names_.insert(key_).second) fail(where_, "the name '", shown(key_), "' occurs twice");
    } else if (place_ == Place::tensor) {
      if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
        refuse_tensor("has the unknown key '", shown(key_), "'");
      }
      if (!keys_.insert(key_).second) refuse_tensor("has two ", key_);
    } else if (header_.metadata.contains(key_)) {
      fail(where_, "the name '", shown(key_), "' occurs twice in __metadata__");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && (keys_.size() < 3 || offsets_ != 2)) {
      refuse_tensor("lacks dtype, shape or one of two data_offsets");
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() override { return place_ = Place::tensor, true; }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(where_, "the header is no JSON at byte ", position);
  }

 private:
  enum class Place { outside, top, metadata, tensor, shape, offsets };

  FileTensor& tensor() { return header_.tensors.back(); }
  template <class... Parts>
  [[noreturn]] void refuse_tensor(const Parts&... parts) {
    fail(where_, "tensor '", shown(tensor().name), "' ", parts...);
  }
  [[noreturn]] void unexpected(const char* what) {
    if (place_ == Place::outside) fail(where_, "the header is ", what, ", expected an object");
    fail(where_, "the header has ", what, " at '", shown(key_), "'", place_ >= Place::tensor ? " of tensor '" : "",
         place_ >= Place::tensor ? shown(tensor().name) : "", place_ >= Place::tensor ? "'" : "");
  }

  const std::string& where_;
  FileHeader header_;
  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_;
  std::set<std::string> keys_;  ///< of the tensor
  int offsets_ = 0;             ///< of the tensor, so far
};

/// Throws Error unless the tensor has the bytes that its type and its extents say.
void check_bytes(const std::string& where, const FileTensor& its) {
  std::uint64_t bytes = bytes_of(its.type);
  if (bytes == 0) fail(where, "tensor '", shown(its.name), "' is of the unknown type '", shown(its.type), "'");
  // An extent of 0 excuses no other one: the product must not overflow in any order.
  bool is_too_large = false, is_empty = false;
  for (const std::int64_t extent : its.extents) {
    is_empty = is_empty || extent == 0;
    is_too_large =
        is_too_large || (extent != 0 && __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes));
  }
  if (is_too_large) {
    fail(where, "tensor '", shown(its.name), "' has extents ", shown(its.extents), ", more than memory can hold");
  }
  if (is_empty) bytes = 0;
  if (its.end < its.begin || its.end - its.begin != bytes) {
    fail(where, "tensor '", shown(its.name), "' of ", its.type, " ", shown(its.extents), " takes ", bytes,
         " bytes, but lies from ", its.begin, " to ", its.end);
  }
}

}  // namespace

std::string_view file_name_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return "F64";
    case ElementType::f32: return "F32";
    case ElementType::f16: return "F16";
    case ElementType::bf16: return "BF16";
    case ElementType::i64: break;
  }
  return "I64";
}

FileHeader read_header(const std::string& where, std::string_view text, std::uint64_t data_bytes) {
  HeaderReader reader(where);
  json::sax_parse(text.begin(), text.end(), &reader);
  FileHeader header = reader.take();
  for (const FileTensor& each : header.tensors) check_bytes(where, each);
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const FileTensor& a, const FileTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const FileTensor& each : header.tensors) {
    if (each.begin != end) {
      fail(where, "tensor '", shown(each.name), "' begins at ", each.begin, ", ",
           each.begin < end ? "within another one, which ends at " : "after a gap: the one before it ends at ", end);
    }
    end = each.end;
    if (end > data_bytes) {
      fail(where, "tensor '", shown(each.name), "' ends at ", end, ", but the file has ", data_bytes,
           " bytes behind its header: it was cut off");
    }
  }
  if (end != data_bytes) {
    fail(where, "the tensors end at ", end, ", but the file has ", data_bytes, " bytes behind its header");
  }
  return header;
}

std::string write_header(const std::string& where, const FileHeader& header) {
  std::string text = "{";
  const auto quoted = [&](const std::string& name) {
    try {
      return json(name).dump();
    } catch (const json::exception&) {
      fail(where, "'", shown(name), "' is no UTF-8");
    }
  };
  if (!header.metadata.empty()) {
    for (const auto& [key, value] : header.metadata) {
      text.append(text.size() == 1 ? "\"__metadata__\":{" : ",").append(quoted(key)).append(":").append(quoted(value));
    }
    text.append("}");
  }
  for (const FileTensor& each : header.tensors) {
    text.append(text.size() == 1 ? "" : ",").append(quoted(each.name)).append(":{\"dtype\":\"").append(each.type);
    text.append("\",\"shape\":").append(json(each.extents).dump());
    text.append(",\"data_offsets\":").append(json({each.begin, each.end}).dump()).append("}");
  }
  text.append("}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > most_header_bytes) fail(where, "the header takes ", text.size(), " bytes, expected 100 MB or less");
  return text;
}

std::string shown(const std::vector<std::int64_t>& extents) {
  std::string text = "[";
  for (std::size_t i = 0; i < extents.size() && i < 16; ++i) {
    text.append(i == 0 ? "" : ", ").append(std::to_string(extents[i]));
  }
  return text + (extents.size() > 16 ? ", …]" : "]");
}

}  // namespace portops::impl
