// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/recording.hpp"

#include "core/types/fail.hpp"

#include <algorithm>

namespace portops::impl {

using autograd::Variable;
using autograd::VariableOrNumber;

namespace {

TensorRef shape_of(const TensorRef& tensor) { return TensorRef::without_data(tensor.type(), tensor.extents()); }

}  // namespace

Recording::Recording(const Context& ctx, const Operation& operation, std::initializer_list<const Variable*> variables)
    : region_(operation.label), ctx_(ctx), operation_(&operation) {
  if (!scopes().remembers) return;
  is_on_ = std::any_of(variables.begin(), variables.end(), [](const Variable* each) { return each->wants_gradient(); });
  if (!is_on_) return;
  operands_.reserve(variables.size());
  kept_.reserve(operation.kept_count);
  for (const Variable* variable : variables) add_operand(*variable);
}

Recording::Recording(const Context& ctx, const Operation& operation, const std::vector<Variable>& variables)
    : region_(operation.label), ctx_(ctx), operation_(&operation) {
  if (!scopes().remembers) return;
  is_on_ = std::any_of(variables.begin(), variables.end(), [](const Variable& each) { return each.wants_gradient(); });
  if (!is_on_) return;
  operands_.reserve(variables.size());
  kept_.reserve(std::max(variables.size(), operation.kept_count));
  for (const Variable& variable : variables) add_operand(variable);
}

void Recording::add_operand(const Variable& variable) {
  NodeOperand& operand = operands_.emplace_back();
  if (!variable.wants_gradient()) return;
  operand.edge = variable.data()->edge;
  operand.type = variable.tensor().type();
  operand.extents = variable.tensor().extents();
  operand.levels = variable.levels();
}

void Recording::check_given(std::string_view name, const Variable& input) const {
  if (!input.tensor()) fail("portops::", operation_->name, ": ", name, " is empty, expected a tensor");
}

void Recording::check_in_place(std::string_view name, const Variable& output) const {
  if (scopes().remembers && output.wants_gradient() && output.is_leaf()) {
    fail("portops::", operation_->name, ": ", name,
         " is a leaf whose gradient is wanted, and cannot be changed in place but within NoGradients");
  }
}

void Recording::check_levels(std::string_view name, const Extents& extents, const Levels& levels) const {
  if (!levels || (extents.rank() > 0 && extents[0] == levels.rows())) return;
  fail("portops::", operation_->name, ": ", name, " has extents ", extents.to_string(), ", but levels of ",
       levels.rows(), " rows");
}

Variable Recording::in_place(std::string_view name, const Variable& place, const Levels& levels) const {
  check_levels(name, place.tensor().extents(), levels);
  place.data()->value.levels = levels;
  return place;
}

Variable Recording::output(std::string_view name, ElementType type, const Extents& extents,
                           const Levels& levels) const {
  check_levels(name, extents, levels);
  return make_variable(make_value(ctx_, operation_->label, type, extents, levels));
}

void Recording::keep(const Variable& tensor, bool elements) {
  if (is_on_) keep_value(kept_.emplace_back(), tensor, elements);
}

void Recording::keep(const VariableOrNumber& operand, bool elements) {
  if (!is_on_) return;
  Kept& its = kept_.emplace_back();
  its.is_number = !operand.is_variable();
  its.number = operand.number();
  if (operand.is_variable()) keep_value(its, operand.variable(), elements);
}

void Recording::keep(const Levels& levels) {
  if (is_on_) kept_.emplace_back().value.levels = levels;
}

void Recording::keep(const std::vector<Variable>& list, bool elements) {
  for (const Variable& tensor : list) keep(tensor, elements);
}

void Recording::keep_value(Kept& its, const Variable& tensor, bool elements) {
  if (!tensor) return;
  const Value& value = tensor.data()->value;
  const auto& hooks = scopes().hooks;
  if (elements && hooks == nullptr) {
    its.value = value;
    its.version = value.memory->version();
    return;
  }
  its.value.tensor = shape_of(value.tensor);
  its.value.levels = value.levels;
  if (!elements) return;
  const autograd::NoGradients not_remembered;
  its.packed = std::make_shared<const Kept::Packed>(Kept::Packed{hooks->pack(ctx_, tensor.detach()), hooks});
}

void Recording::change(const Variable& output) const {
  if (output) output.data()->value.memory->change(operation_->name);
}

void Recording::link(const std::shared_ptr<CallNode>& node, const Variable* const* outputs, std::size_t count) {
  node->operands = std::move(operands_);
  node->kept = std::move(kept_);
  node->outputs = static_cast<std::uint32_t>(count);
  for (std::uint32_t output = 0; output < count; ++output) {
    if (count > 1) node->output_shapes.push_back(shape_of(outputs[output]->tensor()));
    outputs[output]->data()->edge = {node, output};
  }
}

void Recording::check_outputs(const Variable* const* outputs, std::size_t count) const {
  for (std::size_t output = 0; output < count; ++output) {
    std::string name = operation_->output;
    if (count > 1) name.append("[").append(std::to_string(output)).append("]");
    check_nan(ctx_, operation_->name, name, outputs[output]->tensor());
  }
}

std::vector<TensorRef> tensors_of(const std::vector<Variable>& list) {
  std::vector<TensorRef> tensors;
  tensors.reserve(list.size());
  for (const Variable& each : list) tensors.push_back(each.tensor());
  return tensors;
}

std::vector<RaggedRef> ragged_of(const std::vector<Variable>& list) {
  std::vector<RaggedRef> all;
  all.reserve(list.size());
  for (const Variable& each : list) all.push_back(each.ragged());
  return all;
}

Levels shared_levels(std::initializer_list<const Variable*> variables) {
  for (const Variable* variable : variables) {
    if (variable->levels()) return variable->levels();
  }
  return {};
}

}  // namespace portops::impl
