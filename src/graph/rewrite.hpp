// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/program.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace portops::graph {

/// Makes a program from another one, call by call: each is taken as it is, or something else stands for its results.
class Rewrite {
 public:
  /// Its inputs and constants are there.
  explicit Rewrite(const Program& from);

  Program& to() { return to_; }
  const Program& from() const { return from_; }
  /// What a value of the old program is in the new one. Throws Error where it is not there yet.
  ValueId operator[](ValueId old) const;
  /// The name, or one like it, that no value of either program has.
  std::string free_name(std::string name) const;
  /// What a call is given, in the new program.
  CallRequest request_of(const Call& call) const;
  /// Takes a call as it is; its results keep their names.
  void take(const Call& call) { take(call, request_of(call)); }
  /// Takes a call, given something else.
  void take(const Call& call, const CallRequest& request);
  /// `value` stands for the result of a call that is not taken, and takes over its name.
  void replace(ValueId old, ValueId value);
  /// With the outputs.
  Program finish();

 private:
  Operand operand_of(const Operand& operand) const;

  const Program& from_;
  Program to_;
  std::vector<ValueId> values_;
};

}  // namespace portops::graph
