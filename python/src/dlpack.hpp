// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

// The binary interface of DLPack 1.3 (https://dmlc.github.io/dlpack/latest/), as far as this module needs it: what a
// capsule of `__dlpack__` holds, and the table of functions behind `__dlpack_c_exchange_api__`.

extern "C" {
typedef struct _object PyObject;
}

namespace portops::python::dl {

inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint32_t minor_version = 3;

enum DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

struct Device {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DataType {
  std::uint8_t code;  ///< 0 signed integers, 2 floating-point numbers, 4 bfloat16
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

/// What a capsule named "dltensor" points to.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t flag_read_only = 1;
inline constexpr std::uint64_t flag_copied = 2;

/// What a capsule named "dltensor_versioned" points to. Of a foreign major version nothing behind `deleter` is known.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor dl_tensor;
};

/// The functions of a framework, which neither wait for a device nor take the interpreter's lock. They return 0, or −1
/// with a Python exception set.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensorVersioned** out);
  int (*object_from_managed)(ManagedTensorVersioned* tensor, void** out);
  int (*tensor_from_object)(void* object, Tensor* out);  ///< may be null; `out` lives as long as the object
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace portops::python::dl
