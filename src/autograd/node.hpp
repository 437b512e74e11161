// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/memory.hpp"
#include "autograd/scopes.hpp"
#include "autograd/variable.hpp"

#include <any>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// The tape: calls that are remembered, from the last one to the leaves.

namespace portops::impl {

class CallObserver;
class GradientCall;
class Node;

/// Of what a call keeps: it is no input that has a gradient.
inline constexpr int no_operand = -1;

/// What the schema says of an operator with a gradient: a row of generated data.
struct Operation {
  const char* name;
  const char* grad_name;            ///< of the operator that computes the gradients
  const char* label;                ///< of the region of its calls, and of their outputs' memory
  const char* grad_label;           ///< of the gradients' memory
  const char* const* kept_names;    ///< what a call keeps, in its order, and null; a list stands last
  std::size_t kept_count;           ///< how many these are
  const char* const* variables;     ///< the inputs that have gradients, in their order; or one list of them
  const char* output;               ///< the output, or the list of them, that has a gradient
  const int* kept_operands;         ///< of what a call keeps, which operand it is, or no_operand
  void (*backward)(GradientCall&);  ///< calls the gradient operator
  /// The same by calls that are remembered, as in second_order.hpp; null where there is no such way.
  std::vector<autograd::Variable> (*gradients)(GradientCall&);
};

/// Where a gradient goes: to an output of a call, or to a leaf.
struct Edge {
  std::shared_ptr<Node> node;  ///< null: no gradient is wanted
  std::uint32_t output = 0;
};

/// An input of a call of which a gradient is, or is not, wanted.
struct NodeOperand {
  Edge edge;
  ElementType type = ElementType::f32;
  Extents extents;
  Levels levels;
};

/// A leaf or a call. Numbers ascend in the order in which they were made, so that a call's is higher than those of what
/// it was made on.
class Node {
 public:
  explicit Node(const Operation* operation);
  /// Takes down what only this holds without recursion: chains are long.
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool is_leaf() const { return operation == nullptr; }

  const Operation* const operation;  ///< null: a leaf
  const std::uint64_t number;
  std::uint32_t outputs = 1;
  std::vector<NodeOperand> operands;
};

/// The gradient of a leaf.
class Leaf final : public Node {
 public:
  Leaf(Value its_value, bool wants_sparse) : Node(nullptr), value(std::move(its_value)), is_sparse(wants_sparse) {}

  const Value value;
  const bool is_sparse;

  Value gradient() const;
  SparseValue sparse_gradient() const;
  /// Adds to the gradient, or takes the term over where there is none. A sparse gradient ends with the first dense one.
  void add(const Context& ctx, Value&& term);
  void add(const Context& ctx, SparseValue&& term);
  void replace(Value gradient);
  void replace(SparseValue gradient);
  void clear() { replace(Value()); }
  void set_hook(std::function<void(const autograd::Variable&)> hook);
  std::function<void(const autograd::Variable&)> hook() const;

 private:
  mutable std::mutex mutex_;
  Value gradient_;
  SparseValue sparse_;
  std::function<void(const autograd::Variable&)> hook_;
};

/// What a call keeps for its gradient: a tensor, extents alone, levels alone or a number.
struct Kept {
  Value value;
  double number = 0.0;
  std::uint32_t version = 0;
  bool is_number = false;
  /// What stands for the elements, where hooks packed them.
  struct Packed {
    std::any value;
    std::shared_ptr<const autograd::SavedTensorHooks::Pair> hooks;
  };
  std::shared_ptr<const Packed> packed;
};

/// A remembered call.
class CallNode : public Node {
 public:
  using Node::Node;

  std::vector<Kept> kept;
  /// The extents and element types of a list of outputs: a gradient takes all of them, zeros where there is none.
  std::vector<TensorRef> output_shapes;
  /// Stands for a call of the gradient operator, which has no gradient: what is made of it leads to where it came from,
  /// and a pass that comes to it is refused.
  bool is_gradient_call = false;
  /// Whether a pass has given back what was kept.
  std::atomic<bool> is_released = false;
};

/// With the operator's options, the tensors among which are empty: they are kept.
template <class Params>
class CallNodeOf final : public CallNode {
 public:
  using CallNode::CallNode;
  Params params;
};

/// What copies of a variable share. Its own gradient is wanted, or that of something that it was made from, where it
/// has an edge.
class VariableData {
 public:
  Value value;
  Edge edge;
};

// Sums of gradients, by operators: defined by what is made from the schema.

/// out = x + y, by the operator add; out may be x. Throws Error in a build without that.
void add_tensors(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out);
/// The same as a call that is remembered.
autograd::Variable add_variables(const Context& ctx, const autograd::Variable& x, const autograd::Variable& y);
/// out = x, and the values added to its rows; by the operator sparse_sgd. out may be x.
void add_rows(const Context& ctx, const TensorRef& x, const SparseValue& term, const TensorRef& out);
/// The rows of a sparse gradient in a table of `height`, each of which may occur several times, added up; by the
/// operator embedding_sparse_gradient. Rows that are `height` are left out.
void merge_rows_of(const Context& ctx, std::int64_t height, const TensorRef& rows, const TensorRef& values,
                   const SparseValue& out);

/// Adds the term to the sum, in memory that nobody else holds where there is some; without a sum the term is the sum.
void add_value(const Context& ctx, Value& sum, Value&& term);

/// What scopes have changed for the calls of this host thread.
struct Scopes {
  bool remembers = true;
  bool finds_nan = false;
  std::shared_ptr<const autograd::SavedTensorHooks::Pair> hooks;
  CallObserver* observer = nullptr;  ///< as in observer.hpp
};
Scopes& scopes();

/// Throws Error, and names the operator and the tensor, where one of the elements is NaN. Waits. Tensors with gaps,
/// which are a caller's, are passed over.
void check_nan(const Context& ctx, const char* op, const std::string& name, const TensorRef& tensor);

autograd::Variable make_variable(Value value, Edge edge = {});

}  // namespace portops::impl
