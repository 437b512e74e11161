// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/record.hpp"

#include "autograd/node.hpp"
#include "autograd/observer.hpp"
#include "core/exec/runtime.hpp"
#include "core/exec/tensor.hpp"
#include "core/types/fail.hpp"
#include "core/types/overlap.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace portops::graph {

using autograd::Variable;
using impl::fail;

namespace {

constexpr const char* who = "portops::graph::Recorder";

std::vector<Variable> variables_of(const impl::ObservedOutput& output) {
  const auto* variable = std::get_if<Variable>(&output.content);
  return variable != nullptr ? std::vector{*variable} : std::get<std::vector<Variable>>(output.content);
}

bool is_same_tensor(const TensorRef& a, const TensorRef& b) {
  if (a.data() != b.data() || a.type() != b.type() || a.extents() != b.extents()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.extent(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  return true;
}

}  // namespace

/// Knows variables by their memory, and by where their elements lie: a variable that was changed in place is another
/// value then, and so are all that share its elements.
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
    // What the call was given and has written over is a version further by now, and may have other levels.
    for (const impl::ObservedOutput& output : outputs) {
      for (const Variable& each : variables_of(output)) {
        if (!each) continue;
        const auto seen = seen_.find(each.data()->value.memory.get());
        if (seen == seen_.end()) continue;
        ++seen->second.version;
        seen->second.is_written_over = true;
      }
    }
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
      const Operand* operand = call.output(output.name);
      if (operand == nullptr) continue;
      const std::vector<Variable> made = variables_of(output);
      const std::vector<ValueId> values = operand->values();
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (made[i]) set(made[i], values[i]);
      }
    }
  }

  ValueId add_input(std::string_view name, const Variable& variable) {
    if (!variable.tensor()) fail(who, "::input: ", name, " is empty, expected a tensor");
    if (locate(variable, true) != known_.size()) fail(who, "::input: ", name, " has been read or made already");
    const TensorRef& tensor = variable.tensor();
    const ValueId value = program_.add_input(name, tensor.type(), tensor.extents(), variable.levels());
    add(variable, value);
    return value;
  }
  ValueId add_output(std::string_view name, const Variable& variable) {
    const ValueId value = find(variable);
    if (!value) fail(who, "::output: ", name, " was not made by a recorded call, and is no input");
    program_.add_output(name, value);
    return value;
  }
  /// The value that a variable is by now; none where it is not known, or is a constant that others have changed since.
  ValueId find(const Variable& variable) const {
    if (!variable) return {};
    const std::size_t known = locate(variable, false);
    if (known == known_.size()) return {};
    const ValueInfo& info = program_.value(known_[known].now);
    const impl::Value& its = variable.data()->value;
    const auto seen = seen_.find(its.memory.get());
    if (seen != seen_.end() && seen->second.version != its.memory->version()) {
      if (info.origin == Origin::constant) return {};
      fail(who, ": ", info.name, " was changed by ", its.memory->changed_by(), ", and not by a recorded call");
    }
    check_same(known, its.tensor);
    const bool is_written_over = seen != seen_.end() && seen->second.is_written_over;
    if (info.levels != its.levels && !is_written_over) {
      fail(who, ": a tensor of extents ", info.extents.to_string(), " shares memory with ", info.name,
           ", but has other levels: values have those of the calls that make them");
    }
    return known_[known].now;
  }

  Program finish() {
    stop();
    // The program may be compiled on another instance than the one that copies constants.
    if (constants_ > 0) ctx_.fence();
    // As they were met: in the order of the inputs.
    for (const Known& its : known_) {
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
  /// Elements, and the values that they were.
  struct Known {
    ValueId first;  ///< as they were met first
    ValueId now;
    TensorRef tensor;
  };
  /// The memory of a variable. Of a caller's tensor there may be several, which do not hear of each other's changes.
  struct Seen {
    std::size_t known = 0;
    std::uint32_t version = 0;             ///< at which it holds the known value
    std::shared_ptr<impl::Memory> memory;  ///< kept, so that no other takes its address
    bool is_written_over = false;          ///< by the call that is being recorded
  };

  /// Which elements a variable's are, or share bytes with; known_.size() where there are none. Those of a constant that
  /// was read through other memory count only `with_constants`: they were copied, and may have made room for others.
  std::size_t locate(const Variable& variable, bool with_constants) const {
    const impl::Value& its = variable.data()->value;
    if (const auto seen = seen_.find(its.memory.get()); seen != seen_.end()) return seen->second.known;
    for (std::size_t i = known_.size(); i-- > 0;) {
      if (!with_constants && program_.value(known_[i].now).origin == Origin::constant) continue;
      if (impl::may_overlap(known_[i].tensor, its.tensor)) return i;
    }
    return known_.size();
  }
  void check_same(std::size_t known, const TensorRef& tensor) const {
    if (is_same_tensor(known_[known].tensor, tensor)) return;
    const ValueInfo& info = program_.value(known_[known].now);
    fail(who, ": a tensor of extents ", tensor.extents().to_string(), " shares memory with ", info.name,
         ", of extents ", info.extents.to_string(), ": views of variables are not recorded");
  }
  /// The variable's memory holds the known value, as it is now.
  void see(const Variable& variable, std::size_t known) {
    const std::shared_ptr<impl::Memory>& memory = variable.data()->value.memory;
    if (memory != nullptr) seen_.insert_or_assign(memory.get(), Seen{known, memory->version(), memory});
  }
  void add(const Variable& variable, ValueId value) {
    known_.push_back({value, value, variable.tensor()});
    see(variable, known_.size() - 1);
  }
  /// What a call has made, or written over what was there.
  void set(const Variable& variable, ValueId value) {
    // Nobody has changed what the call itself has made.
    if (variable.data()->value.memory->version() == 0) return add(variable, value);
    const std::size_t known = locate(variable, true);
    if (known == known_.size()) return add(variable, value);
    check_same(known, variable.tensor());
    known_[known].now = value;
    see(variable, known);
  }
  /// What a call reads: what is not known is a constant.
  ValueId read(const Variable& variable) {
    if (const ValueId found = find(variable)) {
      if (!seen_.contains(variable.data()->value.memory.get())) see(variable, locate(variable, false));
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
    add(variable, value);
    return value;
  }

  Context ctx_;
  impl::CallObserver* before_;
  bool is_on_ = true;
  Program program_;
  int constants_ = 0;
  std::vector<Known> known_;
  std::map<const impl::Memory*, Seen> seen_;
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
