// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/verifier.hpp"

#include "core/types/fail.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

// Shares no code with the planner, on purpose.

namespace portops::graph {
namespace {

constexpr std::int32_t start = -1;  ///< the step before all others
constexpr std::int32_t nowhere = -1;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  impl::fail("portops::graph: the plan is wrong: ", parts...);
}

/// Bytes that a step reads or writes.
struct Access {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t content = nowhere;  ///< whose elements these are: a value, or behind these a copy
  std::int32_t step = start;
  bool writes = false;
  std::int32_t shown = nowhere;  ///< the place by which it is reached
  std::string_view input = {};   ///< of what a call reads, which input it is, and which of a list
  std::size_t position = 0;
};

class Verifier {
 public:
  Verifier(const Program& program, const Plan& plan)
      : program_(program), plan_(plan), finish_(static_cast<std::int32_t>(plan.steps.size())) {}

  void run() {
    check_form();
    find_order();
    begin();
    for (std::int32_t step = 0; step < finish_; ++step) {
      switch (step_of(step).kind) {
        case Step::Kind::run: add_call(step); break;
        case Step::Kind::view: add_view(step); break;
        case Step::Kind::copy: add_copy(step); break;
      }
    }
    finish();
    for (auto& [memory, accesses] : accesses_) check_memory(accesses);
  }

 private:
  using MemoryKey = std::pair<MemoryKind, std::int32_t>;

  const Step& step_of(std::int32_t step) const { return plan_.steps[static_cast<std::size_t>(step)]; }
  const Place& place(std::int32_t content) const { return plan_.places[static_cast<std::size_t>(content)]; }
  std::int32_t values() const { return static_cast<std::int32_t>(program_.values().size()); }
  const ValueInfo& info(std::int32_t content) const {
    while (content >= values()) content = copied_from_[static_cast<std::size_t>(content - values())];
    return program_.values()[static_cast<std::size_t>(content)];
  }
  std::string name(std::int32_t content) const {
    return (content >= values() ? "a copy of " : "") + info(content).name;
  }
  std::string step_name(std::int32_t step) const {
    if (step == start) return "the beginning";
    if (step == finish_) return "the end";
    const Step& its = step_of(step);
    const std::string what =
        its.kind == Step::Kind::copy ? "copy" : program_.calls()[static_cast<std::size_t>(its.call)].op;
    return "step " + std::to_string(step) + " (" + what + ")";
  }

  void check_form();
  void find_order();
  bool happens_before(std::int32_t a, std::int32_t b) const;
  void begin();
  void add_call(std::int32_t step);
  void add_view(std::int32_t step);
  void add_copy(std::int32_t step);
  void finish();
  void read(std::int32_t step, std::int32_t content, std::string_view input = {}, std::size_t position = 0);
  void write(std::int32_t step, std::int32_t content);
  void add_access(Access access);
  std::int64_t bytes_of_memory(const MemoryKey& memory) const;
  void check_memory(std::vector<Access>& accesses) const;
  void check_pair(const Access& a, const Access& b) const;
  void check_overwritten(const Access& writing, const Access& reading) const;
  bool is_in_place(const Access& reading, std::int32_t to) const;
  bool reads_elements(const Call& call, const OperatorInfo& op, const InputInfo& input) const;
  bool is_laid_out_in_rows(std::int32_t content) const;
  void check_shown(std::int32_t step, const Call& call, std::int32_t from, std::int32_t to) const;

  const Program& program_;
  const Plan& plan_;
  std::int32_t finish_;
  std::vector<std::int32_t> copied_from_;              ///< of each copy
  std::vector<std::vector<std::int32_t>> done_;        ///< of each step the last one of each instance before it
  std::vector<std::int32_t> shown_;                    ///< of each value whose elements it shows; nowhere: not made yet
  std::vector<std::int32_t> written_;                  ///< of each content the step that wrote it
  std::map<MemoryKey, std::vector<Access>> accesses_;  ///< of each memory
};

void Verifier::check_form() {
  if (plan_.constants.size() != program_.values().size()) refuse("constants of other values");
  if (plan_.outputs.size() != program_.outputs().size()) refuse("other outputs");
  if (plan_.instances < 1 || plan_.arena_bytes < 0) refuse("no instance, or no arena");
  for (std::int32_t step = 0; step < finish_; ++step) {
    const Step& its = step_of(step);
    if (its.instance < 0 || its.instance >= plan_.instances) refuse("step ", step, " on instance ", its.instance);
    for (const std::int32_t each : its.after) {
      if (each < 0 || each >= step) refuse("step ", step, " waits for step ", each);
    }
    if (its.kind == Step::Kind::copy) {
      const auto known = values() + static_cast<std::int32_t>(copied_from_.size());
      if (its.from < 0 || its.from >= known || its.to != known) refuse("step ", step, " copies from nowhere");
      copied_from_.push_back(its.from);
    } else if (its.call < 0 || static_cast<std::size_t>(its.call) >= program_.calls().size()) {
      refuse("step ", step, " is no call");
    }
  }
  if (plan_.places.size() != program_.values().size() + copied_from_.size()) refuse("places of other values");
  for (std::int32_t content = 0; content < static_cast<std::int32_t>(plan_.places.size()); ++content) {
    if (place(content).memory == MemoryKind::none) continue;
    if (place(content).strides.rank() != info(content).extents.rank()) refuse(name(content), " has other axes");
  }
}

/// Of each step what is done before it: what came before on its instance, what it waits for, and what was done before
/// these. Views are no work: they stand where they are needed.
void Verifier::find_order() {
  const auto instances = static_cast<std::size_t>(plan_.instances);
  std::vector<std::int32_t> last(instances, nowhere);
  for (std::int32_t step = 0; step < finish_; ++step) {
    std::vector<std::int32_t>& done = done_.emplace_back(instances, nowhere);
    const Step& its = step_of(step);
    if (its.kind == Step::Kind::view) continue;
    const auto add = [&](std::int32_t earlier) {
      const std::vector<std::int32_t>& before = done_[static_cast<std::size_t>(earlier)];
      for (std::size_t i = 0; i < instances; ++i) done[i] = std::max(done[i], before[i]);
      std::int32_t& own = done[static_cast<std::size_t>(step_of(earlier).instance)];
      own = std::max(own, earlier);
    };
    for (const std::int32_t each : its.after) {
      if (step_of(each).kind == Step::Kind::view) refuse("step ", step, " waits for step ", each, ", a view");
      add(each);
    }
    std::int32_t& previous = last[static_cast<std::size_t>(its.instance)];
    if (previous != nowhere) add(previous);
    previous = step;
  }
}

bool Verifier::happens_before(std::int32_t a, std::int32_t b) const {
  if (a == b) return false;
  if (a == start || b == finish_) return true;
  if (b == start || a == finish_) return false;
  return done_[static_cast<std::size_t>(b)][static_cast<std::size_t>(step_of(a).instance)] >= a;
}

/// Inputs and constants are there before the first step.
void Verifier::begin() {
  shown_.assign(static_cast<std::size_t>(values()), nowhere);
  written_.assign(plan_.places.size(), nowhere);
  for (std::int32_t value = 0; value < values(); ++value) {
    const bool is_input = info(value).origin == Origin::input;
    const bool is_constant = plan_.constants[static_cast<std::size_t>(value)] != 0;
    if (!is_input && !is_constant) continue;
    if (is_input && is_constant) refuse("the input ", name(value), " is a constant");
    shown_[static_cast<std::size_t>(value)] = value;
    if (place(value).memory == MemoryKind::none) continue;
    const MemoryKind expected = is_input ? MemoryKind::input : MemoryKind::constant;
    if (place(value).memory != expected || place(value).index != value || place(value).offset != 0 ||
        !is_laid_out_in_rows(value)) {
      refuse(name(value), " does not lie in memory of its own");
    }
    add_access({.content = value, .writes = true, .shown = value});
  }
}

bool Verifier::is_laid_out_in_rows(std::int32_t content) const {
  std::int64_t stride = 1;
  const Extents& extents = info(content).extents;
  for (int axis = extents.rank() - 1; axis >= 0; --axis) {
    if (extents[axis] > 1 && place(content).strides[axis] != stride) return false;
    stride *= extents[axis];
  }
  return true;
}

std::int64_t Verifier::bytes_of_memory(const MemoryKey& memory) const {
  const auto bytes = [&](const ValueInfo& value) {
    return value.extents.product() * static_cast<std::int64_t>(size_of(value.type));
  };
  const auto& [kind, index] = memory;
  if (kind == MemoryKind::arena) return plan_.arena_bytes;
  const auto count = kind == MemoryKind::output ? program_.outputs().size() : program_.values().size();
  if (index < 0 || static_cast<std::size_t>(index) >= count) refuse("there is no memory ", index);
  const ValueInfo& value = kind == MemoryKind::output
                               ? program_.value(program_.outputs()[static_cast<std::size_t>(index)].value)
                               : program_.values()[static_cast<std::size_t>(index)];
  const bool is_of_kind = kind == MemoryKind::output || (kind == MemoryKind::input && value.origin == Origin::input) ||
                          (kind == MemoryKind::constant && plan_.constants[static_cast<std::size_t>(index)] != 0);
  if (!is_of_kind) refuse(value.name, " is no such memory");
  return bytes(value);
}

/// Of a place that is reached as `shown`.
void Verifier::add_access(Access access) {
  const Place& its = place(access.shown);
  const ValueInfo& value = info(access.shown);
  if (its.memory == MemoryKind::none) {
    refuse(step_name(access.step), " needs ", name(access.shown), ", which lies nowhere");
  }
  if (value.extents.product() == 0) return;
  const auto size = static_cast<std::int64_t>(size_of(value.type));
  std::int64_t first = 0, last = 0;
  for (int axis = 0; axis < value.extents.rank(); ++axis) {
    const std::int64_t way = (value.extents[axis] - 1) * its.strides[axis];
    (way < 0 ? first : last) += way;
  }
  access.begin = its.offset + first * size;
  access.end = its.offset + (last + 1) * size;
  const MemoryKey memory{its.memory, its.memory == MemoryKind::arena ? nowhere : its.index};
  if (access.begin < 0 || access.end > bytes_of_memory(memory) || its.offset % size != 0) {
    refuse(name(access.shown), " lies outside of its memory");
  }
  accesses_[memory].push_back(access);
}

void Verifier::read(std::int32_t step, std::int32_t content, std::string_view input, std::size_t position) {
  const std::int32_t shown = content < values() ? shown_[static_cast<std::size_t>(content)] : content;
  if (shown == nowhere) refuse(step_name(step), " reads ", name(content), ", which nothing before it makes");
  add_access({.content = shown, .step = step, .shown = content, .input = input, .position = position});
}

void Verifier::write(std::int32_t step, std::int32_t content) {
  if (content < values()) {
    std::int32_t& shown = shown_[static_cast<std::size_t>(content)];
    if (shown != nowhere) refuse(step_name(step), " makes ", name(content), ", which is there");
    shown = content;
  }
  written_[static_cast<std::size_t>(content)] = step;
  const Place& its = place(content);
  if (its.memory == MemoryKind::constant) refuse(step_name(step), " writes to a constant");
  if (its.memory == MemoryKind::input) {
    const auto& outputs = program_.outputs();
    const bool is_left_there = std::any_of(outputs.begin(), outputs.end(), [&](const ProgramOutput& output) {
      return output.over && output.over.index == its.index;
    });
    if (!is_left_there) refuse(step_name(step), " writes to an input in which no output is left");
  }
  if (!is_laid_out_in_rows(content)) refuse(step_name(step), " writes ", name(content), " with gaps");
  if (its.memory == MemoryKind::arena ? its.offset % 256 != 0 : its.offset != 0) {
    refuse(name(content), " is not aligned");
  }
  add_access({.content = content, .step = step, .writes = true, .shown = content});
}

/// By the schema: whether the call reads the elements of the input or its extents alone.
bool Verifier::reads_elements(const Call& call, const OperatorInfo& op, const InputInfo& input) const {
  if (input.ragged == Ragged::levels) return false;
  const auto at = std::find(op.no_need_buffer.begin(), op.no_need_buffer.end(), input.name);
  if (at == op.no_need_buffer.end() || !op.no_need_buffer_attribute.empty()) return true;
  if (op.no_need_buffer_unless.empty()) return false;
  const Operand* output = call.output(op.no_need_buffer_unless);
  if (output == nullptr) return false;
  for (const ValueId value : output->values()) {
    if (value && place(value.index).memory != MemoryKind::none) return true;
  }
  return false;
}

void Verifier::add_call(std::int32_t step) {
  const Call& call = program_.calls()[static_cast<std::size_t>(step_of(step).call)];
  const OperatorInfo& op = find_operator(call.op);
  for (const InputInfo& input : op.inputs) {
    const Operand* operand = call.input(input.name);
    if (operand == nullptr || !reads_elements(call, op, input)) continue;
    const std::vector<ValueId> read_values = operand->values();
    for (std::size_t i = 0; i < read_values.size(); ++i) read(step, read_values[i].index, input.name, i);
  }
  for (const OutputInfo& output : op.outputs) {
    const Operand* operand = call.output(output.name);
    if (operand == nullptr) continue;
    for (const ValueId value : operand->values()) {
      if (!value) continue;
      if (output.optional && place(value.index).memory == MemoryKind::none) continue;
      write(step, value.index);
    }
  }
}

/// That each element of `to` lies where the call would take it from.
void Verifier::check_shown(std::int32_t step, const Call& call, std::int32_t from, std::int32_t to) const {
  const Place &source = place(from), &target = place(to);
  const Extents &before = info(from).extents, &after = info(to).extents;
  const auto wrong = [&] { refuse(step_name(step), ": ", name(to), " does not show ", name(from)); };
  const auto listed = [&](const char* attribute) {
    return std::get<std::vector<std::int64_t>>(call.attributes.at(attribute));
  };
  if (source.memory != target.memory || source.index != target.index || info(from).type != info(to).type) wrong();
  std::int64_t offset = 0;
  Extents strides = source.strides;
  if (call.op == "transpose" || call.op == "transpose_grad") {
    const std::vector<std::int64_t> perm = listed("perm");
    for (int axis = 0; axis < after.rank(); ++axis) {
      const auto raw = perm[static_cast<std::size_t>(axis)];
      const int other = static_cast<int>(raw < 0 ? raw + after.rank() : raw);
      if (call.op == "transpose") {
        strides[axis] = source.strides[other];
      } else {
        strides[other] = source.strides[axis];
      }
    }
  } else if (call.op == "slice") {
    const std::vector<std::int64_t> axes = listed("axes"), starts = listed("starts"), steps = listed("strides");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const int axis = static_cast<int>(axes[i] < 0 ? axes[i] + before.rank() : axes[i]);
      const std::int64_t by = steps.empty() ? 1 : steps[i];
      // The first element that Python's slice takes.
      std::int64_t first = starts[i] < 0 ? starts[i] + before[axis] : starts[i];
      if (by > 0 && first < 0) first = 0;
      if (by < 0 && first >= before[axis]) first = before[axis] - 1;
      offset += first * source.strides[axis];
      strides[axis] = by * source.strides[axis];
    }
  } else if (call.op == "reshape" || call.op == "reshape_grad") {
    if (!is_laid_out_in_rows(from) || !is_laid_out_in_rows(to)) wrong();
    strides = target.strides;
  } else {
    wrong();
  }
  if (target.offset != source.offset + offset * static_cast<std::int64_t>(size_of(info(from).type))) wrong();
  for (int axis = 0; axis < after.rank(); ++axis) {
    if (after[axis] > 1 && target.strides[axis] != strides[axis]) wrong();
  }
}

void Verifier::add_view(std::int32_t step) {
  const Call& call = program_.calls()[static_cast<std::size_t>(step_of(step).call)];
  const bool is_gradient = call.op.ends_with("_grad");
  const Operand* input = call.input(is_gradient ? "out_grad" : "x");
  const Operand* output = call.output(is_gradient ? "x_grad" : "out");
  if (input == nullptr || output == nullptr || !input->is_value() || !output->is_value()) {
    refuse(step_name(step), " shows nothing");
  }
  const std::int32_t from = input->value().index, to = output->value().index;
  if (place(from).memory == MemoryKind::none || place(to).memory == MemoryKind::none) {
    refuse(step_name(step), " shows what lies nowhere");
  }
  if (shown_[static_cast<std::size_t>(from)] == nowhere) {
    refuse(step_name(step), " shows ", name(from), ", which nothing before it makes");
  }
  if (shown_[static_cast<std::size_t>(to)] != nowhere) refuse(step_name(step), " makes ", name(to), ", which is there");
  check_shown(step, call, from, to);
  shown_[static_cast<std::size_t>(to)] = shown_[static_cast<std::size_t>(from)];
}

void Verifier::add_copy(std::int32_t step) {
  const Step& its = step_of(step);
  if (!is_laid_out_in_rows(its.from)) refuse(step_name(step), " copies ", name(its.from), ", which has gaps");
  if (its.from >= values() && written_[static_cast<std::size_t>(its.from)] == nowhere) {
    refuse(step_name(step), " reads ", name(its.from), ", which nothing before it makes");
  }
  read(step, its.from);
  write(step, its.to);
}

/// What the caller finds.
void Verifier::finish() {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const ProgramOutput& output = program_.outputs()[i];
    const std::int32_t content = plan_.outputs[i];
    if (content < 0 || static_cast<std::size_t>(content) >= plan_.places.size()) refuse(output.name, " is nowhere");
    std::int32_t value = content;
    while (value >= values()) value = copied_from_[static_cast<std::size_t>(value - values())];
    if (value != output.value.index) refuse(output.name, " is ", name(content));
    const Place& its = place(content);
    const MemoryKind expected = output.over ? MemoryKind::input : MemoryKind::output;
    const auto index = output.over ? output.over.index : static_cast<std::int32_t>(i);
    if (its.memory != expected || its.index != index || its.offset != 0 || !is_laid_out_in_rows(content)) {
      refuse(output.name, " is not left where it belongs");
    }
    if (content >= values() && written_[static_cast<std::size_t>(content)] == nowhere) {
      refuse(output.name, " is not copied");
    }
    read(finish_, content);
  }
}

/// Whether the schema lets the call write `to` over this input, and they are the same tensor.
bool Verifier::is_in_place(const Access& reading, std::int32_t to) const {
  const std::int32_t step = reading.step, from = reading.shown;
  if (step == start || step == finish_ || step_of(step).kind != Step::Kind::run) return false;
  const Call& call = program_.calls()[static_cast<std::size_t>(step_of(step).call)];
  const Place &a = place(from), &b = place(to);
  const ValueInfo &source = info(from), &target = info(to);
  if (source.type != target.type || source.extents != target.extents || a.memory != b.memory || a.index != b.index ||
      a.offset != b.offset || !is_laid_out_in_rows(from) || !is_laid_out_in_rows(to)) {
    return false;
  }
  // Of these, "the same memory" means the same elements, moved: not the same tensor.
  if (call.op == "transpose" || call.op == "transpose_grad" || call.op == "slice") return false;
  for (const auto& [input, output] : find_operator(call.op).inplace) {
    const Operand* targets = call.output(output);
    if (input != reading.input || targets == nullptr) continue;
    const std::vector<ValueId> outputs = targets->values();
    if (reading.position < outputs.size() && outputs[reading.position].index == to) return true;
  }
  return false;
}

void Verifier::check_overwritten(const Access& writing, const Access& reading) const {
  if (writing.content == reading.content) return;  // checked by check_memory
  if (writing.step == reading.step) {
    if (is_in_place(reading, writing.shown)) return;
    refuse(step_name(writing.step), " writes ", name(writing.shown), " over ", name(reading.shown), ", which it reads");
  }
  if (happens_before(reading.step, writing.step)) return;
  const std::int32_t writer = reading.content < values() && info(reading.content).origin != Origin::call
                                  ? start
                                  : written_[static_cast<std::size_t>(reading.content)];
  if (happens_before(writing.step, writer)) return;
  refuse(step_name(writing.step), " may write ", name(writing.shown), " over ", name(reading.shown), ", which ",
         step_name(reading.step), " reads");
}

void Verifier::check_pair(const Access& a, const Access& b) const {
  if (a.writes && b.writes) {
    if (!happens_before(a.step, b.step) && !happens_before(b.step, a.step)) {
      refuse(step_name(a.step), " and ", step_name(b.step), " may write ", name(a.shown), " and ", name(b.shown),
             " to the same bytes at once");
    }
  } else if (a.writes) {
    check_overwritten(a, b);
  } else if (b.writes) {
    check_overwritten(b, a);
  }
}

void Verifier::check_memory(std::vector<Access>& accesses) const {
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) { return a.begin < b.begin; });
  std::map<std::int32_t, const Access*> writes;
  for (const Access& access : accesses) {
    if (access.writes) writes.emplace(access.content, &access);
  }
  for (const Access& access : accesses) {
    if (access.writes) continue;
    const auto at = writes.find(access.content);
    if (at == writes.end() || at->second->begin > access.begin || at->second->end < access.end) {
      refuse(step_name(access.step), " reads ", name(access.shown), " where it is not");
    }
    if (!happens_before(at->second->step, access.step)) {
      refuse(step_name(access.step), " may read ", name(access.shown), " before ", step_name(at->second->step),
             " makes it");
    }
  }
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    for (std::size_t b = a + 1; b < accesses.size() && accesses[b].begin < accesses[a].end; ++b) {
      check_pair(accesses[a], accesses[b]);
    }
  }
}

}  // namespace

void verify(const Program& program, const Plan& plan) { Verifier(program, plan).run(); }

}  // namespace portops::graph
