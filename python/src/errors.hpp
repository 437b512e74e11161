// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/error.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace portops::python {

/// An object in words, for messages: "a str", "None".
inline std::string described(nanobind::handle object) {
  if (object.is_none()) return "None";
  return "a " + nanobind::cast<std::string>(nanobind::str(object.type().attr("__name__")));
}

/// Throws Error with what the exception that Python has set says.
[[noreturn]] inline void fail_by_exception(const std::string& where) {
  const nanobind::python_error error;
  throw Error(where + ": " + nanobind::cast<std::string>(nanobind::str(error.value())));
}

/// What f returns; an exception of Python becomes an Error that says where.
template <class Where, class F>
auto guarded(const Where& where, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const nanobind::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // such as KeyboardInterrupt
    throw Error(where.to_string() + ": " + nanobind::cast<std::string>(nanobind::str(error.value())));
  }
}

}  // namespace portops::python
