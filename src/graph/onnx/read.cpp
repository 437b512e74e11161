// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/fail.hpp"
#include "core/types/shown.hpp"
#include "graph/onnx.hpp"
#include "graph/onnx/elements.hpp"
#include "graph/onnx/model.hpp"
#include "graph/onnx/node_reader.hpp"
#include "graph/onnx/own.hpp"
#include "graph/onnx/parts.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <climits>
#include <new>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

// Models: versions, inputs, functions, nodes in their order.

namespace portops::impl {
namespace {

constexpr std::int64_t first_operator_set = 11;
constexpr std::size_t most_nodes = 250'000;
constexpr int most_results = 10'000;
/// Of functions that call each other.
constexpr int most_depth = 64;

/// Where the nodes of a function are: of many calls of one another the innermost ones.
std::string outer_place(const std::string& place) {
  constexpr std::size_t most = 400;
  return place.size() <= most ? place : "…" + place.substr(place.size() - most);
}

bool is_standard(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

class ModelReader {
 public:
  ModelReader(std::string where, const onnx::ModelProto& model, std::size_t bytes, const graph::ReadOnnxParams& params,
              const std::filesystem::path& folder)
      : model_(model),
        params_(params),
        texts_(texts_of(model)),
        target_{.program = {}, .where = std::move(where), .folder = folder, .budget = ElementBudget(bytes)} {}

  graph::Program read() {
    if (!model_.has_graph()) fail(target_.where, "it has no graph: it is no ONNX model");
    if (model_.ir_version() > onnx::Version::IR_VERSION) {
      fail(target_.where, "it asks for version ", model_.ir_version(), " of the format, and version ",
           static_cast<int>(onnx::Version::IR_VERSION), " is the newest one that is known");
    }
    read_functions();
    Scope scope{.names = {}, .sets = operator_sets(model_.opset_import())};
    const onnx::GraphProto& graph = model_.graph();
    read_initializers(graph, scope);
    read_inputs(graph, scope);
    read_nodes(graph.node(), scope, 0);
    read_outputs(graph, scope);
    return std::move(target_.program);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(target_.where, parts...);
  }

  template <class Imports>
  OperatorSets operator_sets(const Imports& imports) const {
    OperatorSets sets;
    for (const onnx::OperatorSetIdProto& each : imports) {
      const std::string domain = is_standard(each.domain()) ? "" : each.domain();
      if (!sets.emplace(domain, each.version()).second)
        refuse("it asks for two versions of the domain '", shown(domain), "'");
      if (domain.empty()) check_standard(each.version());
      if (domain == own_domain) check_own(each.version());
    }
    return sets;
  }

  void check_standard(std::int64_t version) const {
    const auto newest = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN).second;
    if (version < first_operator_set || version > newest) {
      refuse("it asks for operator set ", version, " of ONNX, expected ", first_operator_set, " to ", newest);
    }
  }

  void check_own(std::int64_t version) const {
    const std::int64_t newest = graph::onnx_schema_version();
    if (version < 1 || version > newest) {
      refuse("it asks for the operators of portops ", version / 1000, ".", version % 1000, ", and these are those of ",
             newest / 1000, ".", newest % 1000);
    }
  }

  // --- functions

  using FunctionKey = std::tuple<std::string, std::string, std::string>;

  void read_functions() {
    for (const onnx::FunctionProto& each : model_.functions()) {
      const std::string domain = is_standard(each.domain()) ? "" : each.domain();
      if (!functions_.emplace(FunctionKey(domain, each.name(), each.overload()), &each).second) {
        refuse("two functions are named '", shown(each.name()), "' of the domain '", shown(domain), "'");
      }
    }
  }

  const onnx::FunctionProto* find_function(const onnx::NodeProto& node) const {
    const std::string domain = is_standard(node.domain()) ? "" : node.domain();
    const auto at = functions_.find(FunctionKey(domain, node.op_type(), node.overload()));
    return at != functions_.end() ? at->second : nullptr;
  }

  void call_function(const onnx::FunctionProto& function, NodeReader& node, const Scope& outer, int depth) {
    if (depth >= most_depth || !open_.insert(&function).second) {
      node.refuse("is a function that calls itself, or is called through more than ", most_depth, " others");
    }
    std::uint64_t head = 0;  // what every call goes through beside the nodes
    for (const onnx::OperatorSetIdProto& each : function.opset_import()) head += each.ByteSizeLong();
    for (const onnx::AttributeProto& each : function.attribute_proto())
      head += sizeof(std::string_view) + each.name().size();
    if (function.opset_import().empty()) head += sizeof(OperatorSets::value_type) * outer.sets.size();
    node.take(head);
    Scope scope{
        .names = {}, .sets = operator_sets(function.opset_import()), .prefix = outer_place(node.place()) + ": "};
    if (scope.sets.empty()) scope.sets = outer.sets;
    for (const onnx::AttributeProto& each : function.attribute_proto()) scope.attributes[each.name()] = &each;
    for (const onnx::AttributeProto& each : node.proto().attribute()) scope.attributes[each.name()] = &each;
    if (node.inputs() > static_cast<std::size_t>(function.input_size()) ||
        node.outputs() > static_cast<std::size_t>(function.output_size())) {
      node.refuse("has ", node.inputs(), " inputs and ", node.outputs(), " outputs, but the function ",
                  function.input_size(), " and ", function.output_size());
    }
    for (int i = 0; i < node.proto().input_size(); ++i) {
      const auto number = static_cast<std::size_t>(i);
      if (!node.has_input(number)) continue;
      if (!scope.names.emplace(function.input(i), node.known(number)).second) {
        node.refuse("is a function with two inputs '", shown(function.input(i)), "'");
      }
    }
    for (const std::string& each : function.input()) {
      if (!scope.names.contains(each)) scope.not_given.insert(each);
    }
    read_nodes(function.node(), scope, depth + 1);
    for (int i = 0; i < node.proto().output_size(); ++i) {
      const auto number = static_cast<std::size_t>(i);
      if (!node.has_output(number)) continue;
      const auto at = scope.names.find(function.output(i));
      if (at == scope.names.end()) {
        node.refuse("is a function whose output '", shown(function.output(i)), "' nothing in it gives");
      }
      const Known& its = at->second;
      if (its.piece == Piece::none && !its.elements) {
        node.give(number, its.value);  // which takes the name of the output
      } else {
        node.give(number, its);
      }
    }
    open_.erase(&function);
  }

  // --- the graph

  void read_initializers(const onnx::GraphProto& graph, Scope& scope) const {
    if (graph.sparse_initializer_size() > 0) refuse("it has sparse constants, which no call takes");
    for (const onnx::TensorProto& each : graph.initializer()) {
      if (each.name().empty()) refuse("a constant has no name");
      const std::string levels = find_text(texts_, text_of_levels, each.name());
      if (!levels.empty()) refuse("constant '", shown(each.name()), "' has levels, which inputs alone have");
      if (!scope.names.emplace(each.name(), Known{.proto = &each}).second) {
        refuse("two constants are named '", shown(each.name()), "'");
      }
    }
  }

  void read_inputs(const onnx::GraphProto& graph, Scope& scope) {
    std::set<std::string_view> names;
    for (const onnx::ValueInfoProto& each : graph.input()) {
      if (!names.insert(each.name()).second) refuse("two inputs are named '", shown(each.name()), "'");
      if (scope.names.contains(each.name())) continue;  // a constant, which may also be listed as an input
      const std::string where = "input '" + shown(each.name()) + "' ";
      if (!each.type().has_tensor_type()) refuse(where, "is no tensor");
      const auto& type = each.type().tensor_type();
      const auto element_type = element_type_of(type.elem_type());
      if (!element_type || onnx_type_of(*element_type) != type.elem_type()) {
        refuse(where, "is of ", name_of_onnx_type(type.elem_type()),
               ", expected float, double, float16, bfloat16 or int64");
      }
      const Extents extents = extents_of_input(each, where);
      try {
        const std::string levels_text = find_text(texts_, text_of_levels, each.name());
        const Levels levels = levels_text.empty() ? Levels() : parse_levels(levels_text);
        scope.names[each.name()] = {.value = target_.program.add_input(each.name(), *element_type, extents, levels)};
      } catch (const Error& error) {
        refuse(where, "cannot be one: ", error.what());
      }
    }
    for (const auto& [name, extents] : params_.inputs) {
      if (!names.contains(name)) refuse("no input is named '", shown(name), "', whose extents were given");
    }
  }

  Extents extents_of_input(const onnx::ValueInfoProto& input, const std::string& where) const {
    const auto& type = input.type().tensor_type();
    const auto given = params_.inputs.find(input.name());
    if (!type.has_shape() && given == params_.inputs.end()) refuse(where, "has no extents: say which it has");
    if (!type.has_shape()) return given->second;
    const auto& shape = type.shape();
    if (shape.dim_size() > max_rank) refuse(where, "has ", shape.dim_size(), " axes, expected ", max_rank, " or fewer");
    Extents extents = Extents::of_rank(shape.dim_size());
    if (given != params_.inputs.end() && given->second.rank() != extents.rank()) {
      refuse(where, "has ", extents.rank(), " axes, but was given the extents ", given->second.to_string());
    }
    for (int i = 0; i < extents.rank(); ++i) {
      const auto& its = shape.dim(i);
      const auto named = its.has_dim_param() ? params_.extents.find(its.dim_param()) : params_.extents.end();
      if (given != params_.inputs.end()) {
        extents[i] = given->second[i];
        const bool differs = (its.has_dim_value() && its.dim_value() != extents[i]) ||
                             (named != params_.extents.end() && named->second != extents[i]);
        if (differs) {
          refuse(where, "has the extent ", its.has_dim_value() ? its.dim_value() : named->second, " along axis ", i,
                 ", but was given the extents ", given->second.to_string());
        }
      } else if (its.has_dim_value()) {
        extents[i] = its.dim_value();
      } else if (named != params_.extents.end()) {
        extents[i] = named->second;
      } else {
        refuse(where, "leaves its extent along axis ", i, " open",
               its.has_dim_param() ? ", as '" + shown(its.dim_param()) + "'" : "", ": say which it has");
      }
    }
    return extents;
  }

  template <class Nodes>
  void read_nodes(const Nodes& nodes, Scope& scope, int depth) {
    for (const onnx::NodeProto& each : nodes) {
      if (++nodes_ > most_nodes)
        refuse("it has more than ", most_nodes, " nodes, those of functions counted at every call");
      const std::string domain = is_standard(each.domain()) ? "" : each.domain();
      const auto set = scope.sets.find(domain);
      NodeReader node(target_, scope, each, set != scope.sets.end() ? set->second : 0);
      if (set == scope.sets.end())
        node.refuse("is of the domain '", shown(domain), "', of which the model says no version");
      try {
        read_node(node, domain, scope, depth);
      } catch (const Error& error) {
        // What others throw, as where extents are more than can be counted, names neither file nor node.
        if (std::string_view(error.what()).starts_with(target_.where)) throw;
        node.refuse(error.what());
      } catch (const std::bad_alloc&) {
        node.refuse("asks for more memory than there is");
      } catch (const std::length_error&) {
        node.refuse("asks for more memory than there can be");
      }
    }
  }

  void read_node(NodeReader& node, const std::string& domain, const Scope& scope, int depth) {
    if (domain == own_domain) {
      read_own(node);
    } else if (const onnx::FunctionProto* function = find_function(node.proto())) {
      call_function(*function, node, scope, depth);
    } else if (domain.empty()) {
      read_standard(node);
    } else {
      node.refuse("is of the domain '", shown(domain),
                  "', whose operators are not known, and the model has no function of its name");
    }
  }

  /// A node of ONNX' own operators, which its declarations have to allow.
  static void read_standard(NodeReader& node) {
    const std::string& op = node.proto().op_type();
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(op, static_cast<int>(node.operator_set()), onnx::ONNX_DOMAIN);
    if (schema == nullptr) node.refuse("operator set ", node.operator_set(), " of ONNX has no such operator");
    for (const onnx::AttributeProto& each : node.proto().attribute()) {
      if (each.has_g() || each.graphs_size() > 0) node.refuse("has subgraphs, which programs have not");
    }
    try {
      schema->Verify(node.proto());
    } catch (const std::exception& error) {
      node.refuse(shown(error.what(), 300));
    }
    if (fold_integers(node)) return;
    const NodeHandler handler = find_handler(op);
    if (handler == nullptr) node.refuse("no call has the meaning of this operator");
    handler(node);
  }

  void read_outputs(const onnx::GraphProto& graph, Scope& scope) {
    if (graph.output_size() == 0) refuse("it has no outputs");
    if (graph.output_size() > most_results)
      refuse("it has ", graph.output_size(), " outputs, expected at most ", most_results);
    onnx::NodeProto none;
    for (const onnx::ValueInfoProto& each : graph.output()) {
      // As a node that reads it: constants become values.
      none.clear_input();
      none.add_input(each.name());
      const auto known = scope.names.find(each.name());
      if (each.name().empty() || known == scope.names.end()) {
        refuse("output '", shown(each.name()), "' is given by no node");
      }
      const graph::ValueId value = NodeReader(target_, scope, none, 0).input(0);
      check_declared(each, target_.program.value(value).type);
      const std::string over = find_text(texts_, text_of_over, each.name());
      const std::string own_name = find_text(texts_, text_of_name, each.name());
      const graph::ValueId below = over.empty() ? graph::ValueId() : target_.program.find(over);
      if (!over.empty() && !below)
        refuse("output '", shown(each.name()), "' is left in '", shown(over), "', which is no input");
      try {
        target_.program.add_output(own_name.empty() ? each.name() : own_name, value, below);
      } catch (const Error& error) {
        refuse("output '", shown(each.name()), "' cannot be one: ", error.what());
      }
    }
  }

  /// Extents are those of the inputs that were given, and so not what the file declares.
  void check_declared(const onnx::ValueInfoProto& output, ElementType type) const {
    const int declared = output.type().tensor_type().elem_type();
    if (declared == onnx::TensorProto::UNDEFINED || element_type_of(declared) == type) return;
    refuse("output '", shown(output.name()), "' is declared as ", name_of_onnx_type(declared), ", but is ",
           name_of_onnx_type(onnx_type_of(type)));
  }

  const onnx::ModelProto& model_;
  const graph::ReadOnnxParams& params_;
  const ModelTexts texts_;
  ReadTarget target_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::set<const onnx::FunctionProto*> open_;  ///< those that are being called
  std::size_t nodes_ = 0;
};

}  // namespace

namespace {

onnx::ModelProto parse_model(const std::string& where, std::string_view bytes) {
  // Nodes without anything in them take a hundred times their bytes in memory.
  const std::uint64_t most_parts = 1'000'000 + bytes.size() / 32;
  if (count_parts(bytes, most_parts) > most_parts) {
    fail(where, "it has more than ", most_parts, " nodes, names and other parts, expected fewer in ", bytes.size(),
         " bytes");
  }
  onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
  if (bytes.size() > INT_MAX || !model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail(where, "it is no ONNX model, or was cut off");
  }
  return model;
}

}  // namespace

graph::Program read_model(const std::string& where, std::string_view bytes, const graph::ReadOnnxParams& params,
                          const std::filesystem::path& folder) {
  const onnx::ModelProto model = parse_model(where, bytes);
  return ModelReader(where, model, bytes.size(), params, folder).read();
}

std::vector<std::string> inputs_of_model(const std::string& where, std::string_view bytes) {
  const onnx::ModelProto model = parse_model(where, bytes);
  std::set<std::string_view> constants;
  for (const onnx::TensorProto& each : model.graph().initializer()) constants.insert(each.name());
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& each : model.graph().input()) {
    if (!constants.contains(each.name())) names.push_back(each.name());
  }
  return names;
}

}  // namespace portops::impl
