// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/tensor.hpp"
#include "core/types/fail.hpp"
#include "graph/onnx/elements.hpp"
#include "graph/program.hpp"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// A node of a file while it is read.

namespace portops::impl {

/// What has come so far of what older operator sets write in pieces, some of which no call computes: a gelu, x · (1 +
/// erf(x / √2)) · 0.5 with its factors in any order, or a layer normalisation, (x − mean) / √(variance + epsilon).
enum class Piece : std::uint8_t { none, erf, one_and_erf, half_of_these, x_times_these, deviation };

/// What a name of a graph stands for: a value of the program, or elements that are known, which become one where a call
/// wants them, or a piece of a gelu or of a layer normalisation.
struct Known {
  graph::ValueId value = {};  ///< of a piece: the x of the gelu, or x − mean
  std::optional<Tensor> elements = {};
  const onnx::TensorProto* proto = nullptr;  ///< of elements that have not been read yet
  Piece piece = Piece::none;
  double epsilon = 0.0;  ///< of a deviation
};

/// The operator sets that nodes of a graph or function are of, by domain.
using OperatorSets = std::map<std::string, std::int64_t, std::less<>>;

/// The names of a graph, or of the body of a function.
struct Scope {
  std::map<std::string, Known, std::less<>> names;
  OperatorSets sets;
  std::set<std::string_view> not_given = {};  ///< inputs of the function that its call leaves out
  std::string prefix = {};                    ///< begins the places of its nodes: "node 'f' (F): "
  /// Attributes of the call of a function, which its nodes may refer to: they stand in the call's node, or are the
  /// function's defaults.
  std::map<std::string_view, const onnx::AttributeProto*> attributes = {};
};

/// What nodes are read into.
struct ReadTarget {
  graph::Program program;
  std::string where;             ///< begins messages: "portops::graph::read_onnx: FILE: "
  std::filesystem::path folder;  ///< of elements outside of the file
  ElementBudget budget;
  /// Constants of the program by where their elements lie: functions are called any number of times with the same ones.
  std::map<const void*, graph::ValueId> constants = {};
  std::size_t operands = 0;  ///< calls, what they are given, and the parts that they divide something into
};

class NodeReader {
 public:
  /// Throws Error where attributes occur twice, or where those of functions are more than may be made of the file.
  NodeReader(ReadTarget& target, Scope& scope, const onnx::NodeProto& node, std::int64_t operator_set);

  const onnx::NodeProto& proto() const { return node_; }
  /// The version of the node's operator set.
  std::int64_t operator_set() const { return operator_set_; }
  graph::Program& program() { return target_.program; }
  /// "node 'conv1' (Conv)"
  const std::string& place() const { return place_; }
  /// Throws Error: "portops::graph::read_onnx: FILE: node 'conv1' (Conv): …".
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(target_.where, place_, ": ", parts...);
  }

  /// Counts bytes that are made, or gone through, beside those that the node has. Refuses more than may be made of the
  /// file.
  void take(std::uint64_t bytes);

  // --- inputs and outputs, by their numbers. One that is not there is refused where it is asked for.

  std::size_t inputs() const { return static_cast<std::size_t>(node_.input_size()); }
  /// Whether it is there: neither left out nor what the call of the function leaves out.
  bool has_input(std::size_t number) const;
  graph::ValueId input(std::size_t number);
  const Extents& extents(std::size_t number);
  ElementType type(std::size_t number);
  /// The elements of an input; null where they are not known.
  const Tensor* elements(std::size_t number);
  /// The elements of an input of integers. Refuses others than constants.
  std::vector<std::int64_t> integers(std::size_t number);
  /// What a name stands for.
  const Known& known(std::size_t number);

  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }
  bool has_output(std::size_t number) const;
  /// Says what an output is. Refuses a name that stands for something.
  void give(std::size_t number, graph::ValueId value);
  void give(std::size_t number, const Tensor& elements);
  void give(std::size_t number, const Known& known);

  // --- attributes

  const onnx::AttributeProto* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise ? 1 : 0) != 0; }
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  /// Those of an attribute; none where it is not there.
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;

  // --- helpers

  /// The elements of an attribute.
  Tensor elements_of(const onnx::AttributeProto& attribute);
  /// A call of an operator, whose refusal is the node's.
  const graph::Call& call(const graph::CallRequest& request);
  /// Its output `out`.
  graph::ValueId call(std::string op, std::map<std::string, graph::Operand, std::less<>> inputs,
                      std::map<std::string, Attribute, std::less<>> attributes = {});
  const Extents& extents_of(graph::ValueId value) { return program().value(value).extents; }
  /// A constant of the program; of elements in one place there is one.
  graph::ValueId constant(const Tensor& elements, const std::string& name = {});
  /// The value with other extents, as many elements.
  graph::ValueId reshaped(graph::ValueId value, const Extents& extents);
  graph::ValueId transposed(graph::ValueId value, const std::vector<std::int64_t>& perm);
  /// The number of an axis of `rank`, of which negative ones count from the end. Refuses others.
  int axis(std::int64_t axis, int rank) const;
  std::vector<int> axes(const std::vector<std::int64_t>& axes, int rank) const;

 private:
  Known& find(std::size_t number);
  [[noreturn]] void refuse_root() const;
  const graph::Call& add_call(const graph::CallRequest& request);
  void take_levels(const graph::Call& call);
  std::string free_name(const std::string& wished);

  ReadTarget& target_;
  Scope& scope_;
  std::string place_;
  onnx::NodeProto node_;  ///< with the attributes of the function's call in place of references
  std::int64_t operator_set_;
};

/// How many elements there are along the axes from `begin` to before `end`. Throws Error where 64 bits cannot say it.
std::int64_t product_of(const Extents& x, int begin, int end);

/// What the reader does with a node.
using NodeHandler = void (*)(NodeReader&);

/// Of an operator of ONNX; null of one whose meaning no calls have.
NodeHandler find_handler(std::string_view op);

// The handlers, by the files that they stand in. Nodes have passed the check of ONNX' own declarations.
void read_element_wise(NodeReader& node);
void read_pow(NodeReader& node);
void read_activation(NodeReader& node);
void read_swish(NodeReader& node);
void read_clip(NodeReader& node);
void read_hard_sigmoid(NodeReader& node);
void read_hard_swish(NodeReader& node);
void read_identity(NodeReader& node);
void read_dropout(NodeReader& node);
void read_cast(NodeReader& node);
void read_sum_of_several(NodeReader& node);
void read_negative(NodeReader& node);
void read_sqrt(NodeReader& node);
void read_erf(NodeReader& node);

void read_matmul(NodeReader& node);
void read_gemm(NodeReader& node);

void read_conv(NodeReader& node);
void read_deform_conv(NodeReader& node);
void read_pool(NodeReader& node);
void read_global_pool(NodeReader& node);

void read_batch_normalization(NodeReader& node);
void read_layer_normalization(NodeReader& node);
void read_softmax(NodeReader& node);
void read_reduction(NodeReader& node);

void read_reshape(NodeReader& node);
void read_flatten(NodeReader& node);
void read_squeeze(NodeReader& node);
void read_unsqueeze(NodeReader& node);
void read_transpose(NodeReader& node);
void read_concat(NodeReader& node);
void read_split(NodeReader& node);
void read_slice(NodeReader& node);
void read_gather(NodeReader& node);
void read_expand(NodeReader& node);

void read_constant(NodeReader& node);
void read_constant_of_shape(NodeReader& node);
void read_shape(NodeReader& node);
void read_size(NodeReader& node);
void read_range(NodeReader& node);

/// A node of the domain "portops".
void read_own(NodeReader& node);

/// Reads an Add, Mul or Div that is a step of a gelu; false where it is none.
bool read_gelu_step(NodeReader& node);
/// Reads a Sqrt or Div that is a step of a layer normalisation; false where it is none.
bool read_layer_norm_step(NodeReader& node);
/// The call that makes a value; null where none does.
const graph::Call* maker_of(NodeReader& node, graph::ValueId value);
/// The number that an input is: elements that are known, one of them, of no more axes than `rank`.
std::optional<double> number_input(NodeReader& node, std::size_t number, int rank);

/// Computes a node on integers that are known; false where it is none of these.
bool fold_integers(NodeReader& node);

}  // namespace portops::impl
