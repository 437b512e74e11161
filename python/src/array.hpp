// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "dlpack.hpp"

#include <portops/core/tensor_ref.hpp>

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

namespace portops::python {

namespace nb = nanobind;

/// Which argument of which operator, for messages.
struct ArgumentName {
  std::string_view op;
  std::string_view name;
  int item = -1;  ///< of a list

  /// "x[1]"
  std::string argument() const;
  /// "portops::concat: x[1]"
  std::string to_string() const;
};

/// What a CUDA stream is called in DLPack: 1 the legacy default, 2 that of the thread, else its address.
using StreamHandle = std::uintptr_t;

/// An array of NumPy, PyTorch or any other library that speaks DLPack, seen where it lies.
///
/// Made in two steps, because a library hands its elements over for a stream, and that follows from where the arrays of
/// a call lie: the constructor asks for the device, `take` for the elements. Needs the interpreter's lock throughout,
/// also to be destroyed.
class Array {
 public:
  /// Whether the object is an array: it has `__dlpack__`.
  static bool is_array(nb::handle object);

  /// Throws Error where the object is no array, or its library does not say where it lies.
  Array(nb::handle object, const ArgumentName& name);
  Array(Array&& other) noexcept;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array();

  DLDevice device() const { return device_; }
  /// The stream on which its library works at the moment; none where it does not say. Of arrays on GPUs.
  std::optional<StreamHandle> current_stream() const;

  /// The elements, for calls on this stream (of arrays elsewhere than on a GPU: any). The reference lives as long as
  /// this. Throws Error where portops cannot read them or, with `is_output`, not write them.
  TensorRef take(const ArgumentName& name, StreamHandle stream, bool is_output);

  /// Its library's own way to make arrays; null where it has none.
  const dl::ExchangeApi* api() const { return api_; }
  nb::handle object() const { return object_; }

 private:
  void take_capsule(const ArgumentName& name, StreamHandle stream, bool is_output);

  nb::handle object_;
  const dl::ExchangeApi* api_;
  DLDevice device_{};
  DLTensor view_{};
  dl::ManagedTensor* managed_ = nullptr;
  dl::ManagedTensorVersioned* versioned_ = nullptr;
};

/// An array for an output, of the library of `prototype` and on its device: uninitialised, last axis fastest.
nb::object allocate(const Array& prototype, ElementType type, const Extents& extents);

/// What an array of a library whose arrays nobody may write to becomes once it is written; any other one as it is.
nb::object finished(const Array& prototype, nb::object output);

/// Whether a PyTorch tensor wants a gradient while gradients are recorded, which a call would not record.
bool wants_gradient(nb::handle object);

/// Forgets what was looked up of libraries, before the interpreter ends.
void forget_libraries();

}  // namespace portops::python
