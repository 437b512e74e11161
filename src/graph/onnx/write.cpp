// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/fail.hpp"
#include "graph/onnx/call_writer.hpp"
#include "graph/onnx/elements.hpp"
#include "graph/onnx/model.hpp"
#include "graph/onnx/own.hpp"

#include <climits>

// Models: versions, values, calls as nodes of portops' domain, and the functions that tell others what these compute.

namespace portops::impl {
namespace {

constexpr std::int64_t written_operator_set = 22;
/// The format that came with it.
constexpr std::int64_t written_format = 10;

void set_type(onnx::ValueInfoProto& info, const std::string& name, const graph::ValueInfo& value) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type_of(value.type));
  type.mutable_shape();
  for (const std::int64_t extent : value.extents) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

void add_import(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports, std::string_view domain,
                std::int64_t version) {
  onnx::OperatorSetIdProto& import = *imports.Add();
  import.set_domain(std::string(domain));
  import.set_version(version);
}

onnx::NodeProto& add_node(onnx::FunctionProto& function, const std::string& op, const std::vector<std::string>& inputs,
                          const std::string& output) {
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type(op);
  for (const std::string& each : inputs) node.add_input(each);
  node.add_output(output);
  return node;
}

void write_attributes(const CallWriter& writer, onnx::NodeProto& node) {
  for (const auto& [name, value] : writer.call().attributes) {
    if (const auto* flag = std::get_if<bool>(&value)) set_integer(node, name, *flag ? 1 : 0);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) set_integer(node, name, *integer);
    if (const auto* number = std::get_if<double>(&value)) set_double(node, name, *number);
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) set_integers(node, name, *integers);
    if (const auto* text = std::get_if<std::string>(&value)) set_text(node, name, *text);
  }
}

}  // namespace

void add_function(ModelTarget& target, const std::string& op) {
  if (!target.wants_function(op)) return;
  onnx::FunctionProto& function = *target.model().add_functions();
  function.set_domain(std::string(own_domain));
  function.set_name(op);
  add_import(*function.mutable_opset_import(), "", written_operator_set);
  function.add_output("out");
  if (op == "silu") {
    function.add_input("x");
    add_node(function, "Sigmoid", {"x"}, "s");
    add_node(function, "Mul", {"x", "s"}, "out");
  } else {
    for (const char* input : {"x", "weight", "bias"}) function.add_input(input);
    add_node(function, "MatMul", {"x", "weight"}, "product");
    add_node(function, "Add", {"product", "bias"}, "out");
  }
}

void write_own(CallWriter& writer) {
  const graph::Call& call = writer.call();
  const OperatorInfo& info = find_operator(call.op);
  ModelTarget& target = writer.target();
  std::vector<std::string> inputs, outputs;
  onnx::NodeProto& node = writer.node(call.op, {}, {}, own_domain);
  for (const InputInfo& input : info.inputs) {
    const graph::Operand* operand = call.input(input.name);
    if (input.list) {
      const std::vector<graph::ValueId> list = operand != nullptr ? operand->values() : std::vector<graph::ValueId>();
      for (const graph::ValueId each : list) inputs.push_back(target.name_of(each));
      set_integer(node, input.name + ".count", static_cast<std::int64_t>(list.size()));
      continue;
    }
    inputs.push_back(operand != nullptr && operand->is_value() ? target.name_of(operand->value()) : "");
    if (operand != nullptr && operand->is_number()) set_double(node, input.name, operand->number());
    if (operand != nullptr && operand->is_levels()) set_text(node, input.name + ".levels", text_of(operand->levels()));
  }
  for (const OutputInfo& output : info.outputs) {
    const graph::Operand* operand = call.output(output.name);
    const std::vector<graph::ValueId> values = operand != nullptr ? operand->values() : std::vector<graph::ValueId>();
    for (const graph::ValueId each : values) outputs.push_back(each ? target.name_of(each) : "");
    if (output.list) set_integer(node, output.name + ".count", static_cast<std::int64_t>(values.size()));
    if (!output.list && operand == nullptr) outputs.emplace_back();
  }
  for (auto* names : {&inputs, &outputs}) {
    while (!names->empty() && names->back().empty()) names->pop_back();
  }
  for (const std::string& each : inputs) node.add_input(each);
  for (const std::string& each : outputs) node.add_output(each);
  node.set_name(outputs.empty() ? call.op : outputs.front());
  write_attributes(writer, node);
  if (call.op == "silu" || (call.op == "linear" && writer.has("bias"))) add_function(target, call.op);
}

std::string write_model(const std::string& where, const graph::Program& program) {
  ModelTarget target(where, program);
  onnx::ModelProto& model = target.model();
  onnx::GraphProto& graph = target.graph();
  model.set_ir_version(written_format);
  model.set_producer_name("portops");
  model.set_producer_version(PORTOPS_VERSION);
  add_import(*model.mutable_opset_import(), "", written_operator_set);
  add_import(*model.mutable_opset_import(), own_domain, graph::onnx_schema_version());
  graph.set_name("program");

  for (const graph::ValueId each : program.inputs()) {
    const graph::ValueInfo& value = program.value(each);
    set_type(*graph.add_input(), target.name_of(each), value);
    if (value.levels) add_text(model, text_of_levels, target.name_of(each), text_of(value.levels));
  }
  for (std::size_t i = 0; i < program.values().size(); ++i) {
    const graph::ValueInfo& value = program.values()[i];
    const graph::ValueId id{static_cast<std::int32_t>(i)};
    if (value.origin != graph::Origin::constant || !target.is_used(id)) continue;
    if (value.levels) fail(where, "the constant '", value.name, "' has levels, which the format has for inputs alone");
    target.add_constant(value.elements.ref(), target.name_of(id));
  }
  for (const graph::Call& call : program.calls()) {
    CallWriter writer(target, call);
    if (!write_standard(writer)) write_own(writer);
  }
  std::vector<bool> is_output(program.values().size());
  for (const graph::ProgramOutput& output : program.outputs()) {
    std::string name = target.name_of(output.value);
    const bool has_own_name = name == output.name && !is_output[static_cast<std::size_t>(output.value.index)];
    const bool is_made = program.value(output.value).origin == graph::Origin::call;
    if (!has_own_name && (!is_made || is_output[static_cast<std::size_t>(output.value.index)])) {
      const std::string source = name;
      name = target.free_name(output.name);
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type("Identity");
      node.set_name(name);
      node.add_input(source);
      node.add_output(name);
    }
    is_output[static_cast<std::size_t>(output.value.index)] = true;
    set_type(*graph.add_output(), name, program.value(output.value));
    if (name != output.name) add_text(model, text_of_name, name, output.name);
    if (output.over) add_text(model, text_of_over, name, target.name_of(output.over));
  }
  for (std::size_t i = 0; i < program.values().size(); ++i) {
    const graph::ValueId id{static_cast<std::int32_t>(i)};
    if (program.values()[i].origin != graph::Origin::call || is_output[i] || !target.is_used(id)) continue;
    set_type(*graph.add_value_info(), target.name_of(id), program.values()[i]);
  }
  if (model.ByteSizeLong() > static_cast<std::size_t>(INT_MAX)) {
    fail(where, "the model takes ", model.ByteSizeLong(), " bytes, more than the 2 GB that the format allows");
  }
  return model.SerializeAsString();
}

}  // namespace portops::impl
