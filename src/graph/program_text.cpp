// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/program.hpp"

#include "core/schema/argument_texts.hpp"
#include "core/types/shown.hpp"

#include <algorithm>
#include <sstream>

// Programs for readers.

namespace portops::graph {
namespace {

std::string type_of(const ValueInfo& value) {
  std::string text = std::string(name_of(value.type)) + " " + value.extents.to_string();
  if (value.levels) text += " levels " + value.levels.to_string();
  return text;
}

std::string text_of(const Program& program, const Operand& operand) {
  if (operand.is_number()) return impl::text_of(operand.number());
  if (operand.is_levels()) return "levels " + operand.levels().to_string();
  const auto name = [&](ValueId value) { return value ? impl::shown(program.value(value).name) : std::string("none"); };
  if (operand.is_value()) return name(operand.value());
  std::string text;
  for (const ValueId value : operand.list()) text += (text.empty() ? "" : ", ") + name(value);
  return "[" + text + "]";
}

std::string text_of(const Attribute& attribute) {
  if (const auto* boolean = std::get_if<bool>(&attribute)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&attribute)) return impl::text_of(*number);
  if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
  std::string list;
  for (const std::int64_t each : std::get<std::vector<std::int64_t>>(attribute)) {
    list += (list.empty() ? "" : ", ") + std::to_string(each);
  }
  return "[" + list + "]";
}

/// Those that are not the schema's defaults, in its order.
std::vector<std::pair<std::string, std::string>> attributes_of(const Call& call) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const AttributeInfo& info : find_operator(call.op).attributes) {
    const auto at = call.attributes.find(info.name);
    if (at == call.attributes.end() || (info.default_value && *info.default_value == at->second)) continue;
    // A default may be written as an integer where the attribute is a number.
    if (info.default_value && text_of(*info.default_value) == text_of(at->second)) continue;
    texts.emplace_back(info.name, text_of(at->second));
  }
  return texts;
}

/// In quotation marks, as Graphviz takes them.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '\n') {
      result += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "\"";
}

}  // namespace

std::string Program::to_string() const {
  std::ostringstream text;
  for (const ValueInfo& value : values_) {
    if (value.origin == Origin::input) text << "input " << impl::shown(value.name) << ": " << type_of(value) << "\n";
  }
  for (const ValueInfo& value : values_) {
    if (value.origin == Origin::constant)
      text << "constant " << impl::shown(value.name) << ": " << type_of(value) << "\n";
  }
  for (const Call& call : calls_) {
    const char* separator = "";
    for (const NamedOperand& output : call.outputs) {
      for (const ValueId each : output.operand.values()) {
        if (!each) continue;
        text << separator << impl::shown(value(each).name) << ": " << type_of(value(each));
        separator = ", ";
      }
    }
    text << " = " << call.op << "(";
    separator = "";
    for (const NamedOperand& input : call.inputs) {
      text << separator << input.name << " = " << text_of(*this, input.operand);
      separator = ", ";
    }
    for (const auto& [name, attribute] : attributes_of(call)) {
      text << separator << name << " = " << attribute;
      separator = ", ";
    }
    text << ")\n";
  }
  for (const ProgramOutput& output : outputs_) {
    text << "output " << impl::shown(output.name) << " = " << impl::shown(value(output.value).name);
    if (output.over) text << " over " << impl::shown(value(output.over).name);
    text << "\n";
  }
  return text.str();
}

std::string Program::to_dot() const {
  std::ostringstream text;
  text << "digraph program {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n";
  const auto node_of = [&](ValueId id) {
    const ValueInfo& info = value(id);
    return info.origin == Origin::call ? "call" + std::to_string(info.call) : "value" + std::to_string(id.index);
  };
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueInfo& info = values_[i];
    if (info.origin == Origin::call) continue;
    text << "  value" << i << " [label=" << quoted(info.name + "\n" + type_of(info))
         << (info.origin == Origin::input ? ", shape=ellipse" : ", shape=ellipse, style=dashed") << "];\n";
  }
  for (std::size_t number = 0; number < calls_.size(); ++number) {
    std::string label = calls_[number].op;
    for (const auto& [name, attribute] : attributes_of(calls_[number])) {
      label.append("\n").append(name).append(" = ").append(attribute);
    }
    text << "  call" << number << " [label=" << quoted(label) << "];\n";
    for (const NamedOperand& input : calls_[number].inputs) {
      for (const ValueId each : input.operand.values()) {
        text << "  " << node_of(each) << " -> call" << number << " [label="
             << quoted(input.name + (value(each).origin == Origin::call ? "\n" + type_of(value(each)) : "")) << "];\n";
      }
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    text << "  output" << i << " [label=" << quoted(outputs_[i].name) << ", shape=ellipse, style=bold];\n";
    text << "  " << node_of(outputs_[i].value) << " -> output" << i
         << " [label=" << quoted(type_of(value(outputs_[i].value))) << "];\n";
    if (outputs_[i].over) {
      text << "  output" << i << " -> " << node_of(outputs_[i].over)
           << " [label=\"over\", style=dotted, constraint=false];\n";
    }
  }
  text << "}\n";
  return text.str();
}

}  // namespace portops::graph
