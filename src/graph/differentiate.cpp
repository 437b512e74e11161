// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/differentiate.hpp"

#include "core/types/fail.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace portops::graph {

using impl::fail;

namespace {

constexpr const char* who = "portops::graph::differentiate";

/// On the host, with one number everywhere.
Tensor make_filled(ElementType type, const Extents& extents, double number) {
  const Tensor tensor(type, extents);
  const std::int64_t count = extents.product();
  const auto fill = [&]<class T>(T value) { std::fill_n(tensor.data<T>(), count, value); };
  switch (type) {
    case ElementType::f64: fill(number); break;
    case ElementType::f32: fill(static_cast<float>(number)); break;
    case ElementType::f16: fill(f16(number)); break;
    case ElementType::bf16: fill(bf16(number)); break;
    case ElementType::i64: fill(static_cast<std::int64_t>(number)); break;
  }
  return tensor;
}

class Differentiation {
 public:
  Differentiation(Program& program, ValueId loss)
      : program_(program), gradients_(program.values().size()), loss_(loss) {}

  std::vector<ValueId> run(const std::vector<ValueId>& variables, ValueId loss_grad) {
    check(variables, loss_grad);
    find_dependents(variables);
    if (!depends(loss_)) return std::vector<ValueId>(variables.size());
    // The constant makes room for its gradient: first of all.
    const ValueId of_loss = loss_grad ? loss_grad : filled("loss_grad", program_.value(loss_), 1.0);
    gradients_[static_cast<std::size_t>(loss_.index)] = of_loss;
    for (auto number = static_cast<std::int32_t>(program_.calls().size()); number-- > 0;) visit(number);
    std::vector<ValueId> result;
    for (const ValueId variable : variables) result.push_back(gradient(variable));
    return result;
  }

 private:
  bool depends(ValueId value) const { return depends_[static_cast<std::size_t>(value.index)] != 0; }
  ValueId gradient(ValueId value) const { return gradients_[static_cast<std::size_t>(value.index)]; }

  void check(const std::vector<ValueId>& variables, ValueId loss_grad) const {
    const ValueInfo& loss = program_.value(loss_);
    if (!loss_grad && loss.extents.product() != 1) {
      fail(who, ": the loss ", loss.name, " has extents ", loss.extents.to_string(),
           ", expected one element or a loss_grad");
    }
    if (loss_grad) {
      const ValueInfo& its = program_.value(loss_grad);
      if (its.type != loss.type || its.extents != loss.extents) {
        fail(who, ": loss_grad is ", name_of(its.type), " ", its.extents.to_string(), ", but the loss ", loss.name, " ",
             name_of(loss.type), " ", loss.extents.to_string());
      }
    }
    for (const ValueId variable : variables) {
      if (program_.value(variable).type == ElementType::i64) {
        fail(who, ": ", program_.value(variable).name, " holds indices, expected a variable with a gradient");
      }
    }
  }

  /// The inputs of a call that have gradients, in the order of its gradient operator.
  static std::vector<std::string> variables_of(const OperatorInfo& gradient) {
    constexpr std::string_view suffix = "_grad";
    std::vector<std::string> names;
    for (const OutputInfo& output : gradient.outputs) {
      names.push_back(output.name.substr(0, output.name.size() - suffix.size()));
    }
    return names;
  }
  /// The outputs whose gradients a gradient operator takes: those that are no argument of the call themselves.
  static std::vector<std::string> differentiable_outputs(const OperatorInfo& op, const OperatorInfo& gradient) {
    std::vector<std::string> names;
    for (const OutputInfo& output : op.outputs) {
      const std::string taken = output.name + "_grad";
      const bool is_taken = std::any_of(gradient.inputs.begin(), gradient.inputs.end(),
                                        [&](const InputInfo& input) { return input.name == taken; });
      if (is_taken) names.push_back(output.name);
    }
    return names;
  }

  /// Which values depend on a variable in a way that has a gradient. Throws Error where one that the loss may be made
  /// from does so by an operator without one.
  void find_dependents(const std::vector<ValueId>& variables) {
    depends_.assign(program_.values().size(), 0);
    for (const ValueId variable : variables) depends_[static_cast<std::size_t>(variable.index)] = 1;
    const std::vector<std::uint8_t> leads = leads_to_loss();
    for (std::size_t number = 0; number < program_.calls().size(); ++number) {
      const Call& call = program_.calls()[number];
      if (leads[number] == 0) continue;
      const OperatorInfo& op = find_operator(call.op);
      if (op.backward.empty()) {
        refuse_without_gradient(call, number);
        continue;
      }
      const OperatorInfo& gradient = find_operator(op.backward);
      bool wants = false;
      for (const std::string& name : variables_of(gradient)) wants = wants || wants_gradient(call.input(name));
      if (!wants) continue;
      for (const std::string& name : differentiable_outputs(op, gradient)) {
        for (const ValueId value : call.output(name)->values()) depends_[static_cast<std::size_t>(value.index)] = 1;
      }
    }
  }
  std::vector<std::uint8_t> leads_to_loss() const {
    std::vector<std::uint8_t> values(program_.values().size()), calls(program_.calls().size());
    values[static_cast<std::size_t>(loss_.index)] = 1;
    for (std::size_t number = calls.size(); number-- > 0;) {
      const Call& call = program_.calls()[number];
      for (const NamedOperand& output : call.outputs) {
        for (const ValueId value : output.operand.values()) {
          if (value && values[static_cast<std::size_t>(value.index)] != 0) calls[number] = 1;
        }
      }
      if (calls[number] == 0) continue;
      for (const NamedOperand& input : call.inputs) {
        for (const ValueId value : input.operand.values()) values[static_cast<std::size_t>(value.index)] = 1;
      }
    }
    return calls;
  }
  void refuse_without_gradient(const Call& call, std::size_t number) const {
    for (const NamedOperand& input : call.inputs) {
      if (!wants_gradient(&input.operand)) continue;
      fail(who, ": call ", number, call.place.empty() ? "" : " (" + call.place + ")", ": ", call.op,
           " has no gradient, but the loss depends on its ", input.name);
    }
  }
  bool wants_gradient(const Operand* operand) const {
    if (operand == nullptr) return false;
    const std::vector<ValueId> values = operand->values();
    return std::any_of(values.begin(), values.end(), [this](ValueId value) { return depends(value); });
  }

  ValueId filled(const std::string& wished, const ValueInfo& like, double number) {
    std::string name = wished;
    for (int count = 2; program_.find(name); ++count) name = wished + "_" + std::to_string(count);
    const ValueId value = program_.add_constant(name, make_filled(like.type, like.extents, number), like.levels);
    gradients_.resize(program_.values().size());
    return value;
  }

  /// The call of the gradient operator, if any gradient has come.
  void visit(std::int32_t number) {
    const Call call = program_.calls()[static_cast<std::size_t>(number)];  // calls are added
    const OperatorInfo& op = find_operator(call.op);
    if (op.backward.empty()) return;
    const OperatorInfo& gradient_op = find_operator(op.backward);
    bool has_come = false;
    for (const std::string& name : differentiable_outputs(op, gradient_op)) {
      for (const ValueId value : call.output(name)->values()) has_come = has_come || gradient(value);
    }
    CallRequest request{.op = gradient_op.name, .inputs = {}, .place = call.place};
    for (const std::string& name : variables_of(gradient_op)) {
      if (wants_gradient(call.input(name))) request.wanted.push_back(name + "_grad");
    }
    if (!has_come || request.wanted.empty()) return;
    for (const InputInfo& input : gradient_op.inputs) add_input(request, call, number, op, input);
    for (const AttributeInfo& attribute : gradient_op.attributes) {
      request.attributes.emplace(attribute.name, call.attributes.at(attribute.name));
    }
    const Call made = program_.add_call(request);
    gradients_.resize(program_.values().size());
    for (const std::string& name : variables_of(gradient_op)) {
      const Operand* result = made.output(name + "_grad");
      if (result == nullptr) continue;
      const std::vector<ValueId> operands = call.input(name)->values(), terms = result->values();
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (depends(operands[i])) add(operands[i], terms[i]);
      }
    }
  }

  void add_input(CallRequest& request, const Call& call, std::int32_t number, const OperatorInfo& op,
                 const InputInfo& input) {
    if (const Operand* given = call.input(input.name)) {
      request.inputs.emplace(input.name, *given);
      return;
    }
    const bool is_output = std::any_of(op.outputs.begin(), op.outputs.end(),
                                       [&](const OutputInfo& output) { return output.name == input.name; });
    if (is_output) {
      // An output that the gradient can do without, but for maxima: their places.
      if (input.optional && !takes_maxima(call)) return;
      const ValueId value = program_.also_compute(number, input.name);
      gradients_.resize(program_.values().size());
      depends_.resize(program_.values().size());
      request.inputs.emplace(input.name, value);
      return;
    }
    constexpr std::string_view suffix = "_grad";
    const bool is_gradient = input.name.ends_with(suffix);
    const Operand* output =
        is_gradient ? call.output(input.name.substr(0, input.name.size() - suffix.size())) : nullptr;
    if (output == nullptr) return;  // an input that was not given
    if (output->is_value()) {
      request.inputs.emplace(input.name, gradient(output->value()));
      return;
    }
    std::vector<ValueId> list;
    for (const ValueId value : output->list()) {
      list.push_back(gradient(value) ? gradient(value) : filled("no_grad", program_.value(value), 0.0));
    }
    request.inputs.emplace(input.name, std::move(list));
  }

  static bool takes_maxima(const Call& call) {
    const auto at = call.attributes.find("pooltype");
    return at != call.attributes.end() && std::get<std::string>(at->second) == "max";
  }

  void add(ValueId value, ValueId term) {
    const ValueId before = gradient(value);
    const ValueId sum = before ? program_.call("add", {{"x", before}, {"y", term}}) : term;
    gradients_.resize(program_.values().size());
    gradients_[static_cast<std::size_t>(value.index)] = sum;
  }

  Program& program_;
  std::vector<ValueId> gradients_;     ///< of each value, so far
  std::vector<std::uint8_t> depends_;  ///< of each value whether it depends on a variable
  ValueId loss_;
};

}  // namespace

std::vector<ValueId> differentiate(Program& program, ValueId loss, const std::vector<ValueId>& variables,
                                   ValueId loss_grad) {
  Program extended = program;
  std::vector<ValueId> gradients = Differentiation(extended, loss).run(variables, loss_grad);
  program = std::move(extended);
  return gradients;
}

}  // namespace portops::graph
