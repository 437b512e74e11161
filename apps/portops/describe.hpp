// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/registry.hpp>

#include <ostream>

// What the command tells about operators and devices. All of it comes from the schema and the library: a new operator
// needs no line here.

namespace portops::apps {

/// Every operator's name and what it is, a line each.
void describe_operators(std::ostream& out);

/// An operator's formula, inputs, attributes, outputs and rules, and how it is run.
void describe(const OperatorInfo& op, std::ostream& out);

/// Version, backends, element types.
void describe_build(std::ostream& out);

/// A table of the devices that are present. Needs an initialised runtime.
void describe_devices(std::ostream& out);

}  // namespace portops::apps
