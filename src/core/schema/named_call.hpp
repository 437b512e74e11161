// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "core/schema/registry.hpp"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace portops::impl {

/// A call by name whose arguments fit the schema: those that must be given are there, all are of their type, and
/// defaults stand for those that were left out. Outputs may still be missing.
class NamedCall {
 public:
  /// Throws Error where the arguments do not fit. They must live as long as this does.
  NamedCall(const OperatorInfo& info, const Arguments& arguments);
  /// Takes the outputs that the arguments have got since. Throws Error where they do not fit.
  void take_outputs();
  const OperatorInfo& info() const { return info_; }

  /// Throws Error when an output that must be given is not.
  void check_outputs() const;

  /// An input or output; empty when it was left out or is a number.
  const TensorRef& tensor(std::string_view name) const;
  /// An input or output that is a list; empty when it was left out.
  std::span<const TensorRef> list(std::string_view name) const;
  /// An input that may be a number.
  const TensorOrNumber& tensor_or_number(std::string_view name) const { return *arguments_.tensor(name); }
  /// An input that is levels alone.
  Levels levels(std::string_view name) const { return arguments_.levels(name); }
  /// An input that is, or may be, ragged.
  RaggedRef ragged(std::string_view name) const { return {tensor(name), levels(name)}; }
  /// An input that is a list of ragged tensors.
  std::vector<RaggedRef> ragged_list(std::string_view name) const;
  template <class T>
  const T& attribute(std::string_view name) const {
    return std::get<T>(*arguments_.attribute(name));
  }

  /// Of all tensors of the call but those of a type of their own.
  ElementType type() const;
  /// Of the parameters, which is that of the first one that is given.
  ElementType type_of_parameters() const;
  /// Of an input or output.
  template <class Info>
  ElementType type_of(const Info& info) const {
    if (info.type_of_sums) return sum_type(type());
    if (info.type_of_parameters) return type_of_parameters();
    if constexpr (requires { info.type_unless; }) {
      if (!info.type_unless.empty() && attribute<bool>(info.type_unless)) return type();
    }
    return info.type ? *info.type : type();
  }
  /// The extents of an input; [] for a number.
  const Extents& extents(std::string_view name) const { return tensor(name).extents(); }
  /// The extents of the tensors of a list.
  std::vector<Extents> list_extents(std::string_view name) const;
  /// The extents to which the inputs broadcast. Throws Error when they do not.
  Extents broadcast(std::initializer_list<std::string_view> names) const;
  /// The extents of an input without the axes that the attributes axis, keepdim and asvector name. Throws Error when
  /// axis does not fit.
  Extents reduced(std::string_view name) const;
  /// The extents of the tensors of a list one behind the other along the attribute axis. Throws Error when they do not
  /// fit each other, or axis does not.
  Extents joined(std::string_view name) const;
  /// The extents of the parts into which the attributes sections and axis divide an input. Throws Error when they do
  /// not fit.
  std::vector<Extents> divided(std::string_view name) const;
  /// The levels of the first input that has some.
  Levels shared_levels(std::initializer_list<std::string_view> names) const;
  /// The levels of the tensors of a list.
  std::vector<Levels> list_levels(std::string_view name) const { return *given_.list_levels(name); }
  /// Throws Error when an output has levels for another number of rows than it has.
  void check_levels(std::string_view output, const Extents& extents, const Levels& levels) const;
  /// Throws Error when an input has other extents than its shape rule gives.
  void check_extents(std::string_view name, const Extents& expected, std::string_view rule) const;
  /// The same of a list, which may have been left out, and of how many tensors it has.
  void check_extents(std::string_view name, const std::vector<Extents>& expected, std::string_view rule) const;

 private:
  void check_name(const std::string& name) const;
  void check_names(const Arguments& given) const;
  void take_input(const InputInfo& input, const Arguments& given);
  void take_list(std::string_view name, bool optional, const Arguments& given) const;
  void take_attribute(const AttributeInfo& attribute, const Arguments& given);
  void take_output(const OutputInfo& output, const Arguments& given);
  void take_levels(const InputInfo& input, const Arguments& given);
  void take_list_levels(const InputInfo& input, const Arguments& given) const;
  void check_types() const;

  void check_type(const InputInfo& input, std::string_view name, const TensorRef& given) const;
  /// The input that has the call's element type, and so do all others without a type of their own.
  const InputInfo& typed_input() const;

  const OperatorInfo& info_;
  const Arguments& given_;  ///< has the lists, which may be too long to copy
  Arguments arguments_;
};

}  // namespace portops::impl
