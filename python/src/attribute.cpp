// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "attribute.hpp"

#include "errors.hpp"

#include <nanobind/stl/string.h>

namespace portops::python {
namespace {

[[noreturn]] void refuse(nb::handle value, const ArgumentName& name, const char* expected) {
  throw Error(name.to_string() + " is " + described(value) + ", expected " + expected);
}

std::int64_t integer_from(nb::handle value, const ArgumentName& name, const char* expected) {
  if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) refuse(value, name, expected);
  return guarded(name, [&] {
    const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    const long long number = PyLong_AsLongLong(index.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return static_cast<std::int64_t>(number);
  });
}

bool boolean_from(nb::handle value, const ArgumentName& name) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  // NumPy's own, which is no bool of Python's.
  const auto type = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
  if (type != "bool" && type != "bool_") refuse(value, name, "a boolean");
  return PyObject_IsTrue(value.ptr()) == 1;
}

std::vector<std::int64_t> integers_from(const AttributeInfo& info, nb::handle value, const ArgumentName& name) {
  constexpr const char* expected = "an integer or a sequence of integers";
  if (PyIndex_Check(value.ptr())) {
    const auto* given = info.default_value ? std::get_if<std::vector<std::int64_t>>(&*info.default_value) : nullptr;
    return std::vector<std::int64_t>(given != nullptr ? given->size() : 1, integer_from(value, name, expected));
  }
  if (PyUnicode_Check(value.ptr()) || PySequence_Check(value.ptr()) == 0) refuse(value, name, expected);
  std::vector<std::int64_t> numbers;
  guarded(name, [&] {
    for (const nb::handle item : nb::iter(value)) numbers.push_back(integer_from(item, name, expected));
  });
  return numbers;
}

}  // namespace

bool is_number(nb::handle object) {
  if (PyBool_Check(object.ptr())) return false;
  return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) ||
         (!Array::is_array(object) && PyObject_HasAttrString(object.ptr(), "__float__") != 0);
}

double number_from(nb::handle object, const ArgumentName& name) {
  if (!is_number(object)) refuse(object, name, "a number");
  return guarded(name, [&] {
    const double number = PyFloat_AsDouble(object.ptr());
    if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return number;
  });
}

Attribute attribute_from(const AttributeInfo& info, nb::handle value, const ArgumentName& name) {
  switch (info.type) {
    case AttributeType::boolean: return boolean_from(value, name);
    case AttributeType::integer: return integer_from(value, name, "an integer");
    case AttributeType::integers: return integers_from(info, value, name);
    case AttributeType::number:
      if (!PyUnicode_Check(value.ptr())) return number_from(value, name);
      break;  // a text that the schema has for a number
    case AttributeType::text:
      if (!PyUnicode_Check(value.ptr())) refuse(value, name, "a text");
      break;
  }
  return guarded(name, [&] { return nb::cast<std::string>(value); });
}

}  // namespace portops::python
