// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nanobind/nanobind.h>

namespace portops::python {

namespace nb = nanobind;

/// portops.Levels
void bind_levels(nb::module_& m);

}  // namespace portops::python
