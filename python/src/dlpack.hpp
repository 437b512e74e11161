// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops.h>
#include <cstdint>

// What Python hands DLPack's tensors over in, by the binary interface of DLPack 1.3
// (https://dmlc.github.io/dlpack/latest/): what a capsule of `__dlpack__` holds, and the table of functions behind
// `__dlpack_c_exchange_api__`. The tensors themselves are declared by portops.h.

namespace portops::python::dl {

inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint32_t minor_version = 3;

/// What a capsule named "dltensor" points to.
struct ManagedTensor {
  DLTensor dl_tensor;
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
  DLTensor dl_tensor;
};

/// The functions of a framework, which neither wait for a device nor take the interpreter's lock. They return 0, or −1
/// with a Python exception set.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(DLTensor* prototype, ManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensorVersioned** out);
  int (*object_from_managed)(ManagedTensorVersioned* tensor, void** out);
  int (*tensor_from_object)(void* object, DLTensor* out);  ///< may be null; `out` lives as long as the object
  int (*current_stream)(DLDeviceType device_type, std::int32_t device_id, void** out);
};

}  // namespace portops::python::dl
