// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/compile.hpp"

#include "core/exec/region.hpp"
#include "core/exec/runtime.hpp"
#include "core/types/fail.hpp"
#include "core/types/shown.hpp"
#include "graph/arguments.hpp"
#include "graph/call_facts.hpp"
#include "graph/compiled_data.hpp"
#include "graph/fold.hpp"
#include "graph/layouts.hpp"
#include "graph/planner.hpp"
#include "graph/verifier.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace portops::graph {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// The values that are known before the program runs.
class Constants {
 public:
  Constants(const Context& ctx, const Program& program)
      : ctx_(ctx), program_(program), known_(program.values().size()), tensors_(program.values().size()) {
    for (std::size_t i = 0; i < known_.size(); ++i) known_[i] = program.values()[i].origin == Origin::constant ? 1 : 0;
  }

  /// Makes the calls that read nothing else, but for those that would make much of little: a program of a few bytes
  /// might ask for any number of them.
  void fold() {
    const Needs needs = needs_of(program_, known_);
    std::int64_t left = 256 * mebibyte;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (known_[i] != 0) left += bytes_of(program_.values()[i]);
    }
    for (std::size_t number = 0; number < program_.calls().size(); ++number) {
      const Call& call = program_.calls()[number];
      if (needs.calls[number] == 0 || !is_foldable(call)) continue;
      const std::int64_t bytes = bytes_of_all(call.outputs, needs);
      if (bytes > std::max(mebibyte, 4 * bytes_of_all(call.inputs, needs)) || bytes > left) continue;
      left -= bytes;
      make(call, needs);
    }
  }
  /// Copies to the memory of the backend what is read.
  void finish() {
    const Needs needs = needs_of(program_, known_);
    std::vector<std::uint8_t> is_read(known_.size());
    const auto read = [&](ValueId value) { is_read[static_cast<std::size_t>(value.index)] = 1; };
    for (const auto& values : needs.reads) std::for_each(values.begin(), values.end(), read);
    for (const ProgramOutput& output : program_.outputs()) read(output.value);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (known_[i] == 0) continue;
      if (is_read[i] != 0) {
        tensor(ValueId{static_cast<std::int32_t>(i)});
      } else {
        tensors_[i] = {};
      }
    }
    ctx_.fence();
  }

  const std::vector<std::uint8_t>& known() const { return known_; }
  std::vector<Tensor>& tensors() { return tensors_; }

 private:
  bool is_foldable(const Call& call) const {
    return std::all_of(call.inputs.begin(), call.inputs.end(), [this](const NamedOperand& input) {
      const std::vector<ValueId> values = input.operand.values();
      return std::all_of(values.begin(), values.end(),
                         [this](ValueId value) { return known_[static_cast<std::size_t>(value.index)] != 0; });
    });
  }
  std::int64_t bytes_of_all(const std::vector<NamedOperand>& operands, const Needs& needs) const {
    std::int64_t bytes = 0;
    for (const NamedOperand& each : operands) {
      for (const ValueId value : each.operand.values()) {
        if (value && needs.values[static_cast<std::size_t>(value.index)] != 0) bytes += bytes_of(program_.value(value));
      }
    }
    return bytes;
  }
  TensorRef tensor(ValueId value) {
    Tensor& its = tensors_[static_cast<std::size_t>(value.index)];
    const TensorRef& given = program_.value(value).elements.ref();
    const MemorySpace space = default_memory_space(ctx_.backend());
    if (its.ref()) return its.ref();
    if (given.space() == space) {
      its = program_.value(value).elements;
    } else {
      its = Tensor(given.type(), given.extents(), space);
      copy(ctx_, given, its);
    }
    return its.ref();
  }
  void make(const Call& call, const Needs& needs) {
    const auto output = [&](ValueId value) {
      const auto index = static_cast<std::size_t>(value.index);
      if (needs.values[index] == 0) return TensorRef();
      const ValueInfo& info = program_.value(value);
      known_[index] = 1;
      tensors_[index] = Tensor(info.type, info.extents, default_memory_space(ctx_.backend()));
      return tensors_[index].ref();
    };
    const auto input = [&](const InputInfo&, ValueId value) { return tensor(value); };
    run(call.op, ctx_, make_arguments(program_, call, input, output));
  }

  const Context& ctx_;
  const Program& program_;
  std::vector<std::uint8_t> known_;
  std::vector<Tensor> tensors_;
};

std::string text_of(const Program& program, const Plan& plan, std::int32_t content) {
  const Place& place = plan.places[static_cast<std::size_t>(content)];
  const auto values = static_cast<std::int32_t>(program.values().size());
  std::int32_t value = content;
  for (auto step = plan.steps.rbegin(); value >= values && step != plan.steps.rend(); ++step) {
    if (step->kind == Step::Kind::copy && step->to == value) value = step->from;
  }
  const ValueInfo& info = program.values()[static_cast<std::size_t>(value)];
  std::ostringstream text;
  text << impl::shown(info.name) << ": ";
  switch (place.memory) {
    case MemoryKind::none: text << "not needed"; break;
    case MemoryKind::arena: text << "arena " << place.offset << ".." << place.offset + bytes_of(info); break;
    case MemoryKind::input:
      text << "input " << impl::shown(program.values()[static_cast<std::size_t>(place.index)].name);
      break;
    case MemoryKind::constant:
      text << "constant " << impl::shown(program.values()[static_cast<std::size_t>(place.index)].name);
      break;
    case MemoryKind::output:
      text << "output " << impl::shown(program.outputs()[static_cast<std::size_t>(place.index)].name);
      break;
  }
  const bool is_image = place.strides.rank() == 4 && !is_row_major(info.extents, place.strides);
  if (is_image && lie_alike(info.extents, place.strides, channels_last_strides(info.extents)))
    text << ", channels last";
  return text.str();
}

/// Of a call whether it is a convolution or a linear layer with a constant weight.
bool keeps_weight(const CompiledData& data, const Call& call) {
  if (!is_convolution(call) && call.op != "linear") return false;
  const auto weight = static_cast<std::size_t>(call.input("weight")->value().index);
  return data.plan.places[weight].memory == MemoryKind::constant;
}

}  // namespace

CompiledProgram::CompiledProgram(const Context& ctx, const Program& program, const CompileParams& params) {
  const impl::Region region("portops::graph::compile");
  constexpr std::int32_t most_instances = 64;
  if (params.instances < 1 || params.instances > most_instances) {
    impl::fail("portops::graph::CompiledProgram: instances is ", params.instances, ", expected 1 to ", most_instances);
  }
  auto data = std::make_shared<CompiledData>(CompiledData{program, {}, {}, ctx.backend()});
  if (params.fold_batch_norm) data->program = fold_batch_norms(ctx, data->program);
  if (params.fold_bias) data->program = fold_biases(data->program);
  Constants constants(ctx, data->program);
  if (params.fold_constants) constants.fold();
  data->plan = make_plan(data->program, constants.known(),
                         {.in_place = params.in_place,
                          .views = params.views,
                          .channels_last = params.channels_last,
                          .reuse = params.reuse_memory,
                          .instances = params.instances});
  verify(data->program, data->plan, constants.known());
  constants.finish();
  data->constants = std::move(constants.tensors());
  data->joins = find_joins(data->program, data->plan, ctx.backend());
  data->prepared.resize(data->program.calls().size());
  for (std::size_t call = 0; call < data->prepared.size() && ctx.backend() != Backend::cuda; ++call) {
    if (keeps_weight(*data, data->program.calls()[call])) data->prepared[call] = std::make_unique<impl::Prepared>();
  }
  data_ = std::move(data);
}

const Program& CompiledProgram::program() const { return data_->program; }
Backend CompiledProgram::backend() const { return data_->backend; }
std::int64_t CompiledProgram::arena_bytes() const { return data_->plan.arena_bytes; }
std::int64_t CompiledProgram::live_bytes() const { return data_->plan.live_bytes; }

std::int32_t CompiledProgram::calls() const {
  const std::vector<Step>& steps = data_->plan.steps;
  return static_cast<std::int32_t>(
      std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.kind == Step::Kind::run; }));
}

std::string CompiledProgram::to_string() const {
  const Program& program = data_->program;
  const Plan& plan = data_->plan;
  std::ostringstream text;
  for (const Step& step : plan.steps) {
    if (plan.instances > 1 && step.kind != Step::Kind::view) text << "[" << step.instance << "] ";
    if (step.kind == Step::Kind::copy) {
      text << text_of(program, plan, step.to) << " = copy\n";
      continue;
    }
    const Call& call = program.calls()[static_cast<std::size_t>(step.call)];
    const char* separator = "";
    for (const NamedOperand& output : call.outputs) {
      for (const ValueId value : output.operand.values()) {
        if (plan.places[static_cast<std::size_t>(value.index)].memory == MemoryKind::none) continue;
        text << separator << text_of(program, plan, value.index);
        separator = ", ";
      }
    }
    text << " = " << call.op << (step.kind == Step::Kind::view ? ", a view\n" : "\n");
  }
  return text.str();
}

}  // namespace portops::graph
