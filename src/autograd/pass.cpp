// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/pass.hpp"

#include "autograd/gradient_call.hpp"
#include "core/types/fail.hpp"

#include <algorithm>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <utility>

namespace portops::impl {
namespace {

/// "x_grad", or "x_grad[2]" of a list.
std::string name_of_gradient(const CallNode& node, std::size_t operand) {
  const char* const* variables = node.operation->variables;
  const bool is_list = variables[1] == nullptr && node.operands.size() > 1;
  return is_list ? std::string(variables[0]) + "_grad[" + std::to_string(operand) + "]"
                 : std::string(variables[operand]) + "_grad";
}

}  // namespace

Pass::Pass(const Context& ctx, const char* name, std::span<const Start> starts, bool keep_graph, bool create_graph)
    : ctx_(ctx), name_(name), keep_graph_(keep_graph), create_graph_(create_graph), call_(ctx, !keep_graph) {
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<const Node*, std::uint32_t> found(&memory);
  const auto visit_of = [&](const std::shared_ptr<Node>& node) {
    if (node == nullptr) return none;
    const auto [at, is_new] = found.try_emplace(node.get(), static_cast<std::uint32_t>(visits_.size()));
    if (is_new) visits_.emplace_back().node = node;
    return at->second;
  };
  for (const Start& start : starts) starts_.push_back(visit_of(start.edge.node));
  std::size_t gradients = 0;
  for (std::size_t next = 0; next < visits_.size(); ++next) {
    visits_[next].first_edge = edges_.size();
    visits_[next].first_gradient = gradients;
    gradients += visits_[next].node->outputs;
    const Node& node = *visits_[next].node;  // visits_ grows
    for (const NodeOperand& operand : node.operands) edges_.push_back(visit_of(operand.edge.node));
  }
  gradients_.resize(gradients);
  if (create_graph_) gradient_edges_.resize(gradients);
  order_.resize(visits_.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::sort(order_.begin(), order_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return visits_[a].node->number > visits_[b].node->number; });
}

void Pass::prepare() {
  for (Visit& visit : visits_) visit.is_target = visit.node->is_leaf();
  choose();
}

void Pass::prepare(std::span<const Edge> targets) {
  has_targets_ = true;
  captured_.resize(targets.size());
  std::unordered_map<const Node*, std::uint32_t> found;
  for (std::uint32_t i = 0; i < visits_.size(); ++i) found.emplace(visits_[i].node.get(), i);
  for (const Edge& target : targets) {
    const auto at = found.find(target.node.get());
    targets_.push_back({at != found.end() ? at->second : none, target.output});
    if (at != found.end()) visits_[at->second].is_target = true;
  }
  choose();
}

/// What the pass comes to, of all that it could come to.
void Pass::choose() {
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    Visit& visit = visits_[*i];
    for (const std::uint32_t edge : edges_of(visit))
      visit.runs = visit.runs || (edge != none && visits_[edge].receives);
    visit.receives = visit.runs || visit.is_target;
    if (visit.runs) check(static_cast<const CallNode&>(*visit.node));
  }
  for (const std::uint32_t start : starts_) ++visits_[start].waiting;
  for (const Visit& visit : visits_) {
    if (!visit.runs) continue;
    for (const std::uint32_t edge : edges_of(visit)) {
      if (edge != none) ++visits_[edge].waiting;
    }
  }
}

/// Throws Error where what the call kept has been given back, or changed.
void Pass::check(const CallNode& node) const {
  const Operation& operation = *node.operation;
  if (node.is_gradient_call) {
    fail(name_, ": ", operation.grad_name, " is not differentiable: gradients of gradients are not computed of ",
         operation.name);
  }
  if (node.is_released.load(std::memory_order_acquire)) {
    fail(name_, ": what ", operation.name, " kept for its gradient has been given back by an earlier pass, ",
         "expected keep_graph there");
  }
  const char* const* name = operation.kept_names;
  for (const Kept& its : node.kept) {
    const Memory* memory = its.value.memory.get();
    if (memory != nullptr && memory->version() != its.version) {
      fail(name_, ": ", operation.name, " kept ", *name, " for its gradient, but ", memory->changed_by(),
           " has changed it in place since");
    }
    if (name[1] != nullptr) ++name;  // the last one is that of a list
  }
}

std::vector<autograd::Variable> Pass::run(std::vector<Start> starts) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    add(visits_[starts_[i]].first_gradient + starts[i].edge.output, std::move(starts[i].gradient),
        std::move(starts[i].gradient_edge));
  }
  for (const std::uint32_t start : starts_) brought(start);
  for (const std::uint32_t i : order_) {
    Visit& visit = visits_[i];
    if (visit.node->is_leaf() || !visit.receives) continue;
    if (has_targets_ && visit.is_target) capture(i);
    if (visit.runs) call(visit);
    forget_gradients(visit);
  }
  return std::move(captured_);
}

void Pass::forget_gradients(const Visit& visit) {
  for (std::size_t i = visit.first_gradient; i < visit.first_gradient + visit.node->outputs; ++i) {
    gradients_[i] = {};
    if (create_graph_) gradient_edges_[i] = {};
  }
}

/// Adds to the gradient of an output.
void Pass::add(std::size_t gradient, Value&& term, Edge&& edge) {
  Value& sum = gradients_[gradient];
  if (!create_graph_) return add_value(ctx_, sum, std::move(term));
  Edge& sum_edge = gradient_edges_[gradient];
  if (!sum) {
    sum = std::move(term);
    sum_edge = std::move(edge);
    return;
  }
  const autograd::Variable both =
      add_variables(ctx_, make_variable(std::move(sum), std::move(sum_edge)), make_variable(std::move(term), edge));
  sum = both.data()->value;
  sum_edge = both.data()->edge;
}

/// Calls the gradient operator, unless no gradient has come, and hands on what it gives.
void Pass::call(const Visit& visit) {
  auto& node = static_cast<CallNode&>(*visit.node);
  const std::span<const std::uint32_t> edges = edges_of(visit);
  const std::span<Value> out_grads = gradients_of(visit);
  const bool has_come =
      std::any_of(out_grads.begin(), out_grads.end(), [](const Value& each) { return static_cast<bool>(each); });
  if (has_come) {
    if (!keep_graph_ && node.is_released.exchange(true)) check(node);
    wanted_.resize(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) wanted_[i] = edges[i] != none && visits_[edges[i]].receives;
    call_.begin(node, out_grads, wanted_, !has_targets_);
    if (create_graph_) {
      call_remembered(node, visit);
    } else {
      node.operation->backward(call_);
    }
    if (call_.sparse()) sparse_.emplace_back(edges[0], std::move(call_.sparse()));
    call_.end();
  } else if (!keep_graph_) {
    node.kept = {};
  }
  forget_gradients(visit);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i] == none) continue;
    if (has_come && call_.gradients()[i]) hand_on(node, i, visits_[edges[i]]);
    brought(edges[i]);
  }
}

/// Adds the gradient of an operand to that of what it was.
void Pass::hand_on(const CallNode& node, std::size_t operand, const Visit& to) {
  Value& gradient = call_.gradients()[operand];
  if (scopes().finds_nan) {
    check_nan(ctx_, node.operation->grad_name, name_of_gradient(node, operand), gradient.tensor);
  }
  add(to.first_gradient + node.operands[operand].edge.output, std::move(gradient),
      create_graph_ ? std::move(made_edges_[operand]) : Edge());
}

/// Calls the gradient operator by calls that are remembered; where there is no such way, what is computed leads to a
/// refusal.
void Pass::call_remembered(const CallNode& node, const Visit& visit) {
  const auto out_grads = std::span(gradient_edges_).subspan(visit.first_gradient, node.outputs);
  call_.set_out_grad_edges(out_grads);
  made_edges_.assign(node.operands.size(), {});
  if (node.operation->gradients != nullptr) {
    const std::vector<autograd::Variable> made = node.operation->gradients(call_);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i] || !call_.wants(i)) continue;
      call_.gradients()[i] = made[i].data()->value;
      made_edges_[i] = made[i].data()->edge;
    }
    return;
  }
  node.operation->backward(call_);
  auto refusal = std::make_shared<CallNode>(node.operation);
  refusal->is_gradient_call = true;
  refusal->operands = node.operands;
  for (const Edge& edge : out_grads) refusal->operands.emplace_back().edge = edge;
  for (Edge& edge : made_edges_) edge.node = refusal;
}

/// One of those that a leaf waits for is done.
void Pass::brought(std::uint32_t i) {
  Visit& visit = visits_[i];
  --visit.waiting;
  if (visit.waiting > 0 || !visit.node->is_leaf() || !visit.is_target) return;
  if (has_targets_) {
    capture(i);
    forget_gradients(visit);
  } else {
    finish_leaf(i);
  }
}

void Pass::finish_leaf(std::uint32_t i) {
  auto& leaf = static_cast<Leaf&>(*visits_[i].node);
  Value& gradient = gradients_[visits_[i].first_gradient];
  bool has_come = static_cast<bool>(gradient);
  if (gradient) leaf.add(ctx_, std::move(gradient));
  gradient = {};
  for (auto& [visit, term] : sparse_) {
    if (visit != i) continue;
    leaf.add(ctx_, std::exchange(term, {}));
    has_come = true;
  }
  if (!has_come) return;
  if (const auto hook = leaf.hook()) hook(make_variable(leaf.value, {visits_[i].node, 0}));
}

void Pass::capture(std::uint32_t visit) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].visit != visit) continue;
    const std::size_t gradient = visits_[visit].first_gradient + targets_[i].output;
    if (!gradients_[gradient]) continue;
    captured_[i] = make_variable(gradients_[gradient], create_graph_ ? gradient_edges_[gradient] : Edge());
  }
}

}  // namespace portops::impl
