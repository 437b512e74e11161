// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/schema/named_call.hpp"
#include "core/schema/registry.hpp"

#include <utility>
#include <vector>

// Between the registry, which knows no operator, and the tables that the build makes from src/ops/ops.yaml.

namespace portops::impl {

/// The extents of an output, or of the tensors of one that is a list.
struct OutputExtents {
  OutputExtents(const Extents& one) : extents(one) {}                // NOLINT: implicit by design
  OutputExtents(std::vector<Extents> all) : list(std::move(all)) {}  // NOLINT: implicit by design

  Extents extents;
  std::vector<Extents> list;
};

/// The levels of an output, or of the tensors of one that is a list.
struct OutputLevels {
  OutputLevels(Levels one) : levels(std::move(one)) {}             // NOLINT: implicit by design
  OutputLevels(std::vector<Levels> all) : list(std::move(all)) {}  // NOLINT: implicit by design

  Levels levels;
  std::vector<Levels> list;
};

/// How the registry reaches an operator.
struct OperatorAdapter {
  std::vector<OutputExtents> (*extents)(const NamedCall& call);  ///< of the outputs, in their order
  std::vector<OutputLevels> (*levels)(const NamedCall& call);    ///< of the outputs, in their order
  void (*run)(const Context& ctx, const NamedCall& call);
};

struct OperatorTable {
  std::vector<OperatorInfo> infos;
  std::vector<OperatorAdapter> adapters;   ///< of the same operators
  std::vector<std::string_view> left_out;  ///< the operators that this build goes without
};

/// Defined by the generated tables.
const OperatorTable& operator_table();
const OperatorAdapter& adapter_of(const NamedCall& call);

// portops::infer and portops::run in two steps, for who makes outputs of what is inferred.

/// Of each output, in the schema's order. Throws what portops::infer does.
std::vector<TensorSpec> infer(const NamedCall& call);
/// Runs a call that `infer` has been content with. Throws Error when an output is missing, and what the operator
/// throws.
void run(const Context& ctx, const NamedCall& call);

}  // namespace portops::impl
