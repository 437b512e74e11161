// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "array.hpp"

#include "errors.hpp"

#include "c_api/tensors.hpp"

#include <portops/core/error.hpp>

#include <nanobind/stl/string.h>

#include <unordered_map>
#include <utility>

namespace portops::python {
namespace {

constexpr const char* api_capsule = "dlpack_exchange_api";

/// The newest table of a capsule whose version this module understands.
const dl::ExchangeApi* api_in(nb::handle capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), api_capsule)) return nullptr;
  auto* api = static_cast<dl::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), api_capsule));
  while (api != nullptr && api->version.major != dl::major_version) api = api->previous;
  return api;
}

/// The library that a type belongs to: "numpy".
std::string library_of(nb::handle type) {
  const auto module = nb::cast<std::string>(nb::str(nb::getattr(type, "__module__", nb::str("?"))));
  return module.substr(0, module.find('.'));
}

/// What a type of Python's is as one of arrays.
struct ArrayType {
  explicit ArrayType(nb::handle type)
      : type(nb::borrow(type)),
        api(api_in(nb::getattr(type, "__dlpack_c_exchange_api__", nb::none()))),
        has_dlpack(nb::hasattr(type, "__dlpack__")),
        library(library_of(type)) {}

  nb::object type;
  const dl::ExchangeApi* api;
  bool has_dlpack;
  std::string library;
};

/// What was looked up of the libraries that arrays came from; of the interpreter, and so under its lock.
struct Libraries {
  std::unordered_map<PyObject*, ArrayType> types;
  nb::object module = nb::module_::import_("portops._libraries");
  nb::object dlpack = nb::steal(PyUnicode_InternFromString("__dlpack__"));
  nb::object max_version = nb::make_tuple(dl::major_version, dl::minor_version);
  nb::object stream_alone = nb::make_tuple("stream");
  nb::object stream_and_version = nb::make_tuple("stream", "max_version");
};

Libraries* known = nullptr;

Libraries& libraries() {
  if (known == nullptr) known = new Libraries;
  return *known;
}

const ArrayType& type_of(nb::handle object) {
  constexpr std::size_t most_types = 64;  // subclasses come and go
  auto& types = libraries().types;
  const nb::handle type = object.type();
  const auto found = types.find(type.ptr());
  if (found != types.end()) return found->second;
  if (types.size() >= most_types) types.clear();
  return types.emplace(type.ptr(), ArrayType(type)).first->second;
}

/// NumPy's arrays all lie in the same memory, and need not be asked.
DLDevice device_of(nb::handle object, const ArrayType& type) {
  if (type.library == "numpy") return {kDLCPU, 0};
  const auto device = nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
  return {static_cast<DLDeviceType>(nb::cast<std::int32_t>(nb::int_(device[0]))),
          nb::cast<std::int32_t>(nb::int_(device[1]))};
}

bool is_on_gpu(DLDevice device) { return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged; }

void fail_to_allocate(void*, const char*, const char* message) {
  const nb::gil_scoped_acquire lock;
  PyErr_SetString(PyExc_MemoryError, message);
}

}  // namespace

std::string ArgumentName::argument() const {
  return item < 0 ? std::string(name) : impl::item_name(name, static_cast<std::size_t>(item));
}

std::string ArgumentName::to_string() const { return "portops::" + std::string(op) + ": " + argument(); }

bool Array::is_array(nb::handle object) {
  const ArrayType& type = type_of(object);
  return type.api != nullptr || type.has_dlpack;
}

Array::Array(nb::handle object, const ArgumentName& name) : object_(object), api_(type_of(object).api) {
  if (api_ != nullptr && api_->tensor_from_object != nullptr) {
    if (api_->tensor_from_object(object.ptr(), &view_) != 0) fail_by_exception(name.to_string());
    device_ = view_.device;
    return;
  }
  if (!is_array(object)) {
    throw Error(name.to_string() + " is " + described(object) + ", expected an array that has __dlpack__");
  }
  device_ = guarded(name, [&] { return device_of(object, type_of(object)); });
}

Array::Array(Array&& other) noexcept
    : object_(other.object_),
      api_(other.api_),
      device_(other.device_),
      view_(other.view_),
      managed_(std::exchange(other.managed_, nullptr)),
      versioned_(std::exchange(other.versioned_, nullptr)) {}

Array::~Array() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
}

std::optional<StreamHandle> Array::current_stream() const {
  if (!is_on_gpu(device_)) return std::nullopt;
  if (api_ != nullptr) {
    void* stream = nullptr;
    if (api_->current_stream(device_.device_type, device_.device_id, &stream) != 0) {
      fail_by_exception("portops: the current stream");
    }
    return reinterpret_cast<StreamHandle>(stream);
  }
  const nb::object stream = libraries().module.attr("current_stream")(type_of(object_).library, device_.device_id);
  return stream.is_none() ? std::nullopt : std::optional(nb::cast<StreamHandle>(stream));
}

void Array::take_capsule(const ArgumentName& name, StreamHandle stream, bool is_output) {
  const nb::object on = is_on_gpu(device_) ? nb::object(nb::int_(stream)) : nb::none();
  const nb::object capsule = guarded(name, [&] {
    const Libraries& names = libraries();
    PyObject* const arguments[] = {object_.ptr(), on.ptr(), names.max_version.ptr()};
    PyObject* made = PyObject_VectorcallMethod(names.dlpack.ptr(), arguments, 1, names.stream_and_version.ptr());
    if (made == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      // Libraries of before DLPack 1.0 do not know max_version.
      PyErr_Clear();
      made = PyObject_VectorcallMethod(names.dlpack.ptr(), arguments, 1, names.stream_alone.ptr());
    }
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
  });
  bool read_only = false;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    versioned_ = static_cast<dl::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    if (versioned_->version.major != dl::major_version) {
      throw Error(name.to_string() + " comes by DLPack " + std::to_string(versioned_->version.major) + "." +
                  std::to_string(versioned_->version.minor) + ", expected a version 1");
    }
    if (is_output && (versioned_->flags & dl::flag_copied) != 0) {
      throw Error(name.to_string() + " is handed over as a copy, expected an array to write to");
    }
    read_only = (versioned_->flags & dl::flag_read_only) != 0;
    view_ = versioned_->dl_tensor;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    managed_ = static_cast<dl::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    view_ = managed_->dl_tensor;
  } else {
    throw Error(name.to_string() + " gives no DLPack capsule, expected one");
  }
  if (is_output && (read_only || type_of(object_).library == "jaxlib")) {
    throw Error(name.to_string() + " is read-only, expected an array to write to");
  }
}

TensorRef Array::take(const ArgumentName& name, StreamHandle stream, bool is_output) {
  if (api_ == nullptr || api_->tensor_from_object == nullptr) take_capsule(name, stream, is_output);
  return impl::tensor_of("portops::" + std::string(name.op), name.argument(), &view_);
}

nb::object allocate(const Array& prototype, ElementType type, const Extents& extents) {
  if (const dl::ExchangeApi* api = prototype.api()) {
    Extents shape = extents;
    DLTensor wanted{nullptr, prototype.device(), shape.rank(), impl::data_type_of(type), &shape[0], nullptr, 0};
    dl::ManagedTensorVersioned* managed = nullptr;
    void* object = nullptr;
    if (api->allocate(&wanted, &managed, nullptr, &fail_to_allocate) != 0 ||
        api->object_from_managed(managed, &object) != 0) {
      throw nb::python_error();
    }
    return nb::steal(static_cast<PyObject*>(object));
  }
  nb::list shape;
  for (const std::int64_t extent : extents) shape.append(extent);
  const DLDevice device = prototype.device();
  return libraries().module.attr("empty")(type_of(prototype.object()).library, nb::tuple(shape),
                                          std::string(name_of(type)), static_cast<std::int32_t>(device.device_type),
                                          device.device_id);
}

nb::object finished(const Array& prototype, nb::object output) {
  if (prototype.api() != nullptr) return output;
  return libraries().module.attr("finished")(type_of(prototype.object()).library, output);
}

bool wants_gradient(nb::handle object) {
  PyObject* wanted = PyObject_GetAttrString(object.ptr(), "requires_grad");
  if (wanted == nullptr) {
    PyErr_Clear();
    return false;
  }
  const nb::object owned = nb::steal(wanted);
  return wanted == Py_True && nb::cast<bool>(libraries().module.attr("records_gradients")());
}

void forget_libraries() { delete std::exchange(known, nullptr); }

}  // namespace portops::python
