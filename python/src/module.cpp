// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "array.hpp"
#include "levels.hpp"
#include "operator.hpp"
#include "options.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

// portops._core, on which the package's own modules stand.

namespace portops::python {
namespace {

nb::list described_devices() {
  ensure_runtime();
  nb::list entries;
  for (const Device& device : devices()) {
    nb::dict entry;
    entry["backend"] = std::string(name_of(device.backend));
    entry["name"] = device.name;
    entry["concurrency"] = device.concurrency;
    entry["memory_bytes"] = device.memory_bytes;
    entries.append(entry);
  }
  return entries;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& values) {
  std::vector<std::string> names;
  for (const T value : values) names.emplace_back(name_of(value));
  return names;
}

void bind(nb::module_& m) {
  nb::exception<Error>(m, "Error", PyExc_ValueError);
  bind_levels(m);
  bind_options(m);
  bind_operators(m);
  m.def("devices", &described_devices);
  m.def("backends", [] { return names_of(enabled_backends()); });
  m.def("element_types", [] { return names_of(enabled_element_types()); });
  m.def("operators", [] {
    std::vector<std::string> names;
    for (const OperatorInfo& info : operators()) names.push_back(info.name);
    return names;
  });
  m.def("release", [](bool is_held) {
    end_visits();
    forget_libraries();
    forget_contexts();
    // What daemon threads and other libraries hold is not given back.
    if (is_held) nb::set_leak_warnings(false);
  });
  m.attr("__version__") = PORTOPS_VERSION;
}

}  // namespace
}  // namespace portops::python

NB_MODULE(_core, m) { portops::python::bind(m); }
