// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Threads have messages of their own, and may destroy what others use.
#include "c_api/check.h"

#include <pthread.h>

enum { threads = 4, rounds = 2000 };

/// Handles that all threads use, and one of them replaces.
static portops_levels shared_levels;
static portops_arguments shared_arguments;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static portops_levels made_levels(void) {
  const int64_t lengths[2] = {1, 3};
  portops_levels levels = NULL;
  CHECK_OK(portops_levels_create_from_lengths(lengths, 2, &levels));
  return levels;
}

static void* use(void* given) {
  const int number = *(const int*)given;
  char name[16];
  char expected[80];
  CHECK(strcmp(portops_last_error(), "") == 0);  // others have failed by now
  snprintf(name, sizeof(name), "x%d", number);
  snprintf(expected, sizeof(expected), "portops_arguments_set_boolean: %s is %d, expected 0 or 1", name, number + 2);
  for (int round = 0; round < rounds; ++round) {
    CHECK_OK(portops_arguments_set_integer(shared_arguments, name, round));
    CHECK(portops_arguments_set_boolean(shared_arguments, name, number + 2) == PORTOPS_ERROR_CALL);
    CHECK(strcmp(portops_last_error(), expected) == 0);

    pthread_mutex_lock(&mutex);
    portops_levels levels = shared_levels;
    pthread_mutex_unlock(&mutex);
    int64_t items = 2;
    const portops_status status = portops_levels_items(levels, -1, &items);
    CHECK((status == PORTOPS_OK || status == PORTOPS_ERROR_HANDLE) && items == 2);
    if (number == 0) {
      pthread_mutex_lock(&mutex);
      shared_levels = made_levels();
      pthread_mutex_unlock(&mutex);
      CHECK_OK(portops_levels_destroy(levels));
    }
  }
  return NULL;
}

#ifdef PORTOPS_ADD_DEFAULTS
/// Sets options, and makes and destroys contexts, while others call. (Contexts of serial share an instance, which
/// serves one thread at a time.)
static void* call(void* given) {
  portops_context ctx = *(portops_context*)given;
  portops_context own = NULL;
  if (portops_context_create(PORTOPS_BACKEND_OPENMP, NULL, &own) != PORTOPS_OK) return NULL;
  float data[3] = {0, 0, 0};
  int64_t shape[1] = {3};
  DLTensor x = f32(data, 1, shape);
  for (int round = 0; round < rounds / 10; ++round) {
    CHECK_OK(portops_context_set_deterministic(ctx, round % 2));
    CHECK_OK(portops_add(own, &x, portops_number(1), &x, NULL));
    CHECK_OK(portops_context_fence(own));
    CHECK(data[2] == (float)(round + 1));
  }
  CHECK_OK(portops_context_destroy(own));
  return NULL;
}
#endif

static void run_all(void* (*function)(void*), char* given, size_t step) {
  pthread_t all[threads];
  for (size_t i = 0; i < threads; ++i) CHECK(pthread_create(&all[i], NULL, function, given + i * step) == 0);
  for (size_t i = 0; i < threads; ++i) CHECK(pthread_join(all[i], NULL) == 0);
}

int main(void) {
  int numbers[threads];
  for (int i = 0; i < threads; ++i) numbers[i] = i;
  shared_levels = made_levels();
  CHECK_OK(portops_arguments_create(&shared_arguments));
  CHECK(portops_context_fence(NULL) == PORTOPS_ERROR_HANDLE);
  run_all(use, (char*)numbers, sizeof(numbers[0]));
  CHECK(strcmp(portops_last_error(), "portops_context_fence: ctx is NULL, expected a context") == 0);
  CHECK_OK(portops_levels_destroy(shared_levels));
  CHECK_OK(portops_arguments_destroy(shared_arguments));
#ifdef PORTOPS_ADD_DEFAULTS
  need_f32_on_host();
  portops_context ctx = host_context();
  run_all(call, (char*)&ctx, 0);
  CHECK_OK(portops_context_destroy(ctx));
#endif
  return 0;
}
