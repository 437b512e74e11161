// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/node_reader.hpp"

#include "core/types/shown.hpp"
#include "graph/onnx/elements.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <variant>

namespace portops::impl {
namespace {

/// Calls and what they are given. One node may make hundreds of them, so that nodes alone bound no memory.
constexpr std::size_t most_operands = 1'000'000;

std::string place_of(const Scope& scope, const onnx::NodeProto& node) {
  std::string place = scope.prefix + "node";
  if (!node.name().empty()) place += " '" + shown(node.name()) + "'";
  return place + " (" + shown(node.op_type()) + ")";
}

/// The node with attributes of its own alone: references are replaced by what the call of the function gives, or left
/// out where it gives nothing. Nodes of functions are copied at every call, and count as often, before they are.
onnx::NodeProto with_attributes(ReadTarget& target, const Scope& scope, const onnx::NodeProto& node,
                                const std::string& place) {
  const auto take = [&](std::uint64_t bytes) { target.budget.take(target.where + place + ": ", bytes); };
  if (!scope.prefix.empty()) take(node.ByteSizeLong());
  onnx::NodeProto copy = node;
  const auto is_reference = [](const onnx::AttributeProto& each) { return !each.ref_attr_name().empty(); };
  if (std::none_of(node.attribute().begin(), node.attribute().end(), is_reference)) return copy;
  copy.clear_attribute();
  for (const onnx::AttributeProto& each : node.attribute()) {
    if (!is_reference(each)) {
      *copy.add_attribute() = each;
      continue;
    }
    const auto given = scope.attributes.find(each.ref_attr_name());
    if (given == scope.attributes.end()) continue;
    take(given->second->ByteSizeLong());
    onnx::AttributeProto& its = *copy.add_attribute();
    its = *given->second;
    its.set_name(each.name());
  }
  return copy;
}

}  // namespace

NodeReader::NodeReader(ReadTarget& target, Scope& scope, const onnx::NodeProto& node, std::int64_t operator_set)
    : target_(target),
      scope_(scope),
      place_(place_of(scope, node)),
      node_(with_attributes(target, scope, node, place_)),
      operator_set_(operator_set) {
  std::set<std::string_view> names;
  for (const onnx::AttributeProto& each : node_.attribute()) {
    if (!names.insert(each.name()).second) refuse("two attributes are named '", shown(each.name()), "'");
  }
}

void NodeReader::take(std::uint64_t bytes) { target_.budget.take(target_.where + place_ + ": ", bytes); }

bool NodeReader::has_input(std::size_t number) const {
  if (number >= inputs()) return false;
  const std::string& name = node_.input(static_cast<int>(number));
  return !name.empty() && (!scope_.not_given.contains(name) || scope_.names.contains(name));
}

bool NodeReader::has_output(std::size_t number) const {
  return number < outputs() && !node_.output(static_cast<int>(number)).empty();
}

Known& NodeReader::find(std::size_t number) {
  if (!has_input(number)) refuse("input ", number, " is not given");
  const std::string& name = node_.input(static_cast<int>(number));
  const auto at = scope_.names.find(name);
  if (at == scope_.names.end()) {
    refuse("reads '", shown(name),
           "', which nothing before it gives: it is missing, or the nodes are in no order in which "
           "they can run");
  }
  Known& known = at->second;
  if (known.proto != nullptr) {
    known.elements =
        read_elements(target_.where + "constant '" + shown(name) + "' ", *known.proto, target_.folder, target_.budget);
    known.proto = nullptr;
  }
  return known;
}

const Known& NodeReader::known(std::size_t number) { return find(number); }

void NodeReader::refuse_root() const {
  refuse("reads a square root that is no part of a layer normalisation, for which alone there is a call");
}

graph::ValueId NodeReader::input(std::size_t number) {
  Known& its = find(number);
  if (its.piece == Piece::deviation) refuse_root();
  if (its.piece != Piece::none)
    refuse("reads an erf that is no part of x · (1 + erf(x / √2)) / 2, for which alone there is a call");
  if (!its.value) its.value = constant(*its.elements, node_.input(static_cast<int>(number)));
  return its.value;
}

const Extents& NodeReader::extents(std::size_t number) {
  const Known& its = find(number);
  if (its.piece == Piece::deviation) refuse_root();  // its extents are not those of x − mean
  return its.elements ? its.elements->ref().extents() : extents_of(its.value);
}

ElementType NodeReader::type(std::size_t number) {
  const Known& its = find(number);
  return its.elements ? its.elements->ref().type() : program().value(its.value).type;
}

const Tensor* NodeReader::elements(std::size_t number) {
  const Known& its = find(number);
  return its.elements ? &*its.elements : nullptr;
}

std::vector<std::int64_t> NodeReader::integers(std::size_t number) {
  const Tensor* its = elements(number);
  if (its == nullptr) {
    refuse("input ", number, ", '", shown(node_.input(static_cast<int>(number))),
           "', is computed when the program runs, expected a constant: extents and axes are fixed when a file is read");
  }
  if (its->ref().type() != ElementType::i64) {
    refuse("input ", number, " is of ", name_of(its->ref().type()), ", expected integers");
  }
  take(bytes_of(*its));  // any number of nodes may read a large one
  return integers_of(*its);
}

void NodeReader::give(std::size_t number, const Known& known) {
  if (!has_output(number)) return;
  const std::string& name = node_.output(static_cast<int>(number));
  if (!scope_.names.emplace(name, known).second) refuse("gives '", shown(name), "', which is there already");
}

void NodeReader::give(std::size_t number, graph::ValueId value) {
  give(number, Known{.value = value});
  if (!has_output(number) || !scope_.prefix.empty()) return;
  // The file's name, where it is a call's only one.
  const std::string& name = node_.output(static_cast<int>(number));
  if (program().value(value).origin == graph::Origin::call && !program().find(name)) program().rename(value, name);
}

void NodeReader::give(std::size_t number, const Tensor& elements) {
  take(bytes_of(elements));
  give(number, Known{.elements = elements});
}

// --- attributes ---------------------------------------------------------------------------------------------

const onnx::AttributeProto* NodeReader::attribute(std::string_view name) const {
  for (const onnx::AttributeProto& each : node_.attribute()) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

std::int64_t NodeReader::integer(std::string_view name, std::int64_t otherwise) const {
  const onnx::AttributeProto* its = attribute(name);
  if (its == nullptr) return otherwise;
  if (its->type() != onnx::AttributeProto::INT) refuse("the attribute ", name, " is no integer");
  return its->i();
}

double NodeReader::number(std::string_view name, double otherwise) const {
  const onnx::AttributeProto* its = attribute(name);
  if (its == nullptr) return otherwise;
  if (its->type() != onnx::AttributeProto::FLOAT) refuse("the attribute ", name, " is no number");
  return static_cast<double>(its->f());
}

std::string NodeReader::text(std::string_view name, const std::string& otherwise) const {
  const onnx::AttributeProto* its = attribute(name);
  if (its == nullptr) return otherwise;
  if (its->type() != onnx::AttributeProto::STRING) refuse("the attribute ", name, " is no text");
  return its->s();
}

std::optional<std::vector<std::int64_t>> NodeReader::integers(std::string_view name) const {
  const onnx::AttributeProto* its = attribute(name);
  if (its == nullptr) return std::nullopt;
  if (its->type() != onnx::AttributeProto::INTS) refuse("the attribute ", name, " is no list of integers");
  return std::vector<std::int64_t>(its->ints().begin(), its->ints().end());
}

// --- helpers ------------------------------------------------------------------------------------------------

const graph::Call& NodeReader::call(const graph::CallRequest& request) {
  ++target_.operands;
  for (const auto& [name, operand] : request.inputs) target_.operands += operand.is_list() ? operand.list().size() : 1;
  const auto sections = request.attributes.find("sections");  // each gives a value
  if (sections != request.attributes.end()) {
    const auto* numbers = std::get_if<std::vector<std::int64_t>>(&sections->second);
    target_.operands += numbers != nullptr ? numbers->size() : 0;
  }
  if (target_.operands > most_operands) {
    refuse("with it the file makes more than ", most_operands,
           " calls and operands, those of functions counted at every call");
  }
  const graph::Call& made = add_call(request);
  take_levels(made);
  return made;
}

const graph::Call& NodeReader::add_call(const graph::CallRequest& request) {
  try {
    return program().add_call(request);
  } catch (const Error& error) {
    // Which call it would have been is of no use to who looks at the file.
    std::string_view message = error.what();
    if (message.starts_with("portops::graph::Program: call ")) message.remove_prefix(message.find(": ", 30) + 2);
    refuse(message);
  }
}

/// Counts the levels that the call has made: a node of a few bytes may make those of any number of sequences again.
void NodeReader::take_levels(const graph::Call& call) {
  const auto is_of_input = [&](const Levels& levels) {
    return std::any_of(call.inputs.begin(), call.inputs.end(), [&](const graph::NamedOperand& input) {
      if (input.operand.is_levels()) return input.operand.levels().data() == levels.data();
      const std::vector<graph::ValueId> values = input.operand.values();
      return std::any_of(values.begin(), values.end(),
                         [&](graph::ValueId each) { return program().value(each).levels.data() == levels.data(); });
    });
  };
  for (const graph::NamedOperand& output : call.outputs) {
    for (const graph::ValueId value : output.operand.values()) {
      if (!value) continue;
      const Levels levels = program().value(value).levels;
      if (!levels || is_of_input(levels)) continue;
      for (int level = 0; level < levels.depth(); ++level) take(8 * levels.offsets(level).size());
    }
  }
}

graph::ValueId NodeReader::call(std::string op, std::map<std::string, graph::Operand, std::less<>> inputs,
                                std::map<std::string, Attribute, std::less<>> attributes) {
  return call({.op = std::move(op), .inputs = std::move(inputs), .attributes = std::move(attributes), .place = place_})
      .result("out");
}

std::string NodeReader::free_name(const std::string& wished) {
  std::string name = wished;
  for (int count = 2; program().find(name); ++count) name = wished + "_" + std::to_string(count);
  return name;
}

Tensor NodeReader::elements_of(const onnx::AttributeProto& attribute) {
  return read_elements(target_.where + place_ + ": the attribute " + shown(attribute.name()) + " ", attribute.t(), {},
                       target_.budget);
}

graph::ValueId NodeReader::constant(const Tensor& elements, const std::string& name) {
  graph::ValueId& its = target_.constants[elements.ref().data()];
  if (its) return its;
  // Names within functions occur at every call.
  const std::string wished =
      name.empty() || !scope_.prefix.empty() ? "constant_" + std::to_string(program().values().size()) : name;
  try {
    return its = program().add_constant(free_name(wished), elements);
  } catch (const Error& error) {
    refuse(error.what());
  }
}

graph::ValueId NodeReader::reshaped(graph::ValueId value, const Extents& extents) {
  const Extents before = extents_of(value);
  if (before == extents) return value;
  if (before.product() != extents.product()) {
    refuse("makes extents ", extents.to_string(), " of ", before.to_string(), ", another number of elements");
  }
  std::vector<std::int64_t> shape(extents.begin(), extents.end());
  for (int i = 0; i < extents.rank(); ++i) {
    // In the shape of a call 0 means the extent that there was.
    if (extents[i] != 0 || (i < before.rank() && before[i] == 0)) continue;
    // One alone is what the others leave.
    if (std::count(extents.begin(), extents.end(), 0) > 1) {
      refuse("makes extents ", extents.to_string(), " of ", before.to_string(), ", which no call of reshape says");
    }
    shape[static_cast<std::size_t>(i)] = -1;
  }
  return call("reshape", {{"x", value}}, {{"shape", shape}});
}

graph::ValueId NodeReader::transposed(graph::ValueId value, const std::vector<std::int64_t>& perm) {
  bool is_in_order = true;
  for (std::size_t i = 0; i < perm.size(); ++i) is_in_order = is_in_order && perm[i] == static_cast<std::int64_t>(i);
  return is_in_order ? value : call("transpose", {{"x", value}}, {{"perm", perm}});
}

std::int64_t product_of(const Extents& x, int begin, int end) {
  return Extents(std::span(x.begin() + begin, x.begin() + end)).product();
}

int NodeReader::axis(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) refuse("has the axis ", axis, " of ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> NodeReader::axes(const std::vector<std::int64_t>& axes, int rank) const {
  std::vector<int> numbers;
  for (const std::int64_t each : axes) {
    const int number = axis(each, rank);
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) refuse("names the axis ", number, " twice");
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace portops::impl
