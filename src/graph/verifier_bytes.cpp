// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/verifier_class.hpp"

#include <algorithm>
#include <iterator>

// The bytes of each memory are followed from step to step. A step happens before another one only if it comes earlier
// in the plan. So it is enough to compare each access with what it finds: a read with the last write, a write with that
// and with who has read it since. Whatever was there earlier happens before these.

namespace portops::graph {

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
  if (kind == MemoryKind::output && program_.outputs()[static_cast<std::size_t>(index)].over) {
    refuse(program_.outputs()[static_cast<std::size_t>(index)].name, ", which is left in an input, is no memory");
  }
  return bytes(value);
}

/// The bytes of a place that is reached as `shown`.
Verifier::Access Verifier::access_of(std::int32_t step, std::int32_t content, std::int32_t shown) const {
  const Place& its = place(shown);
  const ValueInfo& value = info(shown);
  if (its.memory == MemoryKind::none) refuse(step_name(step), " needs ", name(shown), ", which lies nowhere");
  Access access{.step = step, .content = content, .shown = shown};
  access.memory = {its.memory, its.memory == MemoryKind::arena ? nowhere : its.index};
  const std::int64_t bytes = bytes_of_memory(access.memory);
  if (value.extents.product() == 0) return access;
  const auto size = static_cast<std::int64_t>(size_of(value.type));
  std::int64_t first = 0, last = 0;
  for (int axis = 0; axis < value.extents.rank(); ++axis) {
    const std::int64_t way = (value.extents[axis] - 1) * its.strides[axis];
    (way < 0 ? first : last) += way;
  }
  access.begin = its.offset + first * size;
  access.end = its.offset + (last + 1) * size;
  if (access.begin < 0 || access.end > bytes || its.offset % size != 0) {
    refuse(name(shown), " lies outside of its memory");
  }
  return access;
}

void Verifier::read(std::int32_t step, std::int32_t content, std::string_view input, std::size_t position) {
  const std::int32_t whose = content < values() ? shown_[static_cast<std::size_t>(content)] : content;
  if (whose == nowhere) refuse(step_name(step), " reads ", name(content), ", which nothing before it makes");
  Access reading = access_of(step, whose, content);
  if (reading.begin == reading.end) return;
  reading.input = input;
  reading.position = position;
  auto& stretches = memories_[reading.memory];
  const auto behind = stretches.upper_bound(reading.begin);
  const auto at = behind != stretches.begin() ? std::prev(behind) : stretches.end();
  if (at == stretches.end() || at->second.end < reading.end || at->second.content != whose) {
    refuse(step_name(step), " reads ", name(content), " where it is not, or is no longer");
  }
  Stretch& its = at->second;
  if (!happens_before(its.writer, step)) {
    refuse(step_name(step), " may read ", name(content), " before ", step_name(its.writer), " makes it");
  }
  its.is_read_twice = !its.readers.empty() && its.readers.back() == step;
  if (its.is_read_twice) return;
  std::erase_if(its.readers, [&](std::int32_t reader) { return happens_before(reader, step); });
  its.readers.push_back(step);
  its.reading = reading;
}

void Verifier::write(std::int32_t step, std::int32_t content) {
  if (content < values()) {
    std::int32_t& shown = shown_[static_cast<std::size_t>(content)];
    if (shown != nowhere) refuse(step_name(step), " makes ", name(content), ", which is there");
    shown = content;
  }
  is_written_[static_cast<std::size_t>(content)] = 1;
  const Place& its = place(content);
  if (its.memory == MemoryKind::constant) refuse(step_name(step), " writes to a constant");
  const Access writing = access_of(step, content, content);
  if (its.memory == MemoryKind::input && is_left_in_[static_cast<std::size_t>(its.index)] == 0) {
    refuse(step_name(step), " writes to an input in which no output is left");
  }
  if (!has_no_gaps(content)) refuse(step_name(step), " writes ", name(content), " with gaps");
  if (its.memory == MemoryKind::arena ? its.offset % 256 != 0 : its.offset != 0) {
    refuse(name(content), " is not aligned");
  }
  overwrite(writing);
}

void Verifier::overwrite(const Access& writing) {
  if (writing.begin == writing.end) return;
  auto& stretches = memories_[writing.memory];
  auto at = stretches.lower_bound(writing.begin);
  if (at != stretches.begin() && std::prev(at)->second.end > writing.begin) --at;
  while (at != stretches.end() && at->first < writing.end) {
    check_overwritten(writing, at->second);
    const std::int64_t begin = at->first;
    Stretch rest = std::move(at->second);
    at = stretches.erase(at);
    if (begin < writing.begin) {
      Stretch& front = stretches.emplace(begin, rest).first->second;
      front.end = writing.begin;
    }
    if (rest.end > writing.end) at = stretches.emplace(writing.end, std::move(rest)).first;
  }
  stretches.emplace(writing.begin, Stretch{.end = writing.end, .content = writing.content, .writer = writing.step});
}

void Verifier::check_overwritten(const Access& writing, const Stretch& stretch) const {
  if (!happens_before(stretch.writer, writing.step)) {
    refuse(step_name(stretch.writer), " and ", step_name(writing.step), " may write ", name(stretch.content), " and ",
           name(writing.shown), " to the same bytes at once");
  }
  for (const std::int32_t reader : stretch.readers) {
    if (reader == writing.step) {
      if (!stretch.is_read_twice && is_in_place(stretch.reading, writing.shown)) continue;
      refuse(step_name(reader), " writes ", name(writing.shown), " over ", name(stretch.content), ", which it reads");
    }
    if (happens_before(reader, writing.step)) continue;
    refuse(step_name(writing.step), " may write ", name(writing.shown), " over ", name(stretch.content), ", which ",
           step_name(reader), " reads");
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
      a.offset != b.offset || !has_no_gaps(from)) {
    return false;
  }
  for (int axis = 0; axis < source.extents.rank(); ++axis) {
    if (source.extents[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  // Of these, "the same memory" means the same elements, moved: not the same tensor.
  if (call.op == "transpose" || call.op == "transpose_grad" || call.op == "slice") return false;
  for (const auto& [input, output] : find_operator(call.op).inplace) {
    const Operand* targets = call.output(output);
    if (input != reading.input || targets == nullptr) continue;
    if (targets->is_value()) {
      if (targets->value().index == to) return true;
    } else if (reading.position < targets->list().size() && targets->list()[reading.position].index == to) {
      return true;
    }
  }
  return false;
}

}  // namespace portops::graph
