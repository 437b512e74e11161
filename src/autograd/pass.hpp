// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/gradient_call.hpp"
#include "autograd/node.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace portops::impl {

/// Where a pass begins, and with what.
struct Start {
  Edge edge;
  Value gradient;
  Edge gradient_edge;  ///< where that leads, in a pass whose gradients are remembered
};

/// A backward pass. Its state is here and not in the tape, which it only reads and, without keep_graph, empties.
class Pass {
 public:
  /// `name` stands in messages. Finds the calls and leaves that the starts lead to.
  Pass(const Context& ctx, const char* name, std::span<const Start> starts, bool keep_graph, bool create_graph = false);

  /// Towards all leaves. Throws Error where a call has nothing to read any more, or something else than it kept.
  void prepare();
  /// Towards these alone.
  void prepare(std::span<const Edge> targets);

  /// Enqueues the gradient operators. Gives the gradients of the targets, some of which may be empty; without targets
  /// the leaves have theirs.
  std::vector<autograd::Variable> run(std::vector<Start> starts);

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// A call or leaf that the pass comes to.
  struct Visit {
    std::shared_ptr<Node> node;
    std::size_t first_gradient = 0;  ///< of its outputs, in gradients_
    std::size_t first_edge = 0;      ///< of its operands, in edges_
    std::uint32_t waiting = 0;       ///< of a leaf: calls and starts that may still bring a part of its gradient
    bool is_target = false;
    bool receives = false;  ///< its gradient leads to something wanted, or is wanted
    bool runs = false;      ///< its gradient operator is called
  };
  struct Target {
    std::uint32_t visit;
    std::uint32_t output;
  };

  void choose();
  void check(const CallNode& node) const;
  void call(const Visit& visit);
  void call_remembered(const CallNode& node, const Visit& visit);
  void hand_on(const CallNode& node, std::size_t operand, const Visit& to);
  void add(std::size_t gradient, Value&& term, Edge&& edge);
  void forget_gradients(const Visit& visit);
  void brought(std::uint32_t visit);
  void finish_leaf(std::uint32_t visit);
  void capture(std::uint32_t visit);
  std::span<Value> gradients_of(const Visit& visit) {
    return std::span(gradients_).subspan(visit.first_gradient, visit.node->outputs);
  }
  std::span<const std::uint32_t> edges_of(const Visit& visit) const {
    return std::span(edges_).subspan(visit.first_edge, visit.node->operands.size());
  }

  const Context& ctx_;
  const char* name_;
  bool keep_graph_;
  bool create_graph_;
  std::vector<Visit> visits_;                                  ///< the first ones are those of the starts
  std::vector<std::uint32_t> edges_;                           ///< the visits that operands lead to, or none
  std::vector<std::uint32_t> starts_;                          ///< the visits of the starts
  std::vector<std::uint32_t> order_;                           ///< the highest number first
  std::vector<Value> gradients_;                               ///< of all outputs
  std::vector<Edge> gradient_edges_;                           ///< where these lead, if they are remembered
  std::vector<std::uint8_t> wanted_;                           ///< of the operands of the call at hand
  std::vector<Edge> made_edges_;                               ///< where its gradients lead, if they are remembered
  GradientCall call_;                                          ///< that of the call at hand
  std::vector<std::pair<std::uint32_t, SparseValue>> sparse_;  ///< of leaves, in the order in which they came
  std::vector<Target> targets_;
  std::vector<autograd::Variable> captured_;  ///< the gradients of the targets
  bool has_targets_ = false;
};

}  // namespace portops::impl
