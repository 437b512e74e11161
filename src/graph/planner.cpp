// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/planner.hpp"

#include "graph/arena.hpp"
#include "graph/call_facts.hpp"
#include "graph/layouts.hpp"
#include "graph/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace portops::graph {
namespace {

constexpr std::int32_t none = -1;

/// Bytes that values share, one after the other: what a call writes in place lies in the storage of what it read.
struct Storage {
  MemoryKind memory = MemoryKind::arena;
  std::int32_t index = none;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  std::int32_t written_over = none;         ///< the last step that does so in place
  std::vector<std::int32_t> accesses = {};  ///< the steps that write or read it, in their order
};

/// What is known of a value while the plan is made.
struct ValueState {
  std::int32_t root = none;  ///< the value whose elements these are: of a view what it shows, else itself
  std::int64_t offset = 0;   ///< of its first element behind the root's, in elements
  Extents strides;
  std::int32_t storage = none;        ///< of a root
  std::int32_t writer = none;         ///< of a root the step that computes it
  std::vector<std::int32_t> readers;  ///< of a root the steps that read it, through views too: one for each operand
  bool is_result = false;             ///< of a root: an output of the program shows it
  std::vector<ValueId> sources;       ///< what the call that makes it may write it over
};

class Planner {
 public:
  Planner(const Program& program, const std::vector<std::uint8_t>& constants, const PlanParams& params)
      : program_(program),
        constants_(constants),
        params_(params),
        needs_(needs_of(program, constants)),
        states_(program.values().size()),
        schedule_(params.instances) {}

  Plan make() {
    choose_layouts();
    find_views();
    schedule();
    choose_results();
    for (std::int32_t step = 0; step < static_cast<std::int32_t>(runs_.size()); ++step) place_outputs(step);
    add_copies();
    lay_out_arena();
    write_down();
    return std::move(plan_);
  }

 private:
  ValueState& state(ValueId value) { return states_[static_cast<std::size_t>(value.index)]; }
  ValueState& state(std::int32_t value) { return states_[static_cast<std::size_t>(value)]; }
  ValueState& root_of(ValueId value) { return state(state(value).root); }
  Storage& storage_of(std::int32_t root) { return storages_[static_cast<std::size_t>(state(root).storage)]; }
  const Call& call(std::int32_t step) const {
    return program_.calls()[static_cast<std::size_t>(runs_[static_cast<std::size_t>(step)])];
  }
  const std::vector<ValueId>& reads(std::int32_t step) const {
    return needs_.reads[static_cast<std::size_t>(runs_[static_cast<std::size_t>(step)])];
  }
  bool is_constant(ValueId value) const { return constants_[static_cast<std::size_t>(value.index)] != 0; }
  bool is_needed(ValueId value) const { return value && needs_.values[static_cast<std::size_t>(value.index)] != 0; }

  void choose_layouts();
  void find_views();
  bool may_be_view(const ValueInfo& value, std::int64_t offset, const Extents& strides) const;
  void schedule();
  void choose_results();
  void place_outputs(std::int32_t step);
  bool is_read_once(const ValueState& root, std::int32_t step) const;
  void place_in_place(std::int32_t step, ValueId from, ValueId to);
  std::int32_t new_storage(MemoryKind memory, std::int32_t index, std::int64_t bytes);
  bool may_write_over(const ValueState& content, std::int32_t step) const;
  void add_copies();
  void add_copy(std::int32_t from, const Place& to);
  void lay_out_arena();
  void write_down();
  Place place_of(std::int32_t value);

  const Program& program_;
  const std::vector<std::uint8_t>& constants_;
  const PlanParams& params_;
  Needs needs_;
  std::vector<ValueState> states_;
  Schedule schedule_;
  std::vector<std::int32_t> runs_;          ///< of each step the call
  std::vector<std::uint8_t> is_view_ = {};  ///< of each call
  std::vector<Storage> storages_;
  std::vector<std::int32_t> direct_;  ///< of each value the output whose memory it is computed in, or none
  struct CopyStep {
    std::int32_t from;  ///< a value, or behind these a copy
    Place to;
    std::int32_t storage = none;  ///< of a copy in the arena
  };
  std::vector<CopyStep> copies_;
  Plan plan_;
};

/// In what order the elements of every value lie, unless it shows another one's.
void Planner::choose_layouts() {
  std::vector<std::uint8_t> channels_last(states_.size());
  if (params_.channels_last) channels_last = find_channels_last(program_, needs_, constants_);
  for (std::size_t value = 0; value < states_.size(); ++value) {
    const Extents& extents = program_.values()[value].extents;
    states_[value].strides = channels_last[value] != 0 ? channels_last_strides(extents) : extents.row_major_strides();
  }
}

/// What every value shows of which root. Results are no views, because they lie in memory of their own.
void Planner::find_views() {
  std::vector<std::uint8_t> is_output(states_.size());
  for (const ProgramOutput& output : program_.outputs()) is_output[static_cast<std::size_t>(output.value.index)] = 1;
  for (std::size_t value = 0; value < states_.size(); ++value) states_[value].root = static_cast<std::int32_t>(value);
  is_view_.resize(program_.calls().size());
  if (params_.views == Views::none) return;
  for (std::size_t number = 0; number < program_.calls().size(); ++number) {
    const Call& call = program_.calls()[number];
    const std::vector<View> views = views_of(call);
    if (views.empty() || needs_.calls[number] == 0) continue;
    const ValueState& from = state(views.front().from);
    const std::vector<ViewLayout> layouts = view_layouts(program_, call, from.strides);
    bool moves_nothing = !layouts.empty();
    for (std::size_t i = 0; moves_nothing && i < views.size(); ++i) {
      moves_nothing = is_output[static_cast<std::size_t>(views[i].to.index)] == 0 &&
                      may_be_view(program_.value(views[i].to), from.offset + layouts[i].offset, layouts[i].strides);
    }
    if (!moves_nothing) continue;
    is_view_[number] = 1;
    for (std::size_t i = 0; i < views.size(); ++i) {
      ValueState& to = state(views[i].to);
      to.root = from.root;
      to.offset = from.offset + layouts[i].offset;
      to.strides = layouts[i].strides;
    }
  }
}

/// Whether a value may show another one's elements, from that one on.
bool Planner::may_be_view(const ValueInfo& value, std::int64_t offset, const Extents& strides) const {
  if (params_.views != Views::contiguous) return true;
  // Products choose their way by where operands begin, too: a copy begins as memory from the pool does.
  return is_row_major(value.extents, strides) &&
         offset * static_cast<std::int64_t>(size_of(value.type)) % arena_alignment == 0;
}

/// Which instance runs what, by what stands on what.
void Planner::schedule() {
  for (std::size_t number = 0; number < program_.calls().size(); ++number) {
    if (needs_.calls[number] == 0 || is_view_[number] != 0) continue;
    std::vector<std::int32_t> dependencies;
    double work = 1.0;
    for (const ValueId value : needs_.reads[number]) {
      const ValueState& root = root_of(value);
      if (root.writer != none) dependencies.push_back(root.writer);
      work += static_cast<double>(bytes_of(program_.value(value)));
    }
    const std::int32_t step = schedule_.add(dependencies, work);
    runs_.push_back(static_cast<std::int32_t>(number));
    for (const ValueId value : needs_.reads[number]) root_of(value).readers.push_back(step);
    for (const auto& [from, to] : in_place_pairs(program_.calls()[number])) state(to).sources.push_back(from);
    for (const NamedOperand& output : program_.calls()[number].outputs) {
      for (const ValueId value : output.operand.values()) {
        if (is_needed(value)) state(value).writer = step;
      }
    }
  }
}

/// Which values are computed where a result is expected. Others are copied there in the end.
void Planner::choose_results() {
  direct_.assign(states_.size(), none);
  for (const ProgramOutput& output : program_.outputs()) root_of(output.value).is_result = true;
  for (std::size_t number = 0; number < program_.outputs().size(); ++number) {
    const ProgramOutput& output = program_.outputs()[number];
    std::int32_t& direct = direct_[static_cast<std::size_t>(output.value.index)];
    const ValueState& its = state(output.value);
    if (direct != none || is_constant(output.value) || its.writer == none) continue;
    // In the memory of an input whose elements are still to be read by others it is not computed, but copied there.
    if (output.over) {
      const ValueState& input = state(output.over);
      const bool is_free =
          !input.is_result && std::all_of(input.readers.begin(), input.readers.end(), [&](auto reader) {
            return reader == its.writer || schedule_.happens_before(reader, its.writer);
          });
      if (!is_free) continue;
      // A call that reads it may write over it where the schema says so.
      const bool is_read = std::binary_search(input.readers.begin(), input.readers.end(), its.writer);
      const auto is_source = [&](ValueId from) {
        const ValueInfo& source = program_.value(from);
        return state(from).root == output.over.index && source.extents == program_.value(output.value).extents &&
               is_row_major(source.extents, state(from).strides) && state(from).offset == 0;
      };
      const bool is_in_place = params_.in_place && is_read_once(input, its.writer) &&
                               std::any_of(its.sources.begin(), its.sources.end(), is_source);
      if (is_read && !is_in_place) continue;
    }
    direct = static_cast<std::int32_t>(number);
  }
}

std::int32_t Planner::new_storage(MemoryKind memory, std::int32_t index, std::int64_t bytes) {
  storages_.push_back({.memory = memory, .index = index, .bytes = bytes});
  return static_cast<std::int32_t>(storages_.size()) - 1;
}

/// Whether nobody but the step reads the content any more when it runs.
bool Planner::may_write_over(const ValueState& content, std::int32_t step) const {
  // The last ones first: of many readers these are in the way.
  return !content.is_result && std::all_of(content.readers.rbegin(), content.readers.rend(), [&](std::int32_t reader) {
    return reader == step || schedule_.happens_before(reader, step);
  });
}

/// Whether the step reads it by one operand alone.
bool Planner::is_read_once(const ValueState& root, std::int32_t step) const {
  const auto [first, last] = std::equal_range(root.readers.begin(), root.readers.end(), step);
  return last - first == 1;
}

/// Has the call write `to` over `from`, where it may.
void Planner::place_in_place(std::int32_t step, ValueId from, ValueId to) {
  const ValueInfo& source = program_.value(from);
  const ValueInfo& target = program_.value(to);
  const std::int32_t root = state(from).root;
  if (!is_needed(to) || state(root).storage == none || is_constant({root})) return;
  if (source.type != target.type || source.extents != target.extents || state(from).offset != 0 ||
      !lie_alike(source.extents, state(from).strides, state(to).strides) ||
      bytes_of(source) != storage_of(root).bytes) {
    return;
  }
  if (!is_read_once(state(root), step) || !may_write_over(state(root), step)) return;
  Storage& its = storage_of(root);
  if (its.written_over == step) return;
  if (const std::int32_t result = direct_[static_cast<std::size_t>(to.index)]; result != none) {
    // A result in memory of its own takes the storage there with it; one over an input needs no other's.
    if (program_.outputs()[static_cast<std::size_t>(result)].over || its.memory != MemoryKind::arena) return;
    its.memory = MemoryKind::output;
    its.index = result;
  } else if (its.memory != MemoryKind::arena) {
    return;
  }
  its.written_over = step;
  state(to).storage = state(root).storage;
}

/// Where the step writes its outputs, in the order of the steps.
void Planner::place_outputs(std::int32_t step) {
  if (params_.in_place) {
    for (const InPlacePair& pair : in_place_pairs(call(step))) place_in_place(step, pair.from, pair.to);
  }
  for (const NamedOperand& output : call(step).outputs) {
    for (const ValueId value : output.operand.values()) {
      if (!is_needed(value)) continue;
      ValueState& its = state(value);
      if (its.storage == none) {
        const std::int32_t result = direct_[static_cast<std::size_t>(value.index)];
        MemoryKind memory = MemoryKind::arena;
        std::int32_t index = none;
        if (result != none) {
          const ValueId over = program_.outputs()[static_cast<std::size_t>(result)].over;
          memory = over ? MemoryKind::input : MemoryKind::output;
          index = over ? over.index : result;
        }
        its.storage = new_storage(memory, index, bytes_of(program_.value(value)));
      }
      storages_[static_cast<std::size_t>(its.storage)].accesses.push_back(step);
    }
  }
  for (const ValueId value : reads(step)) {
    if (const std::int32_t storage = root_of(value).storage; storage != none) {
      storages_[static_cast<std::size_t>(storage)].accesses.push_back(step);
    }
  }
}

/// A step behind all others.
void Planner::add_copy(std::int32_t from, const Place& to) {
  const std::int32_t step = schedule_.add_last();
  CopyStep& copy = copies_.emplace_back(CopyStep{from, to});
  const auto values = static_cast<std::int32_t>(states_.size());
  const std::int32_t source =
      from < values ? state(state(from).root).storage : copies_[static_cast<std::size_t>(from - values)].storage;
  if (source != none) storages_[static_cast<std::size_t>(source)].accesses.push_back(step);
  if (to.memory == MemoryKind::arena) {
    copy.storage = new_storage(MemoryKind::arena, none, bytes_of(program_.values()[static_cast<std::size_t>(from)]));
    storages_[static_cast<std::size_t>(copy.storage)].accesses.push_back(step);
  }
}

/// Results that lie elsewhere: those that nobody computes, those that are there twice, and those over inputs that are
/// still read.
void Planner::add_copies() {
  const auto values = static_cast<std::int32_t>(states_.size());
  const auto next = [&] { return values + static_cast<std::int32_t>(copies_.size()); };
  const std::vector<ProgramOutput>& outputs = program_.outputs();
  plan_.outputs.assign(outputs.size(), none);
  std::vector<std::int32_t> sources(outputs.size(), none);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int32_t value = outputs[i].value.index;
    const bool is_there =
        direct_[static_cast<std::size_t>(value)] == static_cast<std::int32_t>(i) || outputs[i].value == outputs[i].over;
    (is_there ? plan_.outputs[i] : sources[i]) = value;
  }
  std::vector<std::uint8_t> is_written(states_.size());
  for (const ProgramOutput& output : outputs) {
    if (output.over) is_written[static_cast<std::size_t>(output.over.index)] = 1;
  }
  const auto strides_of = [&](std::size_t i) { return program_.value(outputs[i].value).extents.row_major_strides(); };
  // First what writes to no input; then, out of harm's way, the inputs that others are left in; then these.
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (sources[i] == none || outputs[i].over) continue;
    plan_.outputs[i] = next();
    add_copy(sources[i], {MemoryKind::output, static_cast<std::int32_t>(i), 0, strides_of(i)});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (sources[i] == none || !outputs[i].over) continue;
    if (is_written[static_cast<std::size_t>(state(outputs[i].value).root)] == 0) continue;
    sources[i] = next();
    add_copy(outputs[i].value.index, {MemoryKind::arena, none, 0, strides_of(i)});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (sources[i] == none || !outputs[i].over) continue;
    plan_.outputs[i] = next();
    add_copy(sources[i], {MemoryKind::input, outputs[i].over.index, 0, strides_of(i)});
  }
}

/// Gives the storages in the arena their offsets.
void Planner::lay_out_arena() {
  std::vector<Storage*> storages;
  std::vector<Block> blocks;
  for (Storage& each : storages_) {
    if (each.memory != MemoryKind::arena) continue;
    storages.push_back(&each);
    blocks.push_back({each.bytes, each.accesses});
  }
  const ArenaLayout layout = lay_out(blocks, schedule_, params_.reuse);
  for (std::size_t i = 0; i < storages.size(); ++i) storages[i]->offset = layout.offsets[i];
  plan_.arena_bytes = layout.bytes;
  plan_.live_bytes = layout.live_bytes;
}

Place Planner::place_of(std::int32_t value) {
  const ValueState& its = state(value);
  const ValueInfo& root = program_.values()[static_cast<std::size_t>(its.root)];
  Place place{.strides = its.strides};
  if (is_constant({its.root})) {
    place.memory = MemoryKind::constant;
    place.index = its.root;
  } else if (root.origin == Origin::input) {
    place.memory = MemoryKind::input;
    place.index = its.root;
  } else if (const std::int32_t number = state(its.root).storage; number != none) {
    const Storage& storage = storages_[static_cast<std::size_t>(number)];
    place.memory = storage.memory;
    place.index = storage.index;
    place.offset = storage.offset;
  } else {
    return {};
  }
  place.offset += its.offset * static_cast<std::int64_t>(size_of(root.type));
  return place;
}

void Planner::write_down() {
  const auto values = static_cast<std::int32_t>(states_.size());
  plan_.constants = constants_;
  plan_.instances = params_.instances;
  for (std::int32_t value = 0; value < values; ++value) plan_.places.push_back(place_of(value));
  for (const CopyStep& copy : copies_) {
    Place place = copy.to;
    if (copy.storage != none) place.offset = storages_[static_cast<std::size_t>(copy.storage)].offset;
    plan_.places.push_back(place);
  }
  // Views stand in front of the first step that follows them; steps are numbered anew.
  std::vector<std::int32_t> numbers(runs_.size() + copies_.size(), none);
  std::size_t step = 0;
  const auto add = [&](Step made, std::size_t scheduled) {
    numbers[scheduled] = static_cast<std::int32_t>(plan_.steps.size());
    made.instance = schedule_.instance(static_cast<std::int32_t>(scheduled));
    for (const std::int32_t each : schedule_.after(static_cast<std::int32_t>(scheduled))) {
      made.after.push_back(numbers[static_cast<std::size_t>(each)]);
    }
    plan_.steps.push_back(std::move(made));
  };
  for (std::size_t number = 0; number < program_.calls().size(); ++number) {
    if (needs_.calls[number] == 0) continue;
    const auto its = static_cast<std::int32_t>(number);
    if (is_view_[number] != 0) {
      plan_.steps.push_back({.kind = Step::Kind::view, .call = its});
    } else {
      add({.kind = Step::Kind::run, .call = its}, step++);
    }
  }
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    add({.kind = Step::Kind::copy, .from = copies_[i].from, .to = values + static_cast<std::int32_t>(i)}, step++);
  }
}

}  // namespace

Plan make_plan(const Program& program, const std::vector<std::uint8_t>& constants, const PlanParams& params) {
  return Planner(program, constants, params).make();
}

}  // namespace portops::graph
