// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/elements.hpp"

#include "core/types/fail.hpp"
#include "core/types/file.hpp"
#include "core/types/shown.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>

namespace portops::impl {
namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "numbers lie in files as they do in memory");

/// Bytes of an element in a file; 0 of types that are not read.
std::size_t stored_size_of(int onnx_type) {
  switch (onnx_type) {
    case TensorProto::DOUBLE:
    case TensorProto::INT64: return 8;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32: return 4;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16: return 2;
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::BOOL: return 1;
    default: return 0;
  }
}

/// How many elements there are, without counting on their existence.
std::int64_t count_of(const std::string& where, const TensorProto& proto) {
  if (proto.dims_size() > max_rank) {
    fail(where, "has ", proto.dims_size(), " axes, expected ", max_rank, " or fewer");
  }
  std::int64_t count = 1;
  bool is_empty = false, is_too_large = false;
  for (const std::int64_t extent : proto.dims()) {
    if (extent < 0) fail(where, "has an extent of ", extent);
    is_empty = is_empty || extent == 0;
    // An extent of 0 excuses no other one.
    is_too_large =
        is_too_large || (extent != 0 && __builtin_mul_overflow(count, extent, &count)) || count > INT64_MAX / 8;
  }
  if (is_too_large) fail(where, "has more elements than memory can hold");
  return is_empty ? 0 : count;
}

Extents extents_of(const TensorProto& proto) {
  return Extents(std::span<const std::int64_t>(proto.dims().data(), static_cast<std::size_t>(proto.dims_size())));
}

/// Widens integers as they lie in a file.
template <class T>
void widen(const char* bytes, std::int64_t count, std::int64_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    out[i] = static_cast<std::int64_t>(value);  // NOLINT(bugprone-signed-char-misuse): numbers, not letters
  }
}

Tensor from_bytes(int onnx_type, const Extents& extents, std::int64_t count, const char* bytes) {
  Tensor tensor(*element_type_of(onnx_type), extents);
  auto* integers = tensor.data<std::int64_t>();
  switch (onnx_type) {
    case TensorProto::INT32: widen<std::int32_t>(bytes, count, integers); break;
    case TensorProto::UINT32: widen<std::uint32_t>(bytes, count, integers); break;
    case TensorProto::INT16: widen<std::int16_t>(bytes, count, integers); break;
    case TensorProto::UINT16: widen<std::uint16_t>(bytes, count, integers); break;
    case TensorProto::INT8: widen<std::int8_t>(bytes, count, integers); break;
    case TensorProto::UINT8: widen<std::uint8_t>(bytes, count, integers); break;
    case TensorProto::BOOL:
      widen<std::uint8_t>(bytes, count, integers);
      std::for_each_n(integers, count, [](std::int64_t& each) { each = each != 0 ? 1 : 0; });
      break;
    default:
      if (count > 0)
        std::memcpy(tensor.ref().data(), bytes, static_cast<std::size_t>(count) * stored_size_of(onnx_type));
  }
  return tensor;
}

/// From a field that has an entry for each element.
template <class Field, class Convert>
void take_entries(const std::string& where, const Field& field, std::int64_t count, const Convert& convert) {
  if (field.size() != count) fail(where, "has ", field.size(), " elements, but extents for ", count);
  for (std::int64_t i = 0; i < count; ++i) convert(i, field.Get(static_cast<int>(i)));
}

template <class T>
Tensor from_field(const std::string& where, ElementType type, const Extents& extents, std::int64_t count,
                  const google::protobuf::RepeatedField<T>& field) {
  // Before anything is allocated.
  if (field.size() != count) fail(where, "has ", field.size(), " elements, but extents for ", count);
  Tensor tensor(type, extents);
  switch (type) {
    case ElementType::f64:
      take_entries(where, field, count,
                   [&](std::int64_t i, T value) { tensor.data<double>()[i] = static_cast<double>(value); });
      break;
    case ElementType::f32:
      take_entries(where, field, count,
                   [&](std::int64_t i, T value) { tensor.data<float>()[i] = static_cast<float>(value); });
      break;
    case ElementType::f16:
    case ElementType::bf16:  // their bits, in integers of 32
      take_entries(where, field, count, [&](std::int64_t i, T value) {
        if (!(value >= 0 && value <= UINT16_MAX))
          fail(where, "has the element ", value, ", which has more than 16 bits");
        tensor.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(value);
      });
      break;
    case ElementType::i64:
      take_entries(where, field, count,
                   [&](std::int64_t i, T value) { tensor.data<std::int64_t>()[i] = static_cast<std::int64_t>(value); });
  }
  return tensor;
}

/// Where elements outside of a file lie.
struct ExternalPlace {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t parse_count(const std::string& where, const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) {
    fail(where, "has the ", key, " '", shown(text), "', expected a number of bytes");
  }
  return value;
}

ExternalPlace external_place(const std::string& where, const TensorProto& proto) {
  ExternalPlace place;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = parse_count(where, "offset", entry.value());
    if (entry.key() == "length") place.length = parse_count(where, "length", entry.value());
  }
  if (place.location.empty()) fail(where, "lies outside of the file, but nothing says where");
  return place;
}

/// The path of a file in the folder. Throws Error where it leads out of it, by its name or by links.
std::filesystem::path path_within(const std::string& where, const std::filesystem::path& folder,
                                  const std::string& location) {
  const std::filesystem::path relative(location);
  const bool leads_out = relative.is_absolute() || location.find('\0') != std::string::npos ||
                         std::any_of(relative.begin(), relative.end(), [](const auto& part) { return part == ".."; });
  std::error_code problem;
  const std::filesystem::path root = std::filesystem::canonical(folder, problem);
  if (problem) fail(where, "lies in the folder '", folder.string(), "': ", problem.message());
  const std::filesystem::path path = leads_out ? root : std::filesystem::weakly_canonical(root / relative, problem);
  const auto [last, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (leads_out || problem || last != root.end()) {
    fail(where, "lies in '", shown(location), "', which leads out of the folder of the file");
  }
  return path;
}

Tensor read_external(const std::string& where, const TensorProto& proto, std::int64_t count,
                     const std::filesystem::path& folder, ElementBudget& budget) {
  const ExternalPlace place = external_place(where, proto);
  if (folder.empty()) fail(where, "lies in '", shown(place.location), "', but no folder was given");
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * stored_size_of(proto.data_type());
  if (place.length.value_or(bytes) != bytes) {
    fail(where, "has ", *place.length, " bytes, but extents for ", bytes);
  }
  const std::filesystem::path path = path_within(where, folder, place.location);
  const OldFile file(where + "its elements in '" + shown(place.location) + "': ", path);
  if (place.offset > file.bytes() || bytes > file.bytes() - place.offset) {
    fail(where, "lies from byte ", place.offset, " on in '", shown(place.location), "' and has ", bytes,
         " bytes, but that ends at ", file.bytes());
  }
  budget.add_file(path.string(), file.bytes());
  budget.take(where, 2 * bytes);
  std::string data(bytes, '\0');
  file.read(data.data(), data.size(), place.offset);
  return from_bytes(proto.data_type(), extents_of(proto), count, data.data());
}

Tensor read_fields(const std::string& where, const TensorProto& proto, std::int64_t count) {
  const int type = proto.data_type();
  const ElementType own = *element_type_of(type);
  const Extents extents = extents_of(proto);
  if (type == TensorProto::DOUBLE) return from_field(where, own, extents, count, proto.double_data());
  if (type == TensorProto::FLOAT) return from_field(where, own, extents, count, proto.float_data());
  if (type == TensorProto::INT64) return from_field(where, own, extents, count, proto.int64_data());
  const Tensor tensor = type == TensorProto::UINT32 ? from_field(where, own, extents, count, proto.uint64_data())
                                                    : from_field(where, own, extents, count, proto.int32_data());
  for (std::int64_t i = 0; i < count && own == ElementType::i64; ++i) {
    std::int64_t& each = tensor.data<std::int64_t>()[i];
    if (type == TensorProto::BOOL) each = each != 0 ? 1 : 0;
    if (!has_integer(type, each)) fail(where, "has the element ", each, ", which is no ", name_of_onnx_type(type));
  }
  return tensor;
}

template <class F>
void with_float_type(ElementType type, const F& f) {
  // NOLINTBEGIN(bugprone-branch-clone): calls of other types
  switch (type) {
    case ElementType::f64: f(double()); break;
    case ElementType::f32: f(float()); break;
    case ElementType::f16: f(f16(0.0f)); break;
    case ElementType::bf16: f(bf16(0.0f)); break;
    case ElementType::i64: break;
  }
  // NOLINTEND(bugprone-branch-clone)
}

}  // namespace

std::optional<ElementType> element_type_of(int onnx_type) {
  switch (onnx_type) {
    case TensorProto::DOUBLE: return ElementType::f64;
    case TensorProto::FLOAT: return ElementType::f32;
    case TensorProto::FLOAT16: return ElementType::f16;
    case TensorProto::BFLOAT16: return ElementType::bf16;
    default: return stored_size_of(onnx_type) != 0 ? std::optional(ElementType::i64) : std::nullopt;
  }
}

bool has_integer(int onnx_type, std::int64_t value) {
  switch (onnx_type) {
    case TensorProto::BOOL: return value == 0 || value == 1;
    case TensorProto::INT8: return value >= INT8_MIN && value <= INT8_MAX;
    case TensorProto::UINT8: return value >= 0 && value <= UINT8_MAX;
    case TensorProto::INT16: return value >= INT16_MIN && value <= INT16_MAX;
    case TensorProto::UINT16: return value >= 0 && value <= UINT16_MAX;
    case TensorProto::INT32: return value >= INT32_MIN && value <= INT32_MAX;
    case TensorProto::UINT32: return value >= 0 && value <= UINT32_MAX;
    default: return onnx_type == TensorProto::INT64;
  }
}

int onnx_type_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return TensorProto::DOUBLE;
    case ElementType::f32: return TensorProto::FLOAT;
    case ElementType::f16: return TensorProto::FLOAT16;
    case ElementType::bf16: return TensorProto::BFLOAT16;
    case ElementType::i64: break;
  }
  return TensorProto::INT64;
}

std::string name_of_onnx_type(int onnx_type) {
  if (!onnx::TensorProto_DataType_IsValid(onnx_type)) return "type " + std::to_string(onnx_type);
  std::string name = onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(onnx_type));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each; });
  return name;
}

void ElementBudget::take(const std::string& where, std::uint64_t bytes) {
  if (bytes > bytes_) fail(where, "makes more of the file than eight times its bytes and 64 MiB");
  bytes_ -= bytes;
}

void ElementBudget::add_file(const std::string& path, std::uint64_t file_bytes) {
  if (files_.insert(path).second) bytes_ += 4 * std::min(file_bytes, UINT64_MAX / 64);
}

Tensor read_elements(const std::string& where, const TensorProto& proto, const std::filesystem::path& folder,
                     ElementBudget& budget) {
  if (!element_type_of(proto.data_type())) {
    fail(where, "is of ", name_of_onnx_type(proto.data_type()),
         ", expected float, double, float16, bfloat16 or integers");
  }
  if (proto.has_segment()) fail(where, "is a part of a tensor");
  const std::int64_t count = count_of(where, proto);
  if (proto.data_location() == TensorProto::EXTERNAL) return read_external(where, proto, count, folder, budget);
  if (!proto.has_raw_data()) {
    Tensor tensor = read_fields(where, proto, count);
    budget.take(where, bytes_of(tensor));
    return tensor;
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * stored_size_of(proto.data_type());
  if (proto.raw_data().size() != bytes) {
    fail(where, "has ", proto.raw_data().size(), " bytes, but extents for ", bytes);
  }
  budget.take(where, static_cast<std::uint64_t>(count) * size_of(*element_type_of(proto.data_type())));
  return from_bytes(proto.data_type(), extents_of(proto), count, proto.raw_data().data());
}

void write_elements(const TensorRef& tensor, TensorProto& proto) {
  proto.set_data_type(onnx_type_of(tensor.type()));
  for (const std::int64_t extent : tensor.extents()) proto.add_dims(extent);
  proto.set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.size()) * size_of(tensor.type()));
}

Tensor number_tensor(double number) {
  Tensor tensor(ElementType::f64, {});
  *tensor.data<double>() = number;
  return tensor;
}

Tensor integers_tensor(const std::vector<std::int64_t>& values) {
  Tensor tensor(ElementType::i64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.data<std::int64_t>());
  return tensor;
}

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  const auto* begin = tensor.data<std::int64_t>();
  return {begin, begin + tensor.ref().size()};
}

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.ref().size()));
  if (tensor.ref().type() == ElementType::i64) {
    std::copy_n(tensor.data<std::int64_t>(), numbers.size(), numbers.begin());
    return numbers;
  }
  with_float_type(tensor.ref().type(), [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(tensor.data<T>()[i]);
  });
  return numbers;
}

Tensor with_extents(const Tensor& tensor, const Extents& extents) {
  Tensor other(tensor.ref().type(), extents);
  const std::size_t bytes = static_cast<std::size_t>(tensor.ref().size()) * size_of(tensor.ref().type());
  if (bytes > 0) std::memcpy(other.ref().data(), tensor.ref().data(), bytes);
  return other;
}

Tensor converted(const Tensor& tensor, ElementType type) {
  const std::vector<double> numbers = numbers_of(tensor);
  Tensor other(type, tensor.ref().extents());
  with_float_type(type, [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t i = 0; i < numbers.size(); ++i) other.data<T>()[i] = static_cast<T>(numbers[i]);
  });
  return other;
}

}  // namespace portops::impl
