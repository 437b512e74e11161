// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace portops::test {

/// The arguments of a call of the C interface, by name. The build makes from the schema what hands them to the
/// functions.
class NamedValues {
 public:
  std::map<std::string, std::vector<DLTensor*>> tensors;  ///< one, or those of a list
  std::map<std::string, std::vector<portops_levels>> all_levels;
  std::map<std::string, double> numbers;  ///< of all attributes that are single numbers
  std::map<std::string, std::vector<std::int64_t>> all_integers;
  std::map<std::string, std::string> texts;

  const DLTensor* tensor(const std::string& name) const { return output(name); }
  DLTensor* output(const std::string& name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : found->second.front();
  }
  portops_operand operand(const std::string& name) const { return portops_tensor(tensor(name)); }
  const DLTensor* const* list(const std::string& name) const { return outputs(name); }
  DLTensor* const* outputs(const std::string& name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : found->second.data();
  }
  std::size_t count(const std::string& name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? 0 : found->second.size();
  }
  portops_levels levels(const std::string& name) const {
    const portops_levels* all = list_levels(name);
    return all == nullptr ? nullptr : *all;
  }
  const portops_levels* list_levels(const std::string& name) const {
    const auto found = all_levels.find(name);
    return found == all_levels.end() ? nullptr : found->second.data();
  }

  // Those that were not set are left as they are.
  template <class Number>
  void get(const std::string& name, Number& number) const {
    if (const auto found = numbers.find(name); found != numbers.end()) number = static_cast<Number>(found->second);
  }
  void get(const std::string& name, const char*& text) const {
    if (const auto found = texts.find(name); found != texts.end()) text = found->second.c_str();
  }
  void get(const std::string& name, const std::int64_t*& items, std::size_t& count) const {
    if (const auto found = all_integers.find(name); found != all_integers.end()) {
      items = found->second.data();
      count = found->second.size();
    }
  }
};

using OperatorFunction = portops_status (*)(portops_context ctx, const NamedValues& values);

/// Of all operators of the build; made from the schema.
const std::map<std::string, OperatorFunction>& operator_functions();

}  // namespace portops::test
