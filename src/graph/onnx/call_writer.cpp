// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/call_writer.hpp"

#include "core/types/fail.hpp"
#include "core/types/shown.hpp"
#include "graph/onnx/elements.hpp"

#include <utility>

namespace portops::impl {

ModelTarget::ModelTarget(std::string where, const graph::Program& program)
    : where_(std::move(where)), program_(program), names_(program.values().size()), used_(program.values().size()) {
  const auto index = [](graph::ValueId value) { return static_cast<std::size_t>(value.index); };
  for (const graph::Call& call : program.calls()) {
    for (const graph::NamedOperand& input : call.inputs) {
      for (const graph::ValueId each : input.operand.values()) used_[index(each)] = true;
    }
  }
  // Inputs keep their names, and results have theirs where they can.
  for (const graph::ValueId each : program.inputs()) {
    names_[index(each)] = program.value(each).name;
    taken_.insert(names_[index(each)]);
  }
  for (const graph::ProgramOutput& output : program.outputs()) {
    used_[index(output.value)] = true;
    std::string& name = names_[index(output.value)];
    if (name.empty() && program.value(output.value).origin == graph::Origin::call) name = free_name(output.name);
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) names_[i] = free_name(program.values()[i].name);
  }
}

std::string ModelTarget::free_name(const std::string& wished) {
  std::string name = wished;
  for (int count = 2; !taken_.insert(name).second; ++count) name = wished + "_" + std::to_string(count);
  return name;
}

std::string ModelTarget::add_constant(const TensorRef& elements, const std::string& name) {
  if (elements.space() == MemorySpace::cuda) {
    fail(where_, "the constant '", shown(name), "' lies in the memory of a GPU, which the host does not read");
  }
  onnx::TensorProto& proto = *graph().add_initializer();
  proto.set_name(name);
  write_elements(elements, proto);
  return name;
}

// --- a call -------------------------------------------------------------------------------------------------

bool CallWriter::has(std::string_view input) const {
  const graph::Operand* its = call_.input(input);
  return its != nullptr && its->is_value();
}

const graph::ValueInfo& CallWriter::info(std::string_view input) const {
  return target_.program().value(call_.input(input)->value());
}

std::string CallWriter::in(std::string_view input) {
  const graph::Operand* its = call_.input(input);
  if (its == nullptr) return "";
  if (its->is_value()) return target_.name_of(its->value());
  return constant(converted(number_tensor(its->number()), info("x").type), input);
}

std::vector<std::string> CallWriter::list(std::string_view input) {
  std::vector<std::string> names;
  for (const graph::ValueId each : call_.input(input)->list()) names.push_back(target_.name_of(each));
  return names;
}

const graph::ValueInfo& CallWriter::result_info(std::string_view output) const {
  return target_.program().value(call_.result(output));
}

std::string CallWriter::out(std::string_view output) const { return target_.name_of(call_.result(output)); }

bool CallWriter::is_used(std::string_view output) const {
  const graph::Operand* its = call_.output(output);
  return its != nullptr && target_.is_used(its->value());
}

onnx::NodeProto& CallWriter::node(const std::string& op, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs, std::string_view domain) {
  onnx::NodeProto& node = *target_.graph().add_node();
  node.set_op_type(op);
  if (!domain.empty()) node.set_domain(std::string(domain));
  for (const std::string& each : inputs) node.add_input(each);
  for (const std::string& each : outputs) node.add_output(each);
  for (const std::string& each : outputs) {
    if (node.name().empty()) node.set_name(each);
  }
  return node;
}

std::string CallWriter::between(std::string_view role) {
  const graph::ValueId first = call_.outputs.front().operand.values().front();
  return target_.free_name(target_.name_of(first) + "." + std::string(role));
}

std::string CallWriter::constant(const TensorRef& elements, std::string_view role) {
  return target_.add_constant(elements, between(role));
}

std::string CallWriter::constant(const std::vector<std::int64_t>& integers, std::string_view role) {
  return constant(integers_tensor(integers), role);
}

// --- attributes ---------------------------------------------------------------------------------------------

namespace {

onnx::AttributeProto& add(onnx::NodeProto& node, const std::string& name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace

void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  add(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_integers(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = add(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t each : values) attribute.add_ints(each);
}

void set_number(onnx::NodeProto& node, const std::string& name, double value) {
  add(node, name, onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value));
}

void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  add(node, name, onnx::AttributeProto::STRING).set_s(value);
}

void set_double(onnx::NodeProto& node, const std::string& name, double value) {
  write_elements(number_tensor(value), *add(node, name, onnx::AttributeProto::TENSOR).mutable_t());
}

}  // namespace portops::impl
