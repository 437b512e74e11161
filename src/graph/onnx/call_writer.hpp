// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/tensor.hpp"
#include "graph/program.hpp"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// A call of a program while it is written.

namespace portops::impl {

/// A model that is being made, and the names that values have in it.
class ModelTarget {
 public:
  /// Throws Error, beginning with `where`, where the program cannot be a model.
  ModelTarget(std::string where, const graph::Program& program);

  const graph::Program& program() const { return program_; }
  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  const std::string& name_of(graph::ValueId value) const { return names_[static_cast<std::size_t>(value.index)]; }
  /// Whether a call or an output reads it.
  bool is_used(graph::ValueId value) const { return used_[static_cast<std::size_t>(value.index)]; }
  std::string free_name(const std::string& wished);
  /// Adds a constant, and returns its name.
  std::string add_constant(const TensorRef& elements, const std::string& name);
  /// Asks for a function of portops' domain; once.
  bool wants_function(std::string_view op) { return functions_.insert(std::string(op)).second; }

 private:
  const std::string where_;
  const graph::Program& program_;
  onnx::ModelProto model_;
  std::vector<std::string> names_;
  std::vector<bool> used_;
  std::set<std::string, std::less<>> taken_;
  std::set<std::string, std::less<>> functions_;
};

class CallWriter {
 public:
  CallWriter(ModelTarget& target, const graph::Call& call) : target_(target), call_(call) {}

  const graph::Call& call() const { return call_; }
  ModelTarget& target() { return target_; }

  /// Whether an input is given as a value.
  bool has(std::string_view input) const;
  /// What is known of an input that is a value.
  const graph::ValueInfo& info(std::string_view input) const;
  /// The name of an input; "" where it is not given. A number becomes a constant of the type of `x`.
  std::string in(std::string_view input);
  std::vector<std::string> list(std::string_view input);
  const graph::ValueInfo& result_info(std::string_view output = "out") const;
  std::string out(std::string_view output = "out") const;
  bool is_used(std::string_view output) const;
  template <class T>
  const T& attribute(std::string_view name) const {
    return std::get<T>(call_.attributes.find(name)->second);
  }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return attribute<std::vector<std::int64_t>>(name);
  }

  /// A node, called as its first output.
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, std::string_view domain = "");
  /// The name of a constant that the node needs.
  std::string constant(const TensorRef& elements, std::string_view role);
  std::string constant(const std::vector<std::int64_t>& integers, std::string_view role);
  /// The name of a tensor between two nodes.
  std::string between(std::string_view role);

 private:
  ModelTarget& target_;
  const graph::Call& call_;
};

void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set_integers(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values);
void set_number(onnx::NodeProto& node, const std::string& name, double value);
void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value);
/// A TENSOR of one double.
void set_double(onnx::NodeProto& node, const std::string& name, double value);

/// Writes a call as nodes of ONNX' operators; false, and nothing is written, where these have another meaning.
bool write_standard(CallWriter& writer);
/// Writes a call as a node of portops' domain.
void write_own(CallWriter& writer);
/// Says, once in a model, what an operator computes, for readers that know ONNX' own operators alone. A silu, or a
/// linear layer with a bias.
void add_function(ModelTarget& target, const std::string& op);

// The calls that have operators of ONNX, by the files that they stand in; false as above.
bool write_arithmetic(CallWriter& writer);
bool write_activation(CallWriter& writer);
bool write_clip(CallWriter& writer);
bool write_hard_sigmoid(CallWriter& writer);
bool write_hard_swish(CallWriter& writer);
bool write_matmul(CallWriter& writer);
bool write_linear(CallWriter& writer);
bool write_conv(CallWriter& writer);
bool write_deform_conv(CallWriter& writer);
bool write_pool(CallWriter& writer);
bool write_batch_norm(CallWriter& writer);
bool write_layer_norm(CallWriter& writer);
bool write_softmax(CallWriter& writer);
bool write_reduction(CallWriter& writer);
bool write_norm(CallWriter& writer);
bool write_reshape(CallWriter& writer);
bool write_transpose(CallWriter& writer);
bool write_concat(CallWriter& writer);
bool write_split(CallWriter& writer);
bool write_slice(CallWriter& writer);
bool write_embedding(CallWriter& writer);

}  // namespace portops::impl
