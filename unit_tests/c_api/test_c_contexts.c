// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contexts and their options, what the library says of itself, and what becomes of handles that are not alive.
#include "c_api/check.h"

static void versions(void) {
  int32_t major = -1;
  int32_t minor = -1;
  int32_t patch = -1;
  CHECK_OK(portops_version_numbers(&major, &minor, &patch));
  CHECK(major == PORTOPS_VERSION_MAJOR && minor == PORTOPS_VERSION_MINOR && patch == PORTOPS_VERSION_PATCH);
  CHECK_OK(portops_version_numbers(NULL, NULL, NULL));
  char text[32];
  snprintf(text, sizeof(text), "%d.%d.%d", (int)major, (int)minor, (int)patch);
  CHECK(strcmp(text, portops_version()) == 0);
}

static void what_there_is(void) {
  size_t count = 0;
  CHECK_OK(portops_backends(NULL, 0, &count));
  CHECK(count >= 1 && count <= 3);
  portops_backend backends[4] = {-1, -1, -1, -1};
  CHECK_OK(portops_backends(backends, COUNT_OF(backends), &count));
  for (size_t i = 0; i < COUNT_OF(backends); ++i) CHECK((backends[i] >= 0) == (i < count));
  CHECK_FAILS(portops_backends(NULL, 1, &count), PORTOPS_ERROR_CALL, "portops_backends: what to write to is NULL");
  CHECK_FAILS(portops_backends(NULL, 0, NULL), PORTOPS_ERROR_CALL, "portops_backends: count is NULL");

  DLDataType types[8];
  CHECK_OK(portops_element_types(types, COUNT_OF(types), &count));
  CHECK(count >= 1 && count <= 4 && types[0].lanes == 1);

  CHECK_OK(portops_device_count(&count));
  CHECK(count >= 1);
  portops_device device = PORTOPS_DEVICE_DEFAULTS;
  CHECK_OK(portops_device_get(0, &device));
  CHECK(device.size == sizeof(device) && device.backend == backends[0] && device.concurrency >= 1);
  CHECK(device.memory_bytes > 0 && strlen(device.name) > 0);
  // One of an older caller, which knows the backend alone, and of a newer one, which knows more.
  struct {
    portops_device known;
    int64_t more;
  } sizes = {PORTOPS_DEVICE_DEFAULTS, 7};
  sizes.known.size = 16;
  sizes.known.concurrency = -5;
  CHECK_OK(portops_device_get(0, &sizes.known));
  CHECK(sizes.known.size == 16 && sizes.known.backend == backends[0] && sizes.known.concurrency == -5);
  sizes.known.size = sizeof(sizes);
  CHECK_OK(portops_device_get(0, &sizes.known));
  CHECK(sizes.known.concurrency >= 1 && sizes.more == 7);
  device.size = 12;
  CHECK_FAILS(portops_device_get(0, &device), PORTOPS_ERROR_CALL,
              "portops_device_get: device has size 12, expected 40, to which PORTOPS_DEVICE_DEFAULTS sets it");
  CHECK(portops_device_get(count, &device) == PORTOPS_ERROR_CALL);
  CHECK(portops_device_get(0, NULL) == PORTOPS_ERROR_CALL);

  const char* name = NULL;
  CHECK_OK(portops_operator_count(&count));
  CHECK(count >= 2);
  for (size_t i = 0; i < count; ++i) {
    CHECK_OK(portops_operator_name(i, &name));
    CHECK(strlen(name) > 0);
  }
  CHECK(portops_operator_name(count, &name) == PORTOPS_ERROR_CALL);
  CHECK(portops_operator_name(0, NULL) == PORTOPS_ERROR_CALL);
}

static void options(portops_context ctx) {
  int64_t on = -1;
  portops_math math = -1;
  portops_products products = -1;
  portops_backend backend = -1;
  CHECK_OK(portops_context_backend(ctx, &backend));
  CHECK(backend >= PORTOPS_BACKEND_SERIAL && backend <= PORTOPS_BACKEND_CUDA);
  for (int64_t value = 1; value >= 0; --value) {
    CHECK_OK(portops_context_set_deterministic(ctx, value));
    CHECK_OK(portops_context_deterministic(ctx, &on));
    CHECK(on == value);
    CHECK_OK(portops_context_set_math(ctx, (portops_math)value));
    CHECK_OK(portops_context_math(ctx, &math));
    CHECK(math == value);
  }
  for (portops_products value = 2; value >= 0; --value) {
    CHECK_OK(portops_context_set_products(ctx, value));
    CHECK_OK(portops_context_products(ctx, &products));
    CHECK(products == value);
  }
  CHECK_FAILS(portops_context_set_deterministic(ctx, 2), PORTOPS_ERROR_CALL,
              "portops_context_set_deterministic: on is 2, expected 0 or 1");
  CHECK_FAILS(portops_context_set_math(ctx, 2), PORTOPS_ERROR_CALL,
              "portops_context_set_math: math is 2, expected 0 (ieee) or 1 (tf32)");
  CHECK_FAILS(portops_context_set_products(ctx, -1), PORTOPS_ERROR_CALL,
              "portops_context_set_products: products is -1, expected 0 (automatic), 1 (own) or 2 (kokkos_kernels)");
  CHECK_FAILS(portops_context_math(ctx, NULL), PORTOPS_ERROR_CALL, "portops_context_math: math is NULL");

  char lent[64];
  void* data = NULL;
  size_t bytes = 0;
  CHECK_OK(portops_context_set_workspace(ctx, lent, sizeof(lent)));
  CHECK_OK(portops_context_workspace(ctx, &data, &bytes));
  CHECK(data == lent && bytes == sizeof(lent));
  CHECK(portops_context_set_workspace(ctx, NULL, 1) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_context_set_workspace(ctx, NULL, 0));
  CHECK_OK(portops_context_fence(ctx));

  portops_context none = NULL;
  CHECK_FAILS(portops_context_create(7, NULL, &none), PORTOPS_ERROR_CALL,
              "portops_context_create: backend is 7, expected 0 (serial), 1 (openmp) or 2 (cuda)");
  CHECK(none == NULL);
  CHECK_FAILS(portops_context_create(PORTOPS_BACKEND_SERIAL, NULL, NULL), PORTOPS_ERROR_CALL,
              "portops_context_create: ctx is NULL");
}

static void handles(portops_context ctx) {
  portops_arguments arguments = NULL;
  CHECK_OK(portops_arguments_create(&arguments));
  portops_context stale = NULL;
  portops_backend backend = -1;
  CHECK_OK(portops_context_backend(ctx, &backend));
  CHECK_OK(portops_context_create(backend, NULL, &stale));
  CHECK_OK(portops_context_destroy(stale));

  CHECK_FAILS(portops_context_fence(NULL), PORTOPS_ERROR_HANDLE,
              "portops_context_fence: ctx is NULL, expected a context");
  CHECK_FAILS(portops_context_fence(stale), PORTOPS_ERROR_HANDLE,
              "portops_context_fence: ctx is no handle that is alive, expected a context");
  CHECK_FAILS(portops_context_destroy(stale), PORTOPS_ERROR_HANDLE,
              "portops_context_destroy: ctx is no handle that is alive, expected a context");
  CHECK_FAILS(portops_context_fence((portops_context)(void*)arguments), PORTOPS_ERROR_HANDLE,
              "portops_context_fence: ctx is a handle of arguments, expected a context");
  CHECK(portops_context_destroy((portops_context)(void*)arguments) == PORTOPS_ERROR_HANDLE);
  CHECK(portops_levels_destroy((portops_levels)(void*)arguments) == PORTOPS_ERROR_HANDLE);
  CHECK(portops_inferred_destroy((portops_inferred)(void*)ctx) == PORTOPS_ERROR_HANDLE);
  CHECK(portops_arguments_destroy((portops_arguments)(void*)ctx) == PORTOPS_ERROR_HANDLE);
  // Garbage: addresses of something else, and numbers.
  CHECK(portops_context_fence((portops_context)(void*)&backend) == PORTOPS_ERROR_HANDLE);
  for (uintptr_t bits = 1; bits != 0; bits <<= 1) {
    CHECK(portops_context_fence((portops_context)bits) == PORTOPS_ERROR_HANDLE);
    CHECK(portops_context_fence((portops_context)((uintptr_t)ctx ^ bits)) == PORTOPS_ERROR_HANDLE);
  }
  CHECK_OK(portops_arguments_destroy(arguments));
  CHECK_OK(portops_context_destroy(NULL));
  CHECK_OK(portops_levels_destroy(NULL));
  CHECK_OK(portops_arguments_destroy(NULL));
  CHECK_OK(portops_inferred_destroy(NULL));
}

int main(void) {
  CHECK(strcmp(portops_last_error(), "") == 0);
  versions();
  what_there_is();
  need_f32_on_host();
  portops_context ctx = host_context();
  options(ctx);
  handles(ctx);
  CHECK_OK(portops_context_destroy(ctx));
  return 0;
}
