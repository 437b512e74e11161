// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/tensors.hpp"
#include "core/schema/registry.hpp"
#include "core/types/fail.hpp"

#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Arguments, and the calls that are made with them.

using portops::Levels;
using portops::TensorRef;
using portops::impl::fail;
using portops::impl::guarded;
using portops::impl::NamedArguments;

namespace {

/// f(arguments), while no other thread sets or reads them.
template <class F>
portops_status change(const char* where, portops_arguments arguments, const char* name, const F& f) noexcept {
  return guarded([&] {
    portops::impl::check_pointer(where, "name", name);
    const auto object = portops::impl::object_of(where, "arguments", arguments);
    const std::unique_lock lock(object->mutex);
    f(*object);
  });
}

void set_attribute(NamedArguments& arguments, const char* name, portops::Attribute value) {
  arguments.values.set(name, std::move(value));
  arguments.devices.erase(name);
}

/// Every tensor lies on the GPU of the context.
void check_devices(std::string_view op, const portops::Context& ctx, const NamedArguments& arguments) {
  const std::string where = "portops::" + std::string(op);
  for (const auto& [name, devices] : arguments.devices) {
    const bool is_list = arguments.values.list(name) != nullptr;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      portops::impl::check_device(where, is_list ? portops::impl::item_name(name, i) : name, ctx, devices[i]);
    }
  }
}

portops::impl::InferredOutput inferred_output(const portops::OutputInfo& output, portops::TensorSpec& spec) {
  if (!output.list) return {spec.type, {spec.extents}, {std::move(spec.levels)}};
  spec.list_levels.resize(spec.list.size());
  return {spec.type, std::move(spec.list), std::move(spec.list_levels)};
}

/// f(output), where there is one of that name.
template <class Result, class F>
portops_status read(const char* where, portops_inferred inferred, const char* name, const Result* result,
                    const F& f) noexcept {
  return guarded([&] {
    portops::impl::check_pointer(where, "output", name);
    portops::impl::check_pointer(where, "what to write to", result);
    const auto outputs = portops::impl::object_of(where, "inferred", inferred);
    const auto found = outputs->find(std::string_view(name));
    if (found == outputs->end()) fail(where, ": no output is named '", name, "'");
    f(found->second);
  });
}

/// The item's part of the output; a list may have none.
template <class T>
const T& item_of(const char* where, const std::vector<T>& all, std::size_t item) {
  if (item >= all.size()) fail(where, ": item is ", item, ", expected less than ", all.size());
  return all[item];
}

}  // namespace

portops_status portops_arguments_create(portops_arguments* arguments) {
  return guarded([&] {
    portops::impl::check_pointer("portops_arguments_create", "arguments", arguments);
    *arguments = portops::impl::make_handle<portops_arguments>(std::make_shared<NamedArguments>());
  });
}

portops_status portops_arguments_destroy(portops_arguments arguments) {
  return guarded([&] { portops::impl::destroy("portops_arguments_destroy", "arguments", arguments); });
}

portops_status portops_arguments_set_tensor(portops_arguments arguments, const char* name, const DLTensor* tensor) {
  constexpr const char* where = "portops_arguments_set_tensor";
  return change(where, arguments, name, [&](NamedArguments& set) {
    set.values.set(name, portops::TensorOrNumber(portops::impl::tensor_of(where, name, tensor)));
    set.devices[name] = {portops::impl::device_of(tensor)};
  });
}

portops_status portops_arguments_set_list(portops_arguments arguments, const char* name, const DLTensor* const* tensors,
                                          size_t count) {
  constexpr const char* where = "portops_arguments_set_list";
  return change(where, arguments, name, [&](NamedArguments& set) {
    const std::vector<TensorRef> list = portops::impl::list_of(where, name, tensors, count);
    std::vector<int> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(portops::impl::device_of(tensors[i]));
    set.values.set(name, std::span<const TensorRef>(list));
    set.devices[name] = std::move(devices);
  });
}

portops_status portops_arguments_set_number(portops_arguments arguments, const char* name, double number) {
  return change("portops_arguments_set_number", arguments, name,
                [&](NamedArguments& set) { set_attribute(set, name, number); });
}

portops_status portops_arguments_set_integer(portops_arguments arguments, const char* name, int64_t integer) {
  return change("portops_arguments_set_integer", arguments, name,
                [&](NamedArguments& set) { set_attribute(set, name, std::int64_t{integer}); });
}

portops_status portops_arguments_set_boolean(portops_arguments arguments, const char* name, int64_t boolean) {
  constexpr const char* where = "portops_arguments_set_boolean";
  return change(where, arguments, name, [&](NamedArguments& set) {
    set_attribute(set, name, portops::impl::checked_boolean(where, name, boolean));
  });
}

portops_status portops_arguments_set_integers(portops_arguments arguments, const char* name, const int64_t* integers,
                                              size_t count) {
  constexpr const char* where = "portops_arguments_set_integers";
  return change(where, arguments, name, [&](NamedArguments& set) {
    portops::impl::check_list_pointer(where, name, integers, count);
    set_attribute(set, name, std::vector<std::int64_t>(integers, integers + count));
  });
}

portops_status portops_arguments_set_text(portops_arguments arguments, const char* name, const char* text) {
  constexpr const char* where = "portops_arguments_set_text";
  return change(where, arguments, name, [&](NamedArguments& set) {
    portops::impl::check_pointer(where, name, text);
    set_attribute(set, name, std::string(text));
  });
}

portops_status portops_arguments_set_levels(portops_arguments arguments, const char* name, portops_levels levels) {
  constexpr const char* where = "portops_arguments_set_levels";
  return change(where, arguments, name,
                [&](NamedArguments& set) { set.values.set(name, portops::impl::levels_of(where, "levels", levels)); });
}

portops_status portops_arguments_set_list_levels(portops_arguments arguments, const char* name,
                                                 const portops_levels* levels, size_t count) {
  constexpr const char* where = "portops_arguments_set_list_levels";
  return change(where, arguments, name, [&](NamedArguments& set) {
    portops::impl::check_list_pointer(where, "levels", levels, count);
    const std::vector<TensorRef>* tensors = set.values.list(name);
    if (tensors == nullptr) fail(where, ": ", name, " is no list of tensors yet, expected it to be set before");
    if (tensors->size() != count) {
      fail(where, ": ", name, " has ", tensors->size(), " tensors, but levels for ", count);
    }
    std::vector<portops::RaggedRef> list;
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back(
          {(*tensors)[i], portops::impl::levels_of(where, portops::impl::item_name("levels", i), levels[i])});
    }
    set.values.set(name, std::span<const portops::RaggedRef>(list));
  });
}

portops_status portops_run(portops_context ctx, const char* name, portops_arguments arguments) {
  return guarded([&] {
    constexpr const char* where = "portops_run";
    portops::impl::check_pointer(where, "name", name);
    const auto context = portops::impl::object_of(where, "ctx", ctx);
    const auto given = portops::impl::object_of(where, "arguments", arguments);
    const std::shared_lock lock(given->mutex);
    check_devices(name, *context, *given);
    portops::run(name, *context, given->values);
  });
}

portops_status portops_infer(const char* name, portops_arguments arguments, portops_inferred* inferred) {
  return guarded([&] {
    constexpr const char* where = "portops_infer";
    portops::impl::check_pointer(where, "name", name);
    portops::impl::check_pointer(where, "inferred", inferred);
    const auto given = portops::impl::object_of(where, "arguments", arguments);
    auto outputs = std::make_shared<portops::impl::InferredOutputs>();
    const std::shared_lock lock(given->mutex);
    auto specs = portops::infer(name, given->values);
    for (const portops::OutputInfo& output : portops::find_operator(name).outputs) {
      outputs->emplace(output.name, inferred_output(output, specs.at(output.name)));
    }
    *inferred = portops::impl::make_handle<portops_inferred>(std::move(outputs));
  });
}

portops_status portops_inferred_destroy(portops_inferred inferred) {
  return guarded([&] { portops::impl::destroy("portops_inferred_destroy", "inferred", inferred); });
}

portops_status portops_inferred_type(portops_inferred inferred, const char* output, DLDataType* type) {
  return read("portops_inferred_type", inferred, output, type,
              [&](const auto& found) { *type = portops::impl::data_type_of(found.type); });
}

portops_status portops_inferred_count(portops_inferred inferred, const char* output, size_t* count) {
  return read("portops_inferred_count", inferred, output, count,
              [&](const auto& found) { *count = found.extents.size(); });
}

portops_status portops_inferred_ndim(portops_inferred inferred, const char* output, size_t item, int32_t* ndim) {
  constexpr const char* where = "portops_inferred_ndim";
  return read(where, inferred, output, ndim,
              [&](const auto& found) { *ndim = item_of(where, found.extents, item).rank(); });
}

portops_status portops_inferred_shape(portops_inferred inferred, const char* output, size_t item, int64_t* shape) {
  constexpr const char* where = "portops_inferred_shape";
  return read(where, inferred, output, shape, [&](const auto& found) {
    const portops::Extents& extents = item_of(where, found.extents, item);
    std::copy(extents.begin(), extents.end(), shape);
  });
}

portops_status portops_inferred_levels(portops_inferred inferred, const char* output, size_t item,
                                       portops_levels* levels) {
  constexpr const char* where = "portops_inferred_levels";
  return read(where, inferred, output, levels, [&](const auto& found) {
    const Levels& its = item_of(where, found.levels, item);
    *levels = its ? portops::impl::make_handle<portops_levels>(std::make_shared<const Levels>(its)) : nullptr;
  });
}
