// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "array.hpp"

#include <portops/core/registry.hpp>

#include <nanobind/nanobind.h>

namespace portops::python {

/// The value of an attribute from Python. An integer does for a list: for as many of them as the default has items, or
/// one. Throws Error for anything that the attribute does not take.
Attribute attribute_from(const AttributeInfo& info, nb::handle value, const ArgumentName& name);

/// Whether the object is a number: of Python's, or anything with `__float__` that is no array.
bool is_number(nb::handle object);
/// Throws Error where it is none, or does not fit into 64 bits.
double number_from(nb::handle object, const ArgumentName& name);

}  // namespace portops::python
