// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/own.hpp"

#include "core/types/fail.hpp"
#include "core/types/shown.hpp"
#include "graph/onnx/elements.hpp"
#include "graph/onnx/node_reader.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace portops::impl {

using graph::Operand;
using graph::ValueId;

// --- levels -------------------------------------------------------------------------------------------------

std::string text_of(const Levels& levels) {
  std::string text;
  for (int level = 0; level < levels.depth(); ++level) {
    if (level > 0) text += ';';
    const auto& offsets = levels.offsets(level);
    for (std::size_t i = 0; i < offsets.size(); ++i) text.append(i == 0 ? "" : ",").append(std::to_string(offsets[i]));
  }
  return text;
}

Levels parse_levels(std::string_view text) {
  std::vector<std::vector<std::int64_t>> offsets(1);
  const char* rest = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::int64_t value = 0;
    const auto [next, problem] = std::from_chars(rest, end, value);
    if (problem != std::errc()) fail("'", shown(text), "' is no list of offsets");
    offsets.back().push_back(value);
    if (next == end) break;
    if (*next == ';') offsets.emplace_back();
    if (*next != ';' && *next != ',') fail("'", shown(text), "' is no list of offsets");
    rest = next + 1;
  }
  return Levels(std::move(offsets));
}

// --- texts --------------------------------------------------------------------------------------------------

ModelTexts texts_of(const onnx::ModelProto& model) {
  ModelTexts texts;
  for (const auto& each : model.metadata_props()) texts.emplace(each.key(), each.value());
  return texts;
}

std::string find_text(const ModelTexts& texts, std::string_view kind, const std::string& name) {
  const auto at = texts.find(std::string(kind) + name);
  return at != texts.end() ? at->second : "";
}

void add_text(onnx::ModelProto& model, std::string_view kind, const std::string& name, const std::string& text) {
  auto* entry = model.add_metadata_props();
  entry->set_key(std::string(kind) + name);
  entry->set_value(text);
}

// --- nodes --------------------------------------------------------------------------------------------------

namespace {

/// Reads a node by what the schema says of its operator.
class OwnReader {
 public:
  OwnReader(NodeReader& node, const OperatorInfo& info) : node_(node), info_(info) {}

  void read() {
    graph::CallRequest request{.op = info_.name, .inputs = {}, .place = node_.place()};
    for (const InputInfo& input : info_.inputs) read_input(input, request);
    if (next_input_ < node_.inputs()) node_.refuse("has ", node_.inputs(), " inputs, expected ", next_input_);
    for (const AttributeInfo& attribute : info_.attributes) read_attribute(attribute, request);
    std::vector<std::size_t> places;  // of the outputs
    std::size_t next = 0;
    for (const OutputInfo& output : info_.outputs) {
      const std::size_t count = output.list ? count_of(output.name) : 1;
      places.push_back(next);
      bool is_wanted = false;
      for (std::size_t i = 0; i < count; ++i) is_wanted = is_wanted || node_.has_output(next + i);
      if (output.optional && is_wanted) request.wanted.push_back(output.name);
      next += count;
    }
    if (next < node_.outputs()) node_.refuse("has ", node_.outputs(), " outputs, expected ", next);
    for (const onnx::AttributeProto& each : node_.proto().attribute()) {
      if (!known_.contains(each.name())) node_.refuse("has the attribute '", shown(each.name()), "', which is unknown");
    }
    take_items(request);
    give(node_.call(request), places);
  }

 private:
  /// sequence_expand makes an item of levels for each repetition of a sequence, of empty ones too: they are counted
  /// before they are made.
  void take_items(const graph::CallRequest& request) {
    const auto y = request.inputs.find("y");
    if (info_.name != "sequence_expand" || y == request.inputs.end()) return;
    const Levels levels = y->second.is_levels()  ? y->second.levels()
                          : y->second.is_value() ? node_.program().value(y->second.value()).levels
                                                 : Levels();
    for (int level = 0; levels && level < levels.depth(); ++level) {
      constexpr std::int64_t most = INT64_MAX / 8;
      node_.take(8 * static_cast<std::uint64_t>(std::min(levels.offsets(level).back(), most)));
    }
  }

  /// How many tensors a list has.
  std::size_t count_of(const std::string& name) {
    const std::string attribute = name + ".count";
    known_.insert(attribute);
    const std::int64_t count = node_.integer(attribute, 0);
    if (count < 0 || count > node_.proto().input_size() + node_.proto().output_size()) {
      node_.refuse("the list ", name, " has ", count, " tensors");
    }
    return static_cast<std::size_t>(count);
  }

  void read_input(const InputInfo& input, graph::CallRequest& request) {
    if (input.list) {
      std::vector<ValueId> list;
      for (std::size_t i = count_of(input.name); i > 0; --i) list.push_back(node_.input(next_input_++));
      if (!list.empty()) request.inputs.emplace(input.name, list);
      return;
    }
    const std::size_t place = next_input_++;
    const std::string levels = input.name + ".levels";
    if (input.ragged == Ragged::levels && node_.attribute(levels) != nullptr) {
      known_.insert(levels);
      try {
        request.inputs.emplace(input.name, parse_levels(node_.text(levels, "")));
      } catch (const Error& error) {
        node_.refuse(levels, ": ", error.what());
      }
    } else if (input.or_number && node_.attribute(input.name) != nullptr) {
      known_.insert(input.name);
      request.inputs.emplace(input.name, number_of(input.name));
    } else if (node_.has_input(place)) {
      request.inputs.emplace(input.name, node_.input(place));
    }
  }

  double number_of(const std::string& name) {
    const onnx::AttributeProto* its = node_.attribute(name);
    if (its->type() != onnx::AttributeProto::TENSOR) node_.refuse("the attribute ", name, " is no tensor of a double");
    const Tensor number = node_.elements_of(*its);
    if (number.ref().type() != ElementType::f64 || number.ref().size() != 1) {
      node_.refuse("the attribute ", name, " is no tensor of a double");
    }
    return *number.data<double>();
  }

  void read_attribute(const AttributeInfo& attribute, graph::CallRequest& request) {
    const std::string& name = attribute.name;
    known_.insert(name);
    // One that was added later than the file was written has its default.
    if (node_.attribute(name) == nullptr) return;
    switch (attribute.type) {
      case AttributeType::boolean: request.attributes[name] = node_.flag(name, false); break;
      case AttributeType::integer: request.attributes[name] = node_.integer(name, 0); break;
      case AttributeType::number: request.attributes[name] = number_of(name); break;
      case AttributeType::integers: request.attributes[name] = *node_.integers(name); break;
      case AttributeType::text: request.attributes[name] = node_.text(name, ""); break;
    }
  }

  void give(const graph::Call& call, const std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < info_.outputs.size(); ++i) {
      const OutputInfo& output = info_.outputs[i];
      const Operand* results = call.output(output.name);
      if (results == nullptr) continue;
      const std::vector<ValueId> values = results->values();
      if (output.list && values.size() != count_of(output.name)) {
        node_.refuse("computes ", values.size(), " tensors of ", output.name, ", but names ", count_of(output.name));
      }
      for (std::size_t j = 0; j < values.size(); ++j) {
        if (values[j]) node_.give(places[i] + j, values[j]);
      }
    }
  }

  NodeReader& node_;
  const OperatorInfo& info_;
  std::size_t next_input_ = 0;
  std::set<std::string, std::less<>> known_;  ///< the attributes that have been read
};

}  // namespace

void read_own(NodeReader& node) {
  const std::string& op = node.proto().op_type();
  const OperatorInfo* info = nullptr;
  for (const OperatorInfo& each : operators()) {
    if (each.name == op) info = &each;
  }
  if (info == nullptr) node.refuse("there is no such operator in this version of portops");
  OwnReader(node, *info).read();
}

}  // namespace portops::impl
