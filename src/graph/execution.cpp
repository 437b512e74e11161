// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/execution.hpp"

#include "core/exec/program_call.hpp"
#include "core/exec/region.hpp"
#include "core/exec/runtime.hpp"
#include "core/schema/named_call.hpp"
#include "core/schema/registry_table.hpp"
#include "core/types/fail.hpp"
#include "graph/arena.hpp"
#include "graph/arguments.hpp"
#include "graph/call_facts.hpp"
#include "graph/compiled_data.hpp"
#include "graph/execution_device.hpp"
#include "graph/live_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace portops::graph {

using impl::fail;

namespace {

constexpr const char* who = "portops::graph::Execution";

/// A step with its tensors, ready to be enqueued.
struct ReadyStep {
  const Step* step = nullptr;
  bool is_joined = false;          ///< whether another call makes its result
  impl::ProgramCall program_call;  ///< of a call
  Arguments arguments;             ///< of a call; `call` reads them
  std::unique_ptr<impl::NamedCall> call;
  void (*run)(const Context& ctx, const impl::NamedCall& call) = nullptr;
  TensorRef from, to;  ///< of a copy
};

}  // namespace

struct Execution::State {
  std::shared_ptr<const CompiledData> data;
  std::unique_ptr<ExecutionDevice> device;
  bool poison = false;
  Tensor arena;
  std::vector<TensorRef> inputs;       ///< by values; empty: not bound yet
  std::vector<TensorRef> outputs;      ///< by outputs
  std::vector<Tensor> own;             ///< those that the caller has not bound
  std::vector<std::uint8_t> computed;  ///< of each value whether it lies anywhere
  std::vector<ReadyStep> steps;
  std::vector<LiveBytes> live;  ///< of each step, where dead memory is poisoned
  bool is_ready = false;

  const Program& program() const { return data->program; }
  const Plan& plan() const { return data->plan; }

  std::int32_t input_of(std::string_view name, const char* call) const {
    const ValueId value = program().find(name);
    if (value && program().value(value).origin == Origin::input) return value.index;
    fail(who, "::", call, ": no input is named '", name, "'");
  }
  std::size_t output_of(std::string_view name, const char* call) const {
    const auto& all = program().outputs();
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const ProgramOutput& output) { return output.name == name; });
    if (at == all.end()) fail(who, "::", call, ": no output is named '", name, "'");
    return static_cast<std::size_t>(at - all.begin());
  }

  TensorRef& memory_of_input(std::int32_t value);
  TensorRef& memory_of_output(std::size_t output);
  TensorRef make(const ValueInfo& value);
  bool is_written(std::int32_t input) const;
  void prepare();
  void check_memory() const;
  TensorRef tensor_of(std::int32_t content, const ValueInfo& value);
  ReadyStep ready(const Step& step);
  void join(std::vector<ReadyStep>& made);
  void enqueue();
  void enqueue(std::size_t number, std::int32_t instance);
  void poison_dead(std::size_t step);
};

/// Memory of the execution's own.
TensorRef Execution::State::make(const ValueInfo& value) {
  return own.emplace_back(Tensor(value.type, value.extents, default_memory_space(data->backend))).ref();
}

TensorRef& Execution::State::memory_of_input(std::int32_t value) {
  TensorRef& tensor = inputs[static_cast<std::size_t>(value)];
  if (!tensor) tensor = make(program().values()[static_cast<std::size_t>(value)]);
  return tensor;
}

TensorRef& Execution::State::memory_of_output(std::size_t output) {
  const ProgramOutput& its = program().outputs()[output];
  if (its.over) return memory_of_input(its.over.index);
  TensorRef& tensor = outputs[output];
  if (!tensor) tensor = make(program().value(its.value));
  return tensor;
}

/// Whether an output is left in the input.
bool Execution::State::is_written(std::int32_t input) const {
  const auto& all = program().outputs();
  return std::any_of(all.begin(), all.end(), [&](const ProgramOutput& output) { return output.over.index == input; });
}

/// Where a value lies, or a copy of it; empty where it lies nowhere.
TensorRef Execution::State::tensor_of(std::int32_t content, const ValueInfo& value) {
  const Place& place = plan().places[static_cast<std::size_t>(content)];
  if (place.memory == MemoryKind::none) return {};
  TensorRef memory;
  switch (place.memory) {
    case MemoryKind::input: memory = memory_of_input(place.index); break;
    case MemoryKind::constant: memory = data->constants[static_cast<std::size_t>(place.index)].ref(); break;
    case MemoryKind::output: memory = memory_of_output(static_cast<std::size_t>(place.index)); break;
    default: memory = arena.ref();
  }
  // Of a value that nobody reads nothing need be there.
  if (!memory) return TensorRef::without_data(value.type, value.extents);
  auto* const begin = static_cast<unsigned char*>(memory.data());
  return {begin != nullptr ? begin + place.offset : nullptr,
          value.type,
          value.extents,
          place.strides,
          memory.space(),
          memory.read_only()};
}

ReadyStep Execution::State::ready(const Step& step) {
  ReadyStep made;
  made.step = &step;
  const auto values = static_cast<std::int32_t>(program().values().size());
  if (step.kind == Step::Kind::view) return made;
  if (step.kind == Step::Kind::copy) {
    std::int32_t value = step.from;
    for (auto earlier = plan().steps.rbegin(); value >= values; ++earlier) {
      if (earlier->kind == Step::Kind::copy && earlier->to == value) value = earlier->from;
    }
    const ValueInfo& info = program().values()[static_cast<std::size_t>(value)];
    made.from = tensor_of(step.from, info);
    made.to = tensor_of(step.to, info);
    return made;
  }
  const Call& call = program().calls()[static_cast<std::size_t>(step.call)];
  const auto tensor = [&](ValueId value) { return tensor_of(value.index, program().value(value)); };
  // What a call reads for its extents alone may have been overwritten, or never been made.
  const auto read = [&](const InputInfo& input, ValueId value) {
    const ValueInfo& info = program().value(value);
    return reads_elements(call, input.name, computed) ? tensor(value)
                                                      : TensorRef::without_data(info.type, info.extents);
  };
  made.arguments = make_arguments(program(), call, read, tensor);
  made.program_call.weight = data->prepared[static_cast<std::size_t>(step.call)].get();
  return made;
}

/// Has calls make the results of others.
void Execution::State::join(std::vector<ReadyStep>& made) {
  if (poison) return;  // which is written between steps, to where nothing lies that the plan knows
  const auto tensor = [&](ValueId value) { return tensor_of(value.index, program().value(value)); };
  const auto leave_out = [&](std::size_t first, std::size_t end) {
    for (std::size_t step = first; step < end; ++step) made[step].is_joined = true;
  };
  for (const JoinedSteps& joined : data->joins.steps) {
    ReadyStep& first = made[joined.first];
    first.arguments.set("out", TensorOrNumber(tensor(joined.result)));
    first.program_call.bounds = joined.bounds;
    if (joined.addend) first.program_call.addend = tensor(joined.addend);
    leave_out(joined.first + 1, joined.last + 1);
  }
  // Which a gradient reads only here: for what it was normalised to.
  const auto give_bias = [&](ReadyStep& norm_grad, ValueId bias) {
    if (bias) norm_grad.arguments.set("bias", TensorOrNumber(tensor(bias)));
  };
  for (const ReluGradient& joined : data->joins.relu_gradients) {
    ReadyStep& norm_grad = made[joined.norm_grad];
    norm_grad.arguments.set("out_grad", TensorOrNumber(tensor(joined.out_grad)));
    give_bias(norm_grad, joined.bias);
    norm_grad.program_call.is_behind_relu = true;
    leave_out(joined.relu_grad, joined.norm_grad);
  }
  for (const JoinedMaxima& joined : data->joins.maxima) {
    impl::ProgramCall& norm = made[joined.norm].program_call;
    norm.maxima = {.side = joined.side, .values = tensor(joined.result)};
    if (joined.has_relu) norm.bounds = {.min = 0.0};
    leave_out(joined.norm + 1, joined.last + 1);
    if (!joined.gradient) continue;
    norm.maxima.taps = static_cast<std::uint8_t*>(tensor(joined.index).data());
    ReadyStep& norm_grad = made[joined.gradient->norm_grad];
    norm_grad.program_call.maxima = norm.maxima;
    norm_grad.program_call.maxima.values = tensor(joined.gradient->out_grad);
    norm_grad.program_call.is_behind_relu = joined.has_relu;
    give_bias(norm_grad, joined.gradient->bias);
    leave_out(joined.gradient->first, joined.gradient->norm_grad);
  }
}

/// That nothing which is written shares bytes with anything else.
void Execution::State::check_memory() const {
  struct Named {
    const std::string* name;
    std::uintptr_t begin, end;
    bool is_written;
  };
  std::vector<Named> all;
  const auto add = [&](const std::string& name, const TensorRef& tensor, bool is_written) {
    if (!tensor || !tensor.has_data() || tensor.size() == 0) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data());
    all.push_back({&name, begin, begin + static_cast<std::size_t>(tensor.size()) * size_of(tensor.type()), is_written});
  };
  std::vector<std::uint8_t> left_in(inputs.size());
  for (const ProgramOutput& output : program().outputs()) {
    if (output.over) left_in[static_cast<std::size_t>(output.over.index)] = 1;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) add(program().values()[i].name, inputs[i], left_in[i] != 0);
  for (std::size_t i = 0; i < outputs.size(); ++i) add(program().outputs()[i].name, outputs[i], true);
  for (std::size_t i = 0; i < inputs.size(); ++i) add(program().values()[i].name, data->constants[i].ref(), false);
  // None has gaps: where one overlaps any that begins before it, it overlaps the one of these that ends last.
  std::stable_sort(all.begin(), all.end(), [](const Named& a, const Named& b) { return a.begin < b.begin; });
  const Named *last = nullptr, *last_written = nullptr;
  for (const Named& each : all) {
    const Named* const other = each.is_written ? last : last_written;
    if (other != nullptr && other->end > each.begin) {
      const auto& [written, read] = each.is_written ? std::pair(&each, other) : std::pair(other, &each);
      fail(who, "::run: ", *written->name, ", which is written, overlaps ", *read->name);
    }
    if (last == nullptr || each.end > last->end) last = &each;
    if (each.is_written && (last_written == nullptr || each.end > last_written->end)) last_written = &each;
  }
}

void Execution::State::prepare() {
  if (is_ready) return;
  for (const ValueId value : program().inputs()) memory_of_input(value.index);
  for (std::size_t i = 0; i < outputs.size(); ++i) memory_of_output(i);
  check_memory();
  std::vector<ReadyStep> made;
  made.reserve(plan().steps.size());
  for (const Step& step : plan().steps) made.push_back(ready(step));
  join(made);
  // Calls read the arguments where they lie in the end.
  for (ReadyStep& each : made) {
    if (each.step->kind != Step::Kind::run) continue;
    const OperatorInfo& info = find_operator(program().calls()[static_cast<std::size_t>(each.step->call)].op);
    each.call = std::make_unique<impl::NamedCall>(info, each.arguments);
    each.call->check_outputs();
    each.run = impl::adapter_of(*each.call).run;
  }
  steps = std::move(made);
  is_ready = true;
}

void Execution::State::enqueue(std::size_t number, std::int32_t instance) {
  const ReadyStep& its = steps[number];
  if (its.is_joined) return;
  const Context& ctx = device->ctx(instance);
  if (its.step->kind == Step::Kind::copy) return copy(ctx, its.from, its.to);
  const Call& call = program().calls()[static_cast<std::size_t>(its.step->call)];
  try {
    std::optional<impl::ProgramCallScope> scope;
    if (its.program_call.says_something()) scope.emplace(its.program_call);
    its.run(ctx, *its.call);
  } catch (const Error& error) {
    fail(who, "::run: call ", its.step->call, call.place.empty() ? "" : " (" + call.place + ")", ": ", error.what());
  }
}

void Execution::State::poison_dead(std::size_t step) {
  auto* const begin = static_cast<unsigned char*>(arena.ref().data());
  std::int64_t dead = 0;
  for (const auto& [from, to] : live[step].ranges) {
    if (from > dead) device->poison(begin + dead, static_cast<std::size_t>(from - dead));
    dead = std::max(dead, to);
  }
  if (plan().arena_bytes > dead) device->poison(begin + dead, static_cast<std::size_t>(plan().arena_bytes - dead));
}

void Execution::State::enqueue() {
  if (poison) {
    for (std::size_t number = 0; number < steps.size(); ++number) {
      poison_dead(number);
      if (steps[number].step->kind != Step::Kind::view) enqueue(number, 0);
    }
    return;
  }
  const std::int32_t instances = plan().instances;
  if (instances > 1) {
    device->mark_beginning();
    for (std::int32_t instance = 1; instance < instances; ++instance) device->wait_for_beginning(instance);
  }
  std::vector<std::int32_t> last(static_cast<std::size_t>(instances), -1);
  try {
    for (std::size_t number = 0; number < steps.size(); ++number) {
      const Step& step = *steps[number].step;
      if (step.kind == Step::Kind::view) continue;
      for (const std::int32_t earlier : step.after) device->wait_for_step(step.instance, earlier);
      enqueue(number, step.instance);
      if (instances > 1) device->mark_step(step.instance, static_cast<std::int32_t>(number));
      last[static_cast<std::size_t>(step.instance)] = static_cast<std::int32_t>(number);
    }
  } catch (...) {
    device->wait_for_all();
    throw;
  }
  for (std::int32_t instance = 1; instance < instances; ++instance) {
    if (const std::int32_t step = last[static_cast<std::size_t>(instance)]; step >= 0) device->wait_for_step(0, step);
  }
}

Execution::Execution(const Context& ctx, const CompiledProgram& program, const ExecutionParams& params)
    : state_(std::make_unique<State>()) {
  if (ctx.backend() != program.backend()) {
    fail(who, ": the backend is ", name_of(ctx.backend()), ", expected ", name_of(program.backend()),
         ", for which the program was compiled");
  }
  State& state = *state_;
  state.data = program.data();
  state.poison = params.poison;
  state.device = make_execution_device(ctx, state.plan().instances, state.plan().steps.size());
  state.inputs.resize(state.program().values().size());
  state.outputs.resize(state.program().outputs().size());
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    state.computed.push_back(state.plan().places[i].memory != MemoryKind::none ? 1 : 0);
  }
  const auto elements = (state.plan().arena_bytes + arena_alignment) / 8;
  state.arena = Tensor(ElementType::i64, {elements}, default_memory_space(ctx.backend()));
  if (state.poison) state.live = live_bytes_of(state.program(), state.plan());
}

Execution::~Execution() = default;
Execution::Execution(Execution&& other) noexcept = default;
Execution& Execution::operator=(Execution&& other) noexcept = default;

const Program& Execution::program() const { return state_->program(); }

namespace {

void check_bound(const char* call, std::string_view name, const ValueInfo& expected, const TensorRef& tensor,
                 bool is_written) {
  if (!tensor || !tensor.has_data()) fail(who, "::", call, ": ", name, " is empty, expected a tensor");
  if (tensor.type() != expected.type || tensor.extents() != expected.extents) {
    fail(who, "::", call, ": ", name, " is ", name_of(tensor.type()), " ", tensor.extents().to_string(), ", expected ",
         name_of(expected.type), " ", expected.extents.to_string());
  }
  if (!is_row_major(tensor.extents(), tensor.strides())) {
    fail(who, "::", call, ": ", name, " has strides ", tensor.strides().to_string(), ", expected a contiguous tensor");
  }
  if (is_written && tensor.read_only()) fail(who, "::", call, ": ", name, " is read-only, but is written");
}

}  // namespace

void Execution::bind_input(std::string_view name, const TensorRef& tensor) {
  const std::int32_t value = state_->input_of(name, "bind_input");
  check_bound("bind_input", name, state_->program().values()[static_cast<std::size_t>(value)], tensor,
              state_->is_written(value));
  state_->inputs[static_cast<std::size_t>(value)] = tensor;
  state_->is_ready = false;
  state_->device->drop_captured();
}

void Execution::bind_output(std::string_view name, const TensorRef& tensor) {
  const std::size_t output = state_->output_of(name, "bind_output");
  const ProgramOutput& its = state_->program().outputs()[output];
  if (its.over) {
    fail(who, "::bind_output: ", name, " is left in the input ", state_->program().value(its.over).name);
  }
  check_bound("bind_output", name, state_->program().value(its.value), tensor, true);
  state_->outputs[output] = tensor;
  state_->is_ready = false;
  state_->device->drop_captured();
}

TensorRef Execution::input(std::string_view name) { return state_->memory_of_input(state_->input_of(name, "input")); }

TensorRef Execution::output(std::string_view name) {
  return state_->memory_of_output(state_->output_of(name, "output"));
}

void Execution::run() {
  const impl::Region region("portops::graph::run");
  if (state_->device->is_captured()) return state_->device->launch();
  state_->prepare();
  state_->enqueue();
}

void Execution::capture() {
  const impl::Region region("portops::graph::capture");
  state_->prepare();
  state_->device->capture([this] { state_->enqueue(); });
}

bool Execution::is_captured() const { return state_->device->is_captured(); }

}  // namespace portops::graph
