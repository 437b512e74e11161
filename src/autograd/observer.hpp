// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/variable.hpp"
#include "core/schema/registry.hpp"

#include <utility>
#include <variant>
#include <vector>

// Whoever wants to know of the calls of operators on variables, such as a recorder of programs.

namespace portops::impl {

/// What a call was given for an input: a variable, empty where it was left out; a number; a list; or levels.
struct ObservedInput {
  ObservedInput(const char* its_name, const autograd::Variable& given) : name(its_name), content(given) {}
  ObservedInput(const char* its_name, const std::vector<autograd::Variable>& given) : name(its_name), content(given) {}
  ObservedInput(const char* its_name, const Levels& given) : name(its_name), content(given) {}
  ObservedInput(const char* its_name, const autograd::VariableOrNumber& given)
      : name(its_name), content(given.is_variable() ? Content(given.variable()) : Content(given.number())) {}

  using Content = std::variant<autograd::Variable, double, std::vector<autograd::Variable>, Levels>;

  const char* name;
  Content content;
};

using ObservedAttribute = std::pair<const char*, Attribute>;

/// What it gave: a variable, empty where it was not computed, or a list.
struct ObservedOutput {
  const char* name;
  std::variant<autograd::Variable, std::vector<autograd::Variable>> content;
};

/// Hears of every call of its host thread, once it is made, while it stands in scopes().observer.
class CallObserver {
 public:
  CallObserver() = default;
  virtual ~CallObserver() = default;
  CallObserver(const CallObserver&) = delete;
  CallObserver& operator=(const CallObserver&) = delete;

  /// A call in place has an output that is the same variable as an input.
  virtual void called(const char* op, const std::vector<ObservedInput>& inputs,
                      const std::vector<ObservedAttribute>& attributes, const std::vector<ObservedOutput>& outputs) = 0;
};

}  // namespace portops::impl
