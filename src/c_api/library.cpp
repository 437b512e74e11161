// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/runtime.hpp"
#include "c_api/status.hpp"
#include "c_api/tensors.hpp"
#include "core/exec/runtime.hpp"
#include "core/schema/registry.hpp"
#include "core/types/backend.hpp"
#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

// What the library is and has.

using portops::impl::fail;
using portops::impl::guarded;

// What callers are compiled with.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
              offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
              offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4);
static_assert(sizeof(portops_operand) == 16 && offsetof(portops_operand, number) == 8);
static_assert(sizeof(portops_device) == 40 && offsetof(portops_device, backend) == 8 &&
              offsetof(portops_device, concurrency) == 16 && offsetof(portops_device, memory_bytes) == 24 &&
              offsetof(portops_device, name) == 32);
static_assert(PORTOPS_MAX_NDIM == portops::max_rank);

namespace {

/// Writes as many values as there is room for, and how many there are.
template <class To, class From, class Convert>
void write_all(const char* where, const std::vector<From>& values, To* out, size_t room, size_t* count,
               const Convert& convert) {
  portops::impl::check_pointer(where, "count", count);
  if (room > 0) portops::impl::check_pointer(where, "what to write to", out);
  for (std::size_t i = 0; i < std::min(room, values.size()); ++i) out[i] = convert(values[i]);
  *count = values.size();
}

/// Kept for the process: callers have the addresses of their names.
const std::vector<portops::Device>& devices() {
  portops::impl::start_runtime();
  static const auto& all = *new std::vector<portops::Device>(portops::devices());
  return all;
}

void check_index(const char* where, size_t index, size_t count) {
  if (index >= count) fail(where, ": index is ", index, ", expected less than ", count);
}

}  // namespace

void portops::impl::start_runtime() {
  alignas(Runtime) static std::byte place[sizeof(Runtime)];  // which nothing destroys
  static const Runtime* const runtime = new (place) Runtime;
  static_cast<void>(runtime);
}

const char* portops_version(void) { return PORTOPS_VERSION; }

portops_status portops_version_numbers(int32_t* major, int32_t* minor, int32_t* patch) {
  if (major != nullptr) *major = PORTOPS_VERSION_MAJOR;
  if (minor != nullptr) *minor = PORTOPS_VERSION_MINOR;
  if (patch != nullptr) *patch = PORTOPS_VERSION_PATCH;
  return PORTOPS_OK;
}

portops_status portops_backends(portops_backend* backends, size_t room, size_t* count) {
  return guarded([&] {
    write_all("portops_backends", portops::enabled_backends(), backends, room, count,
              [](portops::Backend backend) { return static_cast<portops_backend>(backend); });
  });
}

portops_status portops_element_types(DLDataType* types, size_t room, size_t* count) {
  return guarded([&] {
    write_all("portops_element_types", portops::enabled_element_types(), types, room, count,
              [](portops::ElementType type) { return portops::impl::data_type_of(type); });
  });
}

portops_status portops_device_count(size_t* count) {
  return guarded([&] {
    portops::impl::check_pointer("portops_device_count", "count", count);
    *count = devices().size();
  });
}

portops_status portops_device_get(size_t index, portops_device* device) {
  return guarded([&] {
    constexpr const char* where = "portops_device_get";
    portops::impl::check_pointer(where, "device", device);
    check_index(where, index, devices().size());
    const std::size_t size = device->size;
    if (size < sizeof(size) || size % sizeof(size) != 0) {
      fail(where, ": device has size ", size, ", expected ", sizeof(portops_device),
           ", to which PORTOPS_DEVICE_DEFAULTS sets it");
    }
    const portops::Device& found = devices()[index];
    const portops_device result{size, static_cast<int64_t>(found.backend), found.concurrency, found.memory_bytes,
                                found.name.c_str()};
    std::memcpy(device, &result, std::min(size, sizeof(result)));
  });
}

portops_status portops_operator_count(size_t* count) {
  return guarded([&] {
    portops::impl::check_pointer("portops_operator_count", "count", count);
    *count = portops::operators().size();
  });
}

portops_status portops_operator_name(size_t index, const char** name) {
  return guarded([&] {
    portops::impl::check_pointer("portops_operator_name", "name", name);
    check_index("portops_operator_name", index, portops::operators().size());
    *name = portops::operators()[index].name.c_str();
  });
}
