// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operator.hpp"

#include "array.hpp"
#include "attribute.hpp"
#include "errors.hpp"
#include "options.hpp"

#include "core/schema/registry_table.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace portops::python {
namespace {

/// The arrays of an argument: one, or those of a list, some of which may be left out.
struct Arrays {
  std::string_view name;
  bool list = false;
  bool is_output = false;
  std::vector<std::optional<Array>> items = {};
  std::vector<Levels> levels = {};  ///< of the items of a list of ragged tensors
};

/// An output, from what the caller says of it to what is returned.
struct Wanted {
  bool is_wanted = false;
  nb::object given;  ///< an array to write to, or a list of them; none
};

/// One call, step by step.
class PythonCall {
 public:
  PythonCall(const OperatorInfo& info, bool in_autograd, nb::tuple arguments);

  nb::object run();

 private:
  ArgumentName named(std::string_view name, int item = -1) const { return {info_.name, name, item}; }
  void add_input(const InputInfo& input, nb::handle value);
  void add_list(const InputInfo& input, nb::handle value);
  void check_sequence(nb::handle value, std::string_view name) const;
  Array array_of(nb::handle value, std::string_view name, int item = -1) const;
  void add_output(const OutputInfo& output, nb::handle value);
  bool is_usually_wanted(const OutputInfo& output) const;

  Place find_place() const;
  void set(Arrays& arrays, StreamHandle stream);
  /// The array after which those of outputs are made, and which says where the call runs.
  const Array& prototype() const;
  /// Makes the arrays of an output that the caller has not given.
  nb::object make(const OutputInfo& output, const TensorSpec& spec, StreamHandle stream);
  nb::object result(const OutputInfo& output, const TensorSpec& spec, nb::object made) const;

  const OperatorInfo& info_;
  bool in_autograd_;
  Options options_;
  Arguments arguments_;
  std::vector<Arrays> arrays_;
  std::vector<Wanted> outputs_;
};

PythonCall::PythonCall(const OperatorInfo& info, bool in_autograd, nb::tuple arguments)
    : info_(info), in_autograd_(in_autograd) {
  const std::size_t count = info.inputs.size() + info.attributes.size() + info.outputs.size() + 1;
  if (arguments.size() != count) {
    throw Error("portops::" + info.name + ": " + std::to_string(arguments.size()) + " arguments, expected " +
                std::to_string(count) + ": inputs, attributes, outputs and the context");
  }
  arrays_.reserve(info.inputs.size() + info.outputs.size());
  std::size_t next = 0;
  for (const InputInfo& input : info.inputs) {
    const nb::handle value = arguments[next++];
    if (!value.is_none()) add_input(input, value);
  }
  for (const AttributeInfo& attribute : info.attributes) {
    const nb::handle value = arguments[next++];
    if (!value.is_none()) arguments_.set(attribute.name, attribute_from(attribute, value, named(attribute.name)));
  }
  for (const OutputInfo& output : info.outputs) add_output(output, arguments[next++]);
  const nb::handle context = arguments[next];
  if (context.is_none()) {
    options_ = current_options();
  } else if (nb::isinstance<Options>(context)) {
    const auto& given = nb::cast<Options&>(context);
    options_ = in_autograd ? current_options().within(given) : given.within(current_options());
  } else {
    throw Error("portops::" + info.name + ": context is " + described(context) + ", expected a portops.context");
  }
}

Array PythonCall::array_of(nb::handle value, std::string_view name, int item) const {
  Array array(value, named(name, item));
  if (!in_autograd_ && array.api() != nullptr && wants_gradient(value)) {
    throw Error(named(name, item).to_string() +
                " requires a gradient, which this call would not record: call portops.torch." + info_.name +
                " instead, or hand over its detach()");
  }
  return array;
}

void PythonCall::add_input(const InputInfo& input, nb::handle value) {
  if (input.list) return add_list(input, value);
  if (input.ragged == Ragged::levels) {
    if (!nb::isinstance<Levels>(value)) {
      throw Error(named(input.name).to_string() + " is " + described(value) + ", expected portops.Levels");
    }
    arguments_.set(input.name, nb::cast<const Levels&>(value));
    return;
  }
  if (input.or_number && is_number(value)) {
    arguments_.set(input.name, TensorOrNumber(number_from(value, named(input.name))));
    return;
  }
  Arrays arrays{input.name};
  if (input.ragged != portops::Ragged::no && nb::isinstance<RaggedArray>(value)) {
    const auto& ragged = nb::cast<const RaggedArray&>(value);
    arguments_.set(input.name, ragged.levels);
    arrays.items.emplace_back(array_of(ragged.values, input.name));
  } else {
    arrays.items.emplace_back(array_of(value, input.name));
  }
  arrays_.push_back(std::move(arrays));
}

void PythonCall::check_sequence(nb::handle value, std::string_view name) const {
  if (PySequence_Check(value.ptr()) == 0 || Array::is_array(value)) {
    throw Error(named(name).to_string() + " is " + described(value) + ", expected a sequence of arrays");
  }
}

void PythonCall::add_list(const InputInfo& input, nb::handle value) {
  check_sequence(value, input.name);
  Arrays arrays{input.name, true};
  int item = 0;
  for (const nb::handle each : nb::iter(value)) {
    if (input.ragged == Ragged::always && nb::isinstance<RaggedArray>(each)) {
      const auto& ragged = nb::cast<const RaggedArray&>(each);
      arrays.items.emplace_back(array_of(ragged.values, input.name, item++));
      arrays.levels.push_back(ragged.levels);
    } else {
      arrays.items.emplace_back(array_of(each, input.name, item++));
    }
  }
  if (!arrays.levels.empty() && arrays.levels.size() != arrays.items.size()) {
    throw Error(named(input.name).to_string() + " is a list with and without levels, expected one of portops.Ragged");
  }
  arrays_.push_back(std::move(arrays));
}

// A gradient has outputs of which each may be left out: all that can be computed are wanted.
bool PythonCall::is_usually_wanted(const OutputInfo& output) const {
  if (!output.optional) return true;
  const bool is_gradient =
      std::all_of(info_.outputs.begin(), info_.outputs.end(), [](const auto& it) { return it.optional; });
  if (!is_gradient || output.needs_tensor.empty()) return is_gradient;
  return std::any_of(arrays_.begin(), arrays_.end(), [&](const Arrays& it) { return it.name == output.needs_tensor; });
}

void PythonCall::add_output(const OutputInfo& output, nb::handle value) {
  Wanted& wanted = outputs_.emplace_back();
  if (value.is_none()) {
    wanted.is_wanted = is_usually_wanted(output);
    return;
  }
  if (PyBool_Check(value.ptr())) {
    wanted.is_wanted = value.ptr() == Py_True;
    if (!wanted.is_wanted && !output.optional) {
      throw Error(named(output.name).to_string() + " is False, but it is always computed");
    }
    return;
  }
  wanted = {true, nb::borrow(value)};
  Arrays arrays{output.name, output.list, true};
  if (!output.list) {
    arrays.items.emplace_back(array_of(value, output.name));
  } else {
    check_sequence(value, output.name);
    int item = 0;
    for (const nb::handle each : nb::iter(value)) {
      arrays.items.emplace_back();
      if (!each.is_none()) arrays.items.back().emplace(array_of(each, output.name, item));
      ++item;
    }
  }
  arrays_.push_back(std::move(arrays));
}

const Array& PythonCall::prototype() const {
  const Array* first = nullptr;
  for (const Arrays& arrays : arrays_) {
    for (const std::optional<Array>& array : arrays.items) {
      if (!array) continue;
      if (array->device().device_type == kDLCUDA) return *array;
      if (first == nullptr) first = &*array;
    }
  }
  if (first == nullptr) throw Error("portops::" + info_.name + ": no array is given, expected one");
  return *first;
}

Place PythonCall::find_place() const {
  const Array& first = prototype();
  for (const Arrays& arrays : arrays_) {
    int item = 0;
    for (const std::optional<Array>& array : arrays.items) {
      const int index = arrays.list ? item++ : -1;
      if (!array || array->device().device_type != first.device().device_type) continue;
      if (array->device().device_id == first.device().device_id) continue;
      throw Error(named(arrays.name, index).to_string() + " lies on device " +
                  std::to_string(array->device().device_id) + ", expected device " +
                  std::to_string(first.device().device_id) + ", where other arrays of the call lie");
    }
  }
  return {options_, first.device(), options_.stream ? options_.stream : first.current_stream()};
}

void PythonCall::set(Arrays& arrays, StreamHandle stream) {
  std::vector<TensorRef> tensors;
  int item = 0;
  for (std::optional<Array>& array : arrays.items) {
    const ArgumentName name = named(arrays.name, arrays.list ? item++ : -1);
    tensors.push_back(array ? array->take(name, stream, arrays.is_output) : TensorRef());
  }
  if (!arrays.list) {
    arguments_.set(arrays.name, TensorOrNumber(tensors.front()));
  } else if (arrays.levels.empty()) {
    arguments_.set(arrays.name, std::span<const TensorRef>(tensors));
  } else {
    std::vector<RaggedRef> ragged;
    for (std::size_t i = 0; i < tensors.size(); ++i) ragged.push_back({tensors[i], arrays.levels[i]});
    arguments_.set(arrays.name, std::span<const RaggedRef>(ragged));
  }
}

nb::object PythonCall::make(const OutputInfo& output, const TensorSpec& spec, StreamHandle stream) {
  const std::size_t count = output.list ? spec.list.size() : 1;
  std::vector<nb::object> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(allocate(prototype(), spec.type, output.list ? spec.list[i] : spec.extents));
  }
  Arrays arrays{output.name, output.list, true};
  for (const nb::object& object : made) arrays.items.emplace_back(Array(object, named(output.name)));
  set(arrays, stream);
  arrays_.push_back(std::move(arrays));
  if (!output.list) return made.front();
  nb::list list;
  for (nb::object& object : made) list.append(std::move(object));
  return list;
}

nb::object PythonCall::result(const OutputInfo& output, const TensorSpec& spec, nb::object made) const {
  if (!output.list) {
    nb::object value = finished(prototype(), std::move(made));
    return spec.levels ? nb::cast(RaggedArray{std::move(value), spec.levels}) : value;
  }
  nb::list list;
  std::size_t item = 0;
  for (const nb::handle each : nb::iter(made)) {
    nb::object value = each.is_none() ? nb::borrow(each) : finished(prototype(), nb::borrow(each));
    const Levels levels = item < spec.list_levels.size() ? spec.list_levels[item] : Levels();
    ++item;
    list.append(levels && !value.is_none() ? nb::cast(RaggedArray{std::move(value), levels}) : value);
  }
  return list;
}

nb::object PythonCall::run() {
  const Place place = find_place();
  for (Arrays& arrays : arrays_) set(arrays, place.stream());
  impl::NamedCall call(info_, arguments_);
  const std::vector<TensorSpec> specs = impl::infer(call);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].is_wanted && !outputs_[i].given.is_valid()) {
      outputs_[i].given = make(info_.outputs[i], specs[i], place.stream());
    }
  }
  call.take_outputs();
  {
    const nb::gil_scoped_release unlocked;
    const auto turn = turn_of(place.context());
    impl::run(place.context(), call);
  }
  nb::list results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const OutputInfo& output = info_.outputs[i];
    results.append(outputs_[i].is_wanted ? result(output, specs[i], std::move(outputs_[i].given)) : nb::none());
  }
  return results.size() == 1 ? nb::object(results[0]) : nb::object(nb::tuple(results));
}

}  // namespace

Operator::Operator(const std::string& name, bool in_autograd) : info_(find_operator(name)), in_autograd_(in_autograd) {}

nb::object Operator::call(nb::args arguments) const {
  const Visit visit;
  return PythonCall(info_, in_autograd_, arguments).run();
}

void bind_operators(nb::module_& m) {
  nb::class_<RaggedArray>(m, "Ragged")
      .def(
          "__init__",
          [](RaggedArray* self, nb::object values, const Levels& levels) {
            new (self) RaggedArray{std::move(values), levels};
          },
          nb::arg("values"), nb::arg("levels"))
      .def_prop_ro("values", [](const RaggedArray& self) { return self.values; })
      .def_prop_ro("levels", [](const RaggedArray& self) { return self.levels; })
      .def("__repr__", [](const RaggedArray& self) {
        return "portops.Ragged(" + nb::cast<std::string>(nb::repr(self.values)) + ", " + self.levels.to_string() + ")";
      });

  nb::class_<Operator>(m, "Operator")
      .def(nb::init<const std::string&, bool>(), nb::arg("name"), nb::arg("in_autograd") = false)
      .def("__call__", &Operator::call)
      .def_prop_ro("name", [](const Operator& self) { return self.info().name; });
}

}  // namespace portops::python
