// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef PORTOPS_UNIT_TESTS_C_API_CHECK_H_
#define PORTOPS_UNIT_TESTS_C_API_CHECK_H_

#include <math.h>
#include <portops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the tests in C share. A check that fails says where and what, and ends the program with status 1.

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      fprintf(stderr, "%s:%d: %s does not hold; the last error is '%s'\n", __FILE__, __LINE__, #condition, \
              portops_last_error());                                                                       \
      exit(1);                                                                                             \
    }                                                                                                      \
  } while (0)

#define CHECK_OK(call) CHECK((call) == PORTOPS_OK)

/// The call fails with this status and this message.
#define CHECK_FAILS(call, status, message)                                                              \
  do {                                                                                                  \
    const portops_status found_status = (call);                                                         \
    if (found_status != (status) || strcmp(portops_last_error(), (message)) != 0) {                     \
      fprintf(stderr, "%s:%d: %s gives %d and '%s', expected %d and '%s'\n", __FILE__, __LINE__, #call, \
              (int)found_status, portops_last_error(), (int)(status), (message));                       \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/// Those that are not in <math.h> of C99.
static inline int near(double found, double expected) {
  return fabs(found - expected) <= 1e-5 * (1.0 + fabs(expected));
}

/// A contiguous tensor on the host. `shape` stays the caller's.
static inline DLTensor tensor_of(void* data, uint8_t code, uint8_t bits, int32_t ndim, int64_t* shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = ndim;
  tensor.dtype.code = code;
  tensor.dtype.bits = bits;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

static inline DLTensor f32(float* data, int32_t ndim, int64_t* shape) {
  return tensor_of(data, kDLFloat, 32, ndim, shape);
}

static inline DLTensor i64(int64_t* data, int32_t ndim, int64_t* shape) {
  return tensor_of(data, kDLInt, 64, ndim, shape);
}

static inline portops_levels from_lengths(const int64_t* lengths, size_t count) {
  portops_levels levels = NULL;
  CHECK_OK(portops_levels_create_from_lengths(lengths, count, &levels));
  return levels;
}

/// Of a host backend of this build, the first.
static inline portops_context host_context(void) {
  portops_backend backends[3];
  size_t count = 0;
  CHECK_OK(portops_backends(backends, COUNT_OF(backends), &count));
  const portops_backend backend = backends[count - 1];
  CHECK(backend != PORTOPS_BACKEND_CUDA);
  portops_context ctx = NULL;
  CHECK_OK(portops_context_create(backend, NULL, &ctx));
  return ctx;
}

/// Ends the program as a test that is passed over, where the build leaves f32 out or has no backend for hosts.
static inline void need_f32_on_host(void) {
  DLDataType types[8];
  portops_backend backends[3];
  size_t count = 0;
  CHECK_OK(portops_element_types(types, COUNT_OF(types), &count));
  int found = 0;
  for (size_t i = 0; i < count; ++i) found = found || (types[i].code == kDLFloat && types[i].bits == 32);
  CHECK_OK(portops_backends(backends, COUNT_OF(backends), &count));
  if (!found || backends[count - 1] == PORTOPS_BACKEND_CUDA) exit(77);
}

#endif  // PORTOPS_UNIT_TESTS_C_API_CHECK_H_
