// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/registry.hpp"
#include "portops/core/tensor.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Programs: calls of operators on named values, with element types, extents and levels. They know nothing of backends
// and memory; <portops/graph/compile.hpp> makes of one what runs.

namespace portops::graph {

/// A value of a program, by its number in Program::values(). A default-constructed one is none.
struct ValueId {
  std::int32_t index = -1;

  explicit operator bool() const { return index >= 0; }
  friend bool operator==(ValueId, ValueId) = default;
};

/// Where a value comes from: who runs the program gives it, the program holds its elements, or a call makes it.
enum class Origin : std::uint8_t { input, constant, call };

/// Each value is made once and never changes: a call that works in place gives a value of its own.
struct ValueInfo {
  std::string name;  ///< no other value of the program has it
  ElementType type = ElementType::f32;
  Extents extents;
  Levels levels = {};  ///< of a ragged tensor
  Origin origin = Origin::call;
  std::int32_t call = -1;  ///< of a value that a call makes: which one, by its number in Program::calls()
  Tensor elements = {};    ///< of a constant, in any memory space; copies of the program share them
};

/// What a call is given for an input, and gives for an output: a value, a number that stands for a tensor of extents
/// [], a list of values, or levels alone. In a list of outputs that may be left out, one that is none is left out.
class Operand {
 public:
  Operand(ValueId value) : content_(value) {}                                            // NOLINT: implicit by design
  Operand(double number) : content_(number) {}                                           // NOLINT: as above
  Operand(std::vector<ValueId> list) : content_(std::move(list)) {}                      // NOLINT: as above
  Operand(std::initializer_list<ValueId> list) : Operand(std::vector<ValueId>(list)) {}  // NOLINT: as above
  Operand(Levels levels) : content_(std::move(levels)) {}                                // NOLINT: as above

  bool is_value() const { return std::holds_alternative<ValueId>(content_); }
  bool is_number() const { return std::holds_alternative<double>(content_); }
  bool is_list() const { return std::holds_alternative<std::vector<ValueId>>(content_); }
  bool is_levels() const { return std::holds_alternative<Levels>(content_); }

  // Throw std::bad_variant_access where it is something else.
  ValueId value() const { return std::get<ValueId>(content_); }
  double number() const { return std::get<double>(content_); }
  const std::vector<ValueId>& list() const { return std::get<std::vector<ValueId>>(content_); }
  const Levels& levels() const { return std::get<Levels>(content_); }

  /// The values in it, in their order: one, those of a list, or none. Those that were left out are none.
  PORTOPS_EXPORT std::vector<ValueId> values() const;

 private:
  std::variant<ValueId, double, std::vector<ValueId>, Levels> content_;
};

struct NamedOperand {
  std::string name;
  Operand operand;
};

/// A call of an operator, as a program holds it.
struct Call {
  std::string op;
  std::string place = {};                  ///< where it came from, such as the node of a file, for messages; or empty
  std::vector<NamedOperand> inputs = {};   ///< those that are given, in the schema's order
  std::vector<NamedOperand> outputs = {};  ///< those that are computed, in the schema's order
  std::map<std::string, Attribute, std::less<>> attributes = {};  ///< all of them, each of the schema's type

  /// Null where it is not given, or not computed.
  PORTOPS_EXPORT const Operand* input(std::string_view name) const;
  PORTOPS_EXPORT const Operand* output(std::string_view name) const;
  /// The output of that name. Throws Error where it is a list or not computed.
  PORTOPS_EXPORT ValueId result(std::string_view name) const;
  /// The same of a list.
  PORTOPS_EXPORT const std::vector<ValueId>& results(std::string_view name) const;
};

/// A call to be added to a program.
struct CallRequest {
  std::string op;
  std::map<std::string, Operand, std::less<>> inputs;             ///< one that is no value is not given
  std::map<std::string, Attribute, std::less<>> attributes = {};  ///< those left out have the schema's defaults
  std::vector<std::string> wanted = {};  ///< the outputs that may be left out and are to be computed
  std::string place = {};                ///< as in Call
};

/// A result of a program.
struct ProgramOutput {
  std::string name;
  ValueId value;
  ValueId over = {};  ///< the input in whose memory it is left when the program has run; or none: it has its own
};

/// Inputs, constants, calls in an order in which they can run, and outputs. Whatever is added is checked then: what
/// could not be called throws Error, and the program is what it was before. Copies are independent, but share the
/// elements of constants.
class Program {
 public:
  /// A value that is given to each run. Throws Error when the name is empty or taken, an extent is negative, or the
  /// levels are those of other rows.
  PORTOPS_EXPORT ValueId add_input(std::string_view name, ElementType type, const Extents& extents,
                                   const Levels& levels = {});
  /// A value whose elements the program holds: they must not change afterwards. Throws Error as add_input does, and
  /// when the tensor is empty (not given).
  PORTOPS_EXPORT ValueId add_constant(std::string_view name, const Tensor& elements, const Levels& levels = {});
  /// A call on values that are there; the element types, extents and levels of its outputs are inferred by the schema's
  /// rules. Values that it makes are called OP_NUMBER.OUTPUT, or OP_NUMBER where it makes one alone. Throws Error when
  /// there is no such operator, and what portops::infer throws; messages begin with "portops::graph::Program: call
  /// NUMBER (PLACE)". The reference is valid until the next call is added.
  PORTOPS_EXPORT const Call& add_call(const CallRequest& request);
  /// The same of an operator with one output that is always computed, and is no list: that output.
  PORTOPS_EXPORT ValueId call(std::string_view op, std::map<std::string, Operand, std::less<>> inputs,
                              std::map<std::string, Attribute, std::less<>> attributes = {});
  /// Has a call compute an output that it may leave out, if it does not yet: that output. Throws Error when there is no
  /// such call or output, when it is a list, and when it cannot be computed.
  PORTOPS_EXPORT ValueId also_compute(std::int32_t call, std::string_view output);
  /// Names a result. With `over` it takes the place of an input: what a step makes of a parameter. A value may be a
  /// result more than once, and may be an input or a constant. Throws Error when the name is empty or another result
  /// has it; when `over` is no input, has another element type or other extents, or another result is left there.
  PORTOPS_EXPORT void add_output(std::string_view name, ValueId value, ValueId over = {});
  /// Gives a value another name. Throws Error when it is empty or taken.
  PORTOPS_EXPORT void rename(ValueId value, std::string_view name);

  const std::vector<ValueInfo>& values() const { return values_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<ProgramOutput>& outputs() const { return outputs_; }

  /// Throws Error where there is no such value.
  PORTOPS_EXPORT const ValueInfo& value(ValueId value) const;
  /// The value of that name, or none.
  PORTOPS_EXPORT ValueId find(std::string_view name) const;

  /// A line for each input, constant, call and output:
  ///
  ///   input x: f32 [8, 4]
  ///   constant w: f32 [4, 3]
  ///   linear_0: f32 [8, 3] = linear(x = x, weight = w)
  ///   relu_1: f32 [8, 3] = relu(x = linear_0)
  ///   output y = relu_1
  ///
  /// Names are shown without control characters, and cut behind 120 bytes.
  PORTOPS_EXPORT std::string to_string() const;
  /// The same as a picture, in Graphviz' language: `dot -Tsvg`.
  PORTOPS_EXPORT std::string to_dot() const;

 private:
  ValueId add_value(ValueInfo info);
  std::string free_name(const std::string& wished) const;

  std::vector<ValueInfo> values_;
  std::vector<ValueId> inputs_;
  std::vector<Call> calls_;
  std::vector<ProgramOutput> outputs_;
  std::map<std::string, ValueId, std::less<>> names_;
  std::set<std::string, std::less<>> output_names_;
  std::map<std::int32_t, std::size_t> left_in_;  ///< of inputs the outputs that are left in them
};

/// The arguments of a call by name, of tensors without data: what portops::infer takes. Throws Error where an operand
/// is no value of the program.
PORTOPS_EXPORT Arguments arguments_of(const Program& program, const CallRequest& request);

}  // namespace portops::graph
