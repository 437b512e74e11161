// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/record.hpp"

#include "autograd/node.hpp"
#include "autograd/observer.hpp"
#include "core/exec/runtime.hpp"
#include "core/exec/tensor.hpp"
#include "core/types/fail.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace portops::graph {

using autograd::Variable;
using impl::fail;

namespace {

constexpr const char* who = "portops::graph::Recorder";

}  // namespace

/// Knows variables by their memory: a variable that was changed in place is another value then, and so are all that
/// share its elements.
class Recorder::Observer final : public impl::CallObserver {
 public:
  explicit Observer(const Context& ctx) : ctx_(ctx), before_(std::exchange(impl::scopes().observer, this)) {}
  ~Observer() override { stop(); }

  void stop() {
    if (is_on_) impl::scopes().observer = before_;
    is_on_ = false;
  }

  void called(const char* op, const std::vector<impl::ObservedInput>& inputs,
              const std::vector<impl::ObservedAttribute>& attributes,
              const std::vector<impl::ObservedOutput>& outputs) override {
    CallRequest request{.op = op, .inputs = {}};
    for (const impl::ObservedInput& input : inputs) {
      if (const auto* variable = std::get_if<Variable>(&input.content)) {
        if (*variable) request.inputs.emplace(input.name, read(*variable));
      } else if (const auto* number = std::get_if<double>(&input.content)) {
        request.inputs.emplace(input.name, *number);
      } else if (const auto* levels = std::get_if<Levels>(&input.content)) {
        request.inputs.emplace(input.name, *levels);
      } else {
        std::vector<ValueId> list;
        for (const Variable& each : std::get<std::vector<Variable>>(input.content)) list.push_back(read(each));
        request.inputs.emplace(input.name, std::move(list));
      }
    }
    for (const auto& [name, value] : attributes) request.attributes.emplace(name, value);
    for (const impl::ObservedOutput& output : outputs) {
      const auto* variable = std::get_if<Variable>(&output.content);
      if (variable == nullptr || *variable) request.wanted.emplace_back(output.name);
    }
    const Call call = program_.add_call(request);
    for (const impl::ObservedOutput& output : outputs) {
      if (const auto* variable = std::get_if<Variable>(&output.content)) {
        if (*variable) set(*variable, call.result(output.name));
        continue;
      }
      const auto& list = std::get<std::vector<Variable>>(output.content);
      for (std::size_t i = 0; i < list.size(); ++i) set(list[i], call.results(output.name)[i]);
    }
  }

  ValueId add_input(std::string_view name, const Variable& variable) {
    if (!variable.tensor()) fail(who, "::input: ", name, " is empty, expected a tensor");
    if (find(variable)) fail(who, "::input: ", name, " has been read or made already");
    const TensorRef& tensor = variable.tensor();
    const ValueId value = program_.add_input(name, tensor.type(), tensor.extents(), variable.levels());
    set(variable, value);
    return value;
  }
  ValueId add_output(std::string_view name, const Variable& variable) {
    const ValueId value = find(variable);
    if (!value) fail(who, "::output: ", name, " was not made by a recorded call, and is no input");
    program_.add_output(name, value);
    return value;
  }
  ValueId find(const Variable& variable) const {
    const auto at = known_.find(key_of(variable));
    return at != known_.end() ? at->second.now : ValueId();
  }

  Program finish() {
    stop();
    for (const auto& [key, its] : known_) {
      const ValueInfo& first = program_.value(its.first);
      if (its.now == its.first || first.origin == Origin::call) continue;
      if (first.origin == Origin::constant) {
        fail(who, "::finish: a tensor of extents ", first.extents.to_string(), " that is no input, ", first.name,
             ", was changed in place: a program does not remember that, expected an input");
      }
      program_.add_output(first.name, its.now, its.first);
    }
    return std::move(program_);
  }

 private:
  using Key = const void*;
  struct Known {
    ValueId first;  ///< as it was met first
    ValueId now;
    std::shared_ptr<impl::Memory> memory;  ///< kept, so that no other takes its address
  };

  /// Memory of the library's own is known by itself, a caller's by its address.
  static Key key_of(const Variable& variable) {
    const impl::Value& value = variable.data()->value;
    if (value.memory == nullptr || (!value.memory->is_own() && value.tensor.data() != nullptr)) {
      return value.tensor.data();
    }
    return value.memory.get();
  }
  void set(const Variable& variable, ValueId value) {
    const auto [at, is_new] = known_.try_emplace(key_of(variable), Known{value, value, variable.data()->value.memory});
    if (!is_new) at->second.now = value;
  }
  /// What a call reads: what is not known is a constant.
  ValueId read(const Variable& variable) {
    if (const ValueId found = find(variable)) {
      const ValueInfo& info = program_.value(found);
      if (info.type != variable.tensor().type() || info.extents != variable.tensor().extents()) {
        fail(who, ": a tensor of extents ", variable.tensor().extents().to_string(), " begins where ", info.name,
             " of extents ", info.extents.to_string(), " lies: views of variables are not recorded");
      }
      return found;
    }
    const TensorRef& tensor = variable.tensor();
    if (!variable.is_leaf()) {
      fail(who, ": a tensor of extents ", tensor.extents().to_string(),
           " is read that a call made which was not recorded; its gradient is wanted, so it is no constant");
    }
    if (!impl::is_contiguous(tensor)) {
      fail(who, ": a constant of extents ", tensor.extents().to_string(), " has strides ", tensor.strides().to_string(),
           ", expected a contiguous tensor");
    }
    Tensor elements(tensor.type(), tensor.extents(), default_memory_space(ctx_.backend()));
    copy(ctx_, tensor, elements);
    const ValueId value =
        program_.add_constant("constant_" + std::to_string(constants_++), elements, variable.levels());
    set(variable, value);
    return value;
  }

  Context ctx_;
  impl::CallObserver* before_;
  bool is_on_ = true;
  Program program_;
  int constants_ = 0;
  std::map<Key, Known> known_;
};

Recorder::Recorder(const Context& ctx) : observer_(std::make_unique<Observer>(ctx)) {}
Recorder::~Recorder() = default;

ValueId Recorder::input(std::string_view name, const Variable& variable) {
  return observer_->add_input(name, variable);
}
void Recorder::inputs(const nn::State& state) {
  for (const nn::NamedVariable& each : state) observer_->add_input(each.name, each.variable);
}
ValueId Recorder::output(std::string_view name, const Variable& variable) {
  return observer_->add_output(name, variable);
}
ValueId Recorder::value(const Variable& variable) const { return observer_->find(variable); }
Program Recorder::finish() { return observer_->finish(); }

}  // namespace portops::graph
