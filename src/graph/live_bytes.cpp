// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/live_bytes.hpp"

#include "graph/call_facts.hpp"

#include <algorithm>
#include <cstddef>

namespace portops::graph {
namespace {

struct Life {
  std::int32_t written = -1;
  std::int32_t read = -1;  ///< last
};

}  // namespace

std::vector<LiveBytes> live_bytes_of(const Program& program, const Plan& plan) {
  const Needs needs = needs_of(program, plan.constants);
  const std::size_t values = program.values().size();
  std::vector<Life> lives(plan.places.size());
  std::vector<std::int32_t> shown(plan.places.size());  // of a view what it shows
  std::vector<std::int64_t> bytes(plan.places.size());
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < values; ++i) bytes[i] = bytes_of(program.values()[i]);
  const auto read = [&](std::int32_t content, std::int32_t step) {
    lives[static_cast<std::size_t>(shown[static_cast<std::size_t>(content)])].read = step;
  };
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(plan.steps.size()); ++number) {
    const Step& step = plan.steps[static_cast<std::size_t>(number)];
    if (step.kind == Step::Kind::copy) {
      read(step.from, number);
      lives[static_cast<std::size_t>(step.to)].written = number;
      bytes[static_cast<std::size_t>(step.to)] = bytes[static_cast<std::size_t>(step.from)];
      continue;
    }
    const Call& call = program.calls()[static_cast<std::size_t>(step.call)];
    if (step.kind == Step::Kind::view) {
      for (const View& view : views_of(call)) {
        shown[static_cast<std::size_t>(view.to.index)] = shown[static_cast<std::size_t>(view.from.index)];
      }
      continue;
    }
    for (const ValueId value : needs.reads[static_cast<std::size_t>(step.call)]) read(value.index, number);
    for (const NamedOperand& output : call.outputs) {
      for (const ValueId value : output.operand.values()) {
        if (value) lives[static_cast<std::size_t>(value.index)].written = number;
      }
    }
  }
  std::vector<LiveBytes> live(plan.steps.size());
  for (std::size_t content = 0; content < lives.size(); ++content) {
    const Place& place = plan.places[content];
    if (place.memory != MemoryKind::arena || bytes[content] == 0) continue;
    for (std::int32_t step = lives[content].written + 1; step <= lives[content].read; ++step) {
      live[static_cast<std::size_t>(step)].ranges.emplace_back(place.offset, place.offset + bytes[content]);
    }
  }
  for (LiveBytes& each : live) std::sort(each.ranges.begin(), each.ranges.end());
  return live;
}

}  // namespace portops::graph
