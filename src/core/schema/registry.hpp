// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// The operators by name: what src/ops/ops.yaml declares, and a way to call an operator whose name is known at run time
// only.

namespace portops {

/// The value of an attribute: `boolean`, `integer`, `number`, `integers` or `text` in the schema, in this order. An
/// integer does for a number, and so does a text that the schema names.
using Attribute = std::variant<bool, std::int64_t, double, std::vector<std::int64_t>, std::string>;
enum class AttributeType : std::uint8_t { boolean, integer, number, integers, text };

/// What an input has to do with levels: nothing; it is ragged always, or may be; it is levels alone; or it may be
/// ragged, but the operator takes its values alone.
enum class Ragged : std::uint8_t { no, always, optional, levels, values };

struct InputInfo {
  std::string name;
  std::string description;
  bool list = false;                     ///< a list of tensors, one or more
  bool optional = false;                 ///< may be left out
  bool or_number = false;                ///< a number may stand for the tensor
  std::optional<double> default_number;  ///< the number that stands for it when it is left out
  std::string shape_rule;                ///< such as "broadcast(x, y, weight)"; empty: the other inputs do not fix it
  std::optional<ElementType> type = {};  ///< i64 or f64; none: the one element type of the call
  /// The boolean attribute that, when true, gives it the type of the call after all; or empty.
  std::string type_unless = {};
  bool type_of_sums = false;        ///< in place of `type`: f64 in a call of f64, else f32
  bool type_of_parameters = false;  ///< or the call's or that of sums, as the first of these that is given
  Ragged ragged = Ragged::no;
};

struct AttributeInfo {
  std::string name;
  std::string description;
  AttributeType type = AttributeType::number;
  std::optional<Attribute> default_value;             ///< none: it must be given
  std::vector<std::pair<std::string, double>> names;  ///< texts that stand for numbers
};

struct OutputInfo {
  std::string name;
  std::string description;
  bool list = false;         ///< a list of tensors; of an optional output, each may be left out
  std::string shape_rule;    ///< such as "broadcast(x, y, weight)"
  bool optional = false;     ///< may be left out, and then costs nothing
  std::string needs_tensor;  ///< the input that must be given as a tensor for this output to be wanted; or empty
  std::optional<ElementType> type = {};  ///< i64 or f64; none: the one element type of the call
  bool type_of_sums = false;             ///< in place of that: f64 in a call of f64, else f32
  bool type_of_parameters = false;       ///< or that of the inputs of this kind
  std::string levels_rule = {};          ///< "share(x)", "changes" or "drops"; empty where no input is ragged
};

struct OperatorInfo {
  std::string name;
  std::string brief;
  std::string formula;
  std::string details;
  std::vector<InputInfo> inputs;
  std::vector<AttributeInfo> attributes;
  std::vector<OutputInfo> outputs;
  std::string backward;  ///< the operator that computes the gradients; empty if there is none
  std::vector<std::pair<std::string, std::string>> inplace;  ///< (input, output) pairs that may be the same tensor
  std::vector<std::string> no_need_buffer;  ///< inputs of which only the extents are read; see `no_need_buffer_unless`
  std::string no_need_buffer_unless;        ///< the output that, when wanted, needs those inputs' elements after all
  std::string no_need_buffer_attribute;     ///< the attribute that decides whether those inputs' elements are needed
};

/// The arguments of a call by name. Setting one again replaces it.
class Arguments {
 public:
  /// An input (a tensor, or a number where the schema allows one) or an output (a tensor). An empty TensorRef is an
  /// argument that is not given.
  PORTOPS_EXPORT Arguments& set(std::string_view name, const TensorOrNumber& value);
  /// An input or output that is a list of tensors. An empty list is an argument that is not given.
  PORTOPS_EXPORT Arguments& set(std::string_view name, std::span<const TensorRef> list);
  PORTOPS_EXPORT Arguments& set(std::string_view name, Attribute value);
  /// The levels of an input: beside its tensor, or alone. No levels are levels that are not given.
  PORTOPS_EXPORT Arguments& set(std::string_view name, const Levels& levels);
  /// The tensor and the levels of an input.
  PORTOPS_EXPORT Arguments& set(std::string_view name, const RaggedRef& value);
  /// An input that is a list of ragged tensors.
  PORTOPS_EXPORT Arguments& set(std::string_view name, std::span<const RaggedRef> list);
  /// An attribute, or an input for which the schema allows a number.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Arguments& set(std::string_view name, Number value) {
    if constexpr (std::same_as<Number, bool>) {
      return set(name, Attribute(value));
    } else if constexpr (std::integral<Number>) {
      return set(name, Attribute(static_cast<std::int64_t>(value)));
    } else {
      return set(name, Attribute(static_cast<double>(value)));
    }
  }

  /// What was set as a tensor or TensorOrNumber; null when there is none of that name.
  PORTOPS_EXPORT const TensorOrNumber* tensor(std::string_view name) const;
  /// What was set as a list of tensors; null when there is none of that name.
  PORTOPS_EXPORT const std::vector<TensorRef>* list(std::string_view name) const;
  /// The levels that were set; no levels when there are none of that name.
  PORTOPS_EXPORT Levels levels(std::string_view name) const;
  /// The levels of a list of ragged tensors; null when there is none of that name.
  PORTOPS_EXPORT const std::vector<Levels>* list_levels(std::string_view name) const;
  bool has_list_levels() const { return !list_levels_.empty(); }
  /// What was set as any other value; null when there is none of that name.
  PORTOPS_EXPORT const Attribute* attribute(std::string_view name) const;

  const std::map<std::string, TensorOrNumber, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::vector<TensorRef>, std::less<>>& lists() const { return lists_; }
  const std::map<std::string, Levels, std::less<>>& levels() const { return levels_; }
  const std::map<std::string, Attribute, std::less<>>& attributes() const { return attributes_; }

 private:
  std::map<std::string, TensorOrNumber, std::less<>> tensors_;
  std::map<std::string, std::vector<TensorRef>, std::less<>> lists_;
  std::map<std::string, Levels, std::less<>> levels_;
  std::map<std::string, std::vector<Levels>, std::less<>> list_levels_;
  std::map<std::string, Attribute, std::less<>> attributes_;
};

/// The element type and extents of an output, and its levels where it is ragged; of one that is a list, those of its
/// tensors.
struct TensorSpec {
  ElementType type;
  Extents extents;
  std::vector<Extents> list = {};
  Levels levels = {};
  std::vector<Levels> list_levels = {};
};

/// All operators, in the order of the schema.
PORTOPS_EXPORT std::span<const OperatorInfo> operators();

/// Throws Error when there is no operator of that name; the message names the closest ones.
PORTOPS_EXPORT const OperatorInfo& find_operator(std::string_view name);

/// What every output of the call would be, by the schema's shape rules, whether `arguments` has it or not; an output
/// like an input that is a number or left out has the extents []. Throws Error on a missing, unknown or mistyped
/// argument, on element types that differ, on extents that do not fit, and where an output would share the levels of
/// another number of rows than it has, as those of an input that is broadcast along its rows.
PORTOPS_EXPORT std::map<std::string, TensorSpec, std::less<>> infer(std::string_view name, const Arguments& arguments);

/// Calls the operator. Optional outputs that are not set are not computed. Throws what infer and the operator throw.
PORTOPS_EXPORT void run(std::string_view name, const Context& ctx, const Arguments& arguments);

}  // namespace portops
