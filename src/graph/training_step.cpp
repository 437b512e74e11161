// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/training_step.hpp"

#include "core/types/fail.hpp"
#include "graph/differentiate.hpp"
#include "nn/loss_scale.hpp"

#include <string>
#include <utility>
#include <vector>

namespace portops::graph {
namespace {

using impl::fail;
using StepCall = nn::Optimizer::StepCall;

constexpr const char* who = "portops::graph::add_training_step";

std::string in_optimizer(const std::string& name) { return "optimizer." + name; }
std::string in_scale(const std::string& name) { return "loss_scale." + name; }

/// What the step reads and changes beside parameters, by the names of the program's inputs for it.
nn::State numbers_of(const std::vector<StepCall>& calls, const nn::LossScale* scale) {
  nn::State all;
  for (const StepCall& call : calls) {
    all.push_back({in_optimizer(call.learning_rate.name), call.learning_rate.variable});
    for (const StepCall::Kept& kept : call.kept) {
      for (const nn::NamedVariable& each : kept.tensors) all.push_back({in_optimizer(each.name), each.variable});
    }
  }
  if (scale == nullptr) return all;
  for (const nn::NamedVariable& each : scale->state()) all.push_back({in_scale(each.name), each.variable});
  return all;
}

class TrainingStep {
 public:
  TrainingStep(Program& program, const nn::Optimizer& optimizer, const nn::LossScale* scale)
      : program_(program), calls_(optimizer.step_calls()), loss_scale_(scale) {}

  /// May leave the program half-made where something is thrown.
  void add(ValueId loss) {
    if (loss_scale_ != nullptr) check_types(loss);
    for (const nn::NamedVariable& each : numbers_of(calls_, loss_scale_)) {
      program_.add_input(each.name, each.variable.tensor().type(), each.variable.tensor().extents());
    }
    ValueId loss_grad;
    if (loss_scale_ != nullptr) {
      loss_grad = program_.call("full_like", {{"x", loss}, {"fill_value", program_.find(in_scale("scale"))}});
    }
    find_gradients(loss, loss_grad);
    if (loss_scale_ != nullptr) follow();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!taking_[i].empty()) step(i);
    }
  }

 private:
  /// A parameter that takes a step: its place in the call's lists, its value, and its gradient.
  struct Taking {
    std::size_t place;
    ValueId param, grad;
  };

  void check_types(ValueId loss) const {
    const auto check = [](const std::string& name, ElementType type) {
      if (type != ElementType::f64) return;
      fail(who, ": ", name, " is of f64, with a scale of the loss, which is for 16-bit types");
    };
    check("the loss " + program_.value(loss).name, program_.value(loss).type);
    for (const StepCall& call : calls_) {
      for (const nn::NamedVariable& each : call.parameters) check(each.name, each.variable.tensor().type());
    }
  }

  void find_gradients(ValueId loss, ValueId loss_grad) {
    std::vector<ValueId> params;
    for (const StepCall& call : calls_) {
      for (const nn::NamedVariable& each : call.parameters) params.push_back(param_of(each));
    }
    const std::vector<ValueId> grads = differentiate(program_, loss, params, loss_grad);
    std::size_t number = 0;
    bool any = false;
    for (const StepCall& call : calls_) {
      std::vector<Taking>& taking = taking_.emplace_back();
      for (std::size_t place = 0; place < call.parameters.size(); ++place, ++number) {
        if (grads[number]) taking.push_back({place, params[number], grads[number]});
      }
      any = any || !taking.empty();
    }
    if (!any) fail(who, ": the loss ", program_.value(loss).name, " was made from none of the optimizer's parameters");
  }

  ValueId param_of(const nn::NamedVariable& its) const {
    const ValueId value = program_.find(its.name);
    if (!value || program_.value(value).origin != Origin::input) {
      fail(who, ": the program has no input ", its.name, ", a parameter of the optimizer");
    }
    const ValueInfo& info = program_.value(value);
    const TensorRef& tensor = its.variable.tensor();
    if (info.type != tensor.type() || info.extents != tensor.extents()) {
      fail(who, ": the input ", its.name, " is ", name_of(info.type), " ", info.extents.to_string(),
           ", but the optimizer's parameter ", name_of(tensor.type()), " ", tensor.extents().to_string());
    }
    return value;
  }

  std::vector<ValueId> grads_of(std::size_t call) const {
    std::vector<ValueId> grads;
    for (const Taking& each : taking_[call]) grads.push_back(each.grad);
    return grads;
  }

  /// What nn::LossScale makes of the gradients.
  void follow() {
    const nn::LossScaleParams& params = loss_scale_->params();
    const ValueId scale = program_.find(in_scale("scale")), good_steps = program_.find(in_scale("good_steps"));
    std::vector<ValueId> counts;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!taking_[i].empty()) counts.push_back(program_.call("count_nonfinite", {{"x", grads_of(i)}}));
    }
    const Call& call =
        program_.add_call({.op = "update_loss_scale",
                           .inputs = {{"scale", scale}, {"good_steps", good_steps}, {"nonfinite", counts}},
                           .attributes = {{"growth_factor", params.growth_factor},
                                          {"backoff_factor", params.backoff_factor},
                                          {"growth_interval", params.growth_interval},
                                          {"largest", params.largest}},
                           .wanted = {"grad_scale", "skip"}});
    grad_scale_ = call.result("grad_scale");
    skip_ = call.result("skip");
    leave(call.result("scale_out"), scale);
    leave(call.result("good_steps_out"), good_steps);
  }

  /// The step of the parameters of one element type.
  void step(std::size_t number) {
    const StepCall& its = calls_[number];
    CallRequest request{.op = its.op, .inputs = {}, .attributes = its.attributes};
    std::vector<ValueId> params;
    for (const Taking& each : taking_[number]) params.push_back(each.param);
    request.inputs.insert(
        {{"param", params}, {"grad", grads_of(number)}, {"grad_scale", grad_scale_}, {"skip", skip_}});
    request.inputs.emplace("learning_rate", program_.find(in_optimizer(its.learning_rate.name)));
    std::vector<std::pair<std::string, std::vector<ValueId>>> left{{"param_out", params}};
    for (const StepCall::Kept& kept : its.kept) {
      std::vector<ValueId> values;
      for (std::size_t i = 0; i < (kept.is_list ? taking_[number].size() : 1); ++i) {
        const std::size_t place = kept.is_list ? taking_[number][i].place : 0;
        values.push_back(program_.find(in_optimizer(kept.tensors[place].name)));
      }
      request.inputs.emplace(kept.input, kept.is_list ? Operand(values) : Operand(values.front()));
      left.emplace_back(kept.input + "_out", values);
    }
    for (const auto& [output, values] : left) request.wanted.push_back(output);
    const Call& call = program_.add_call(request);
    for (const auto& [output, inputs] : left) {
      const std::vector<ValueId> results = call.output(output)->values();
      for (std::size_t i = 0; i < inputs.size(); ++i) leave(results[i], inputs[i]);
    }
  }

  void leave(ValueId result, ValueId input) { program_.add_output(program_.value(input).name, result, input); }

  Program& program_;
  std::vector<StepCall> calls_;
  const nn::LossScale* loss_scale_;
  std::vector<std::vector<Taking>> taking_;  ///< of each call
  ValueId grad_scale_, skip_;
};

}  // namespace

void add_training_step(Program& program, ValueId loss, const nn::Optimizer& optimizer, const nn::LossScale* scale) {
  Program changed = program;
  TrainingStep(changed, optimizer, scale).add(loss);
  program = std::move(changed);
}

void bind_training_step(Execution& execution, const nn::Optimizer& optimizer, const nn::LossScale* scale) {
  const nn::State bound = numbers_of(optimizer.step_calls(), scale);
  constexpr const char* caller = "portops::graph::bind_training_step";
  std::size_t own = 0;
  for (const ValueId input : execution.program().inputs()) {
    const std::string& name = execution.program().value(input).name;
    own += name.starts_with(in_optimizer("")) || name.starts_with(in_scale("")) ? 1 : 0;
  }
  for (const nn::NamedVariable& each : bound) {
    if (execution.program().find(each.name)) continue;
    fail(caller, ": the program has no input ", each.name, ": it is another optimizer's");
  }
  if (own != bound.size()) {
    fail(caller, ": the program has ", own, " inputs for the numbers of an optimizer and a scale of the loss, but ",
         scale != nullptr ? "these have " : "the optimizer, without a scale, has ", bound.size());
  }
  for (const nn::NamedVariable& each : bound) execution.bind_input(each.name, each.variable.tensor());
}

}  // namespace portops::graph
