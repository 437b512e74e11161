// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/module.hpp"

#include "core/types/fail.hpp"

#include <set>

namespace portops::nn {

void append(State& state, std::string_view prefix, const State& part) {
  std::set<std::string_view> names;
  state.reserve(state.size() + part.size());
  for (const NamedVariable& each : state) names.insert(each.name);
  for (const NamedVariable& each : part) {
    state.push_back({std::string(prefix) + each.name, each.variable});
    if (!names.insert(state.back().name).second) impl::fail("portops::nn: two tensors are named ", state.back().name);
  }
}

void Members::add(std::string_view name, const Variable& variable, bool is_parameter) {
  if (variable) all_.push_back({{prefix_ + std::string(name), variable}, is_parameter});
}

Members& Members::parameter(std::string_view name, const Variable& variable) {
  return add(name, variable, true), *this;
}

Members& Members::buffer(std::string_view name, const Variable& variable) { return add(name, variable, false), *this; }

Members& Members::unused(std::string_view name) { return unused_.push_back(prefix_ + std::string(name)), *this; }

Members& Members::module(std::string_view name, Module& module) {
  const std::size_t length = prefix_.size();
  prefix_.append(name).append(".");
  modules_.push_back(&module);
  module.describe(*this);
  prefix_.resize(length);
  return *this;
}

State Module::parameters() {
  Members members;
  describe(members);
  State part, all;
  std::set<const impl::VariableData*> seen;
  for (Members::Member& each : members.all_) {
    if (each.is_parameter && seen.insert(each.its.variable.data().get()).second) part.push_back(std::move(each.its));
  }
  append(all, "", part);
  return all;
}

State Module::state() {
  Members members;
  describe(members);
  State part, all;
  for (Members::Member& each : members.all_) part.push_back(std::move(each.its));
  append(all, "", part);
  return all;
}

std::vector<std::string> Module::unused() {
  Members members;
  describe(members);
  return std::move(members.unused_);
}

void Module::train(bool on) {
  Members members;
  describe(members);
  is_training_ = on;
  for (Module* each : members.modules_) each->is_training_ = on;
}

void Module::share_batch(const std::shared_ptr<const SharedBatch>& batch) {
  Members members;
  describe(members);
  shared_batch_ = batch;
  for (Module* each : members.modules_) each->shared_batch_ = batch;
}

void Module::clear_grads() {
  for (NamedVariable& each : parameters()) each.variable.clear_grad();
}

}  // namespace portops::nn
