// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/optimizer.hpp"

#include "autograd/node.hpp"
#include "core/check/check.hpp"
#include "core/types/fail.hpp"
#include "nn/host_numbers.hpp"
#include "nn/loss_scale.hpp"
#include "portops/ops/full_like.hpp"

#include <algorithm>
#include <cmath>

namespace portops::nn {
namespace {

constexpr const char* name = "portops::nn::Optimizer";

bool wants_sparse(const Variable& variable) {
  const auto& node = variable.data()->edge.node;
  return node->is_leaf() && static_cast<const impl::Leaf*>(node.get())->is_sparse;
}

std::uint32_t version_of(const Variable& variable) { return variable.data()->value.memory->version(); }

/// The output in which a step leaves an input.
std::string out(const std::string& input) { return input + "_out"; }
std::string master_of(const std::string& parameter) { return "master." + parameter; }
std::string of_type(const std::string& input, ElementType type) { return input + "." + std::string(name_of(type)); }

}  // namespace

Optimizer::Optimizer(const Context& ctx, const State& parameters, double learning_rate, const Rules& rules)
    : learning_rate_(learning_rate), rules_(rules) {
  find_operator(rules.op);  // a build may be without it
  rules_.attributes["weight_decay"] = rules.weight_decay;
  rules_.attributes["maximize"] = rules.maximize;
  if (!std::isfinite(learning_rate)) {
    impl::fail(name, ": learning_rate is ", learning_rate, ", expected a finite number");
  }
  for (const NamedVariable& each : parameters) {
    if (each.variable.wants_gradient()) add(ctx, each);
  }
}

Optimizer::Group& Optimizer::group_of(const Context& ctx, ElementType type) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& each) { return each.type == type; });
  if (found != groups_.end()) return *found;
  Group& group = groups_.emplace_back();
  group.type = type;
  group.learning_rate = impl::make_numbers(ctx, impl::sum_type(type), {}, learning_rate_);
  for (std::size_t i = 0; i < rules_.powers.size(); ++i) {
    group.powers[i] = impl::make_numbers(ctx, ElementType::f64, {}, rules_.powers[i].second);
  }
  return group;
}

void Optimizer::add(const Context& ctx, const NamedVariable& its) {
  const TensorRef& tensor = its.variable.tensor();
  const ElementType type = tensor.type(), sums = impl::sum_type(type);
  if (!its.variable.is_leaf()) impl::fail(name, ": ", its.name, " is no leaf");
  const bool is_sparse = wants_sparse(its.variable);
  if (sums != type && is_sparse && rules_.has_masters) {
    impl::fail(name, ": ", its.name, " is of ", name_of(type),
               " and wants a sparse gradient, expected f32 or f64, or has_masters = false: ",
               "the sparse steps have no masters");
  }
  Parameter parameter{.its = its, .master = {}, .version = version_of(its.variable), .moments = {}};
  if (rules_.has_masters && sums != type) {
    parameter.master = impl::make_numbers(ctx, sums, tensor.extents(), impl::read_numbers(ctx, tensor));
  }
  for (std::size_t i = 0; i < rules_.moments.size(); ++i) {
    parameter.moments[i] = impl::make_numbers(ctx, is_sparse ? type : sums, tensor.extents(), 0);
  }
  group_of(ctx, type).parameters.push_back(std::move(parameter));
}

void Optimizer::step(const Context& ctx) { step(ctx, nullptr); }
void Optimizer::step(const Context& ctx, LossScale& scale) { step(ctx, &scale); }

void Optimizer::step(const Context& ctx, LossScale* scale) {
  std::vector<Step> steps;
  std::vector<SparseStep> sparse_steps;
  std::vector<Parameter*> changed;
  std::vector<Variable> gradients;  // these live until the calls are made
  for (Group& group : groups_) {
    Step step;
    step.powers = {group.powers[0], group.powers[1]};
    step.learning_rate = group.learning_rate;
    for (Parameter& each : group.parameters) {
      const Variable& variable = each.its.variable;
      const Variable grad = variable.grad();
      const autograd::SparseGradient sparse = grad ? autograd::SparseGradient() : variable.sparse_grad();
      if (!grad && !sparse) continue;
      changed.push_back(&each);
      if (sparse) {
        check_sparse(each.its.name, scale != nullptr);
        gradients.insert(gradients.end(), {sparse.rows, sparse.values, sparse.count});
        sparse_steps.push_back({.param = variable.tensor(),
                                .rows = sparse.rows.tensor(),
                                .values = sparse.values.tensor(),
                                .count = sparse.count.tensor(),
                                .moments = {each.moments[0], each.moments[1]},
                                .number = steps_ + 1});
        continue;
      }
      gradients.push_back(grad);
      step.param.push_back(variable.tensor());
      step.grad.push_back(grad.tensor());
      if (each.master.ref()) {
        follow_change(ctx, each);
        step.master.push_back(each.master);
      }
      for (std::size_t i = 0; i < rules_.moments.size(); ++i) step.moments[i].push_back(each.moments[i]);
    }
    if (scale != nullptr && group.type == ElementType::f64) {
      impl::fail(name, ": the parameters are of f64, with a scale of the loss, which is for 16-bit types");
    }
    if (!step.param.empty()) steps.push_back(std::move(step));
  }
  if (scale != nullptr && !steps.empty()) {
    std::vector<std::span<const TensorRef>> all;
    for (const Step& step : steps) all.emplace_back(step.grad);
    scale->follow(ctx, all);
    for (Step& step : steps) step.grad_scale = scale->grad_scale_, step.skip = scale->skip_;
  }
  for (const Step& step : steps) dense_step(ctx, step);
  for (const SparseStep& step : sparse_steps) sparse_step(ctx, step);
  for (Parameter* each : changed) mark_changed(*each);
  ++steps_;
}

void Optimizer::dense_step(const Context& ctx, const Step& step) const {
  Arguments arguments;
  for (const auto& [attribute, value] : rules_.attributes) arguments.set(attribute, value);
  arguments.set("grad", step.grad).set("learning_rate", step.learning_rate);
  arguments.set("grad_scale", step.grad_scale).set("skip", step.skip);
  arguments.set("param", step.param).set(out("param"), step.param);
  arguments.set("master_param", step.master).set(out("master_param"), step.master);
  for (std::size_t i = 0; i < rules_.moments.size(); ++i) {
    arguments.set(rules_.moments[i], step.moments[i]).set(out(rules_.moments[i]), step.moments[i]);
  }
  for (std::size_t i = 0; i < rules_.powers.size(); ++i) {
    const std::string& power = rules_.powers[i].first;
    arguments.set(power, step.powers[i]).set(out(power), step.powers[i]);
  }
  run(rules_.op, ctx, arguments);
}

std::vector<Optimizer::StepCall> Optimizer::step_calls() const {
  std::vector<StepCall> calls;
  for (const Group& group : groups_) {
    StepCall& call =
        calls.emplace_back(StepCall{.op = rules_.op,
                                    .attributes = rules_.attributes,
                                    .parameters = {},
                                    .learning_rate = {of_type("learning_rate", group.type), group.learning_rate},
                                    .kept = {}});
    State masters;
    std::array<State, 2> moments;
    for (const Parameter& each : group.parameters) {
      if (wants_sparse(each.its.variable)) {
        impl::fail(name, "::step_calls: ", each.its.name, " wants a sparse gradient, expected dense ones");
      }
      call.parameters.push_back(each.its);
      if (each.master.ref()) masters.push_back({master_of(each.its.name), each.master});
      for (std::size_t i = 0; i < rules_.moments.size(); ++i) {
        moments[i].push_back({rules_.moments[i] + "." + each.its.name, each.moments[i]});
      }
    }
    if (!masters.empty()) call.kept.push_back({"master_param", masters, true});
    for (std::size_t i = 0; i < rules_.moments.size(); ++i) {
      call.kept.push_back({rules_.moments[i], moments[i], true});
    }
    for (std::size_t i = 0; i < rules_.powers.size(); ++i) {
      const std::string& power = rules_.powers[i].first;
      call.kept.push_back({power, {{of_type(power, group.type), group.powers[i]}}, false});
    }
  }
  return calls;
}

void Optimizer::prepare_step(const Context& ctx) {
  for (Group& group : groups_) {
    for (Parameter& each : group.parameters) {
      if (!each.master.ref()) continue;
      follow_change(ctx, each);
      each.version = version_of(each.its.variable);
    }
  }
}

void Optimizer::count_step() {
  for (Group& group : groups_) {
    for (Parameter& each : group.parameters) mark_changed(each);
  }
  ++steps_;
}

void Optimizer::mark_changed(Parameter& parameter) {
  parameter.its.variable.mark_changed(name);
  parameter.version = version_of(parameter.its.variable);
}

/// Not all elements: a checkpoint has both, and the master digits that its parameter has not.
void Optimizer::follow_change(const Context& ctx, const Parameter& parameter) {
  const Variable& variable = parameter.its.variable;
  if (version_of(variable) == parameter.version) return;
  const std::vector<double> elements = impl::read_numbers(ctx, variable.tensor());
  std::vector<double> master = impl::read_numbers(ctx, parameter.master);
  const Tensor host(variable.tensor().type(), variable.tensor().extents());
  impl::write_numbers(ctx, master, host);
  const std::vector<double> rounded = impl::read_numbers(ctx, host);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (rounded[i] != elements[i]) master[i] = elements[i];
  }
  impl::write_numbers(ctx, master, parameter.master);
}

void Optimizer::check_sparse(const std::string& parameter, bool has_scale) const {
  const char* reason = rules_.weight_decay != 0 ? "weight_decay"
                       : rules_.maximize        ? "maximize"
                       : has_scale              ? "a scale of the loss"
                                                : nullptr;
  if (reason != nullptr) {
    impl::fail(name, ": the gradient of ", parameter, " is sparse, and the sparse steps do not have ", reason);
  }
}

void Optimizer::set_learning_rate(const Context& ctx, double learning_rate) {
  if (learning_rate == learning_rate_) return;
  if (!std::isfinite(learning_rate)) {
    impl::fail(name, ": learning_rate is ", learning_rate, ", expected a finite number");
  }
  for (const Group& group : groups_) full_like(ctx, group.learning_rate, learning_rate, group.learning_rate);
  learning_rate_ = learning_rate;
}

void Optimizer::clear_grads() {
  for (Group& group : groups_) {
    for (Parameter& each : group.parameters) each.its.variable.clear_grad();
  }
}

State Optimizer::state() {
  State state{{"steps", Variable(TensorRef(&steps_, {}))}};
  for (Group& group : groups_) {
    for (std::size_t i = 0; i < rules_.powers.size(); ++i) {
      state.push_back({of_type(rules_.powers[i].first, group.type), group.powers[i]});
    }
    for (Parameter& each : group.parameters) {
      if (each.master.ref()) state.push_back({master_of(each.its.name), each.master});
      for (std::size_t i = 0; i < rules_.moments.size(); ++i) {
        state.push_back({rules_.moments[i] + "." + each.its.name, each.moments[i]});
      }
    }
  }
  return state;
}

}  // namespace portops::nn
