// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/operator_call.hpp"

#include "c_api/tensors.hpp"
#include "core/types/fail.hpp"

#include <algorithm>
#include <cstring>

namespace portops::impl {

void OperatorCall::read_options(const void* given, void* options, std::size_t known) const {
  constexpr std::size_t member = 8;
  constexpr std::size_t most = 4096;  // no version has as many options: it is the size that is wrong
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size < member || size > most || size % member != 0) {
    fail(where_, ": options has size ", size, ", expected ", known, ", to which its initialiser sets it");
  }
  const char* bytes = static_cast<const char*>(given);
  if (size > known && std::any_of(bytes + known, bytes + size, [](char byte) { return byte != 0; })) {
    fail(where_, ": options has size ", size, ", expected ", known,
         ": it sets options that this version of the library does not know");
  }
  std::memcpy(options, given, std::min(size, known));
}

TensorRef OperatorCall::tensor(std::string_view name, const DLTensor* tensor) const {
  TensorRef result = tensor_of(where_, name, tensor);
  check_device(where_, name, context(), device_of(tensor));
  return result;
}

TensorOrNumber OperatorCall::operand(std::string_view name, const portops_operand& operand) const {
  if (operand.tensor == nullptr) return operand.number;
  return tensor(name, operand.tensor);
}

RaggedRef OperatorCall::ragged(std::string_view name, const DLTensor* values, portops_levels levels) const {
  return {tensor(name, values), levels_of(where_, std::string(name) + "_levels", levels)};
}

std::vector<TensorRef> OperatorCall::list(std::string_view name, const DLTensor* const* tensors,
                                          std::size_t count) const {
  std::vector<TensorRef> result = list_of(where_, name, tensors, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (const int device = device_of(tensors[i]); device != -1) {
      check_device(where_, item_name(name, i), context(), device);
    }
  }
  return result;
}

std::vector<RaggedRef> OperatorCall::ragged_list(std::string_view name, const DLTensor* const* values,
                                                 std::size_t count, const portops_levels* levels) const {
  const std::string levels_name = std::string(name) + "_levels";
  const std::vector<TensorRef> tensors = list(name, values, count);
  check_list_pointer(where_, levels_name, levels, count);
  std::vector<RaggedRef> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back({tensors[i], levels_of(where_, item_name(levels_name, i), levels[i])});
  }
  return result;
}

std::vector<std::int64_t> OperatorCall::integers(std::string_view name, const std::int64_t* items,
                                                 std::size_t count) const {
  check_list_pointer(where_, name, items, count);
  return {items, items + count};
}

std::vector<std::int64_t> OperatorCall::integers(std::string_view name, const std::int64_t* items, std::size_t count,
                                                 const std::vector<std::int64_t>& otherwise) const {
  return items == nullptr ? otherwise : integers(name, items, count);
}

std::string OperatorCall::text(std::string_view name, const char* text) const {
  check_pointer(where_, name, text);
  return text;
}

}  // namespace portops::impl
