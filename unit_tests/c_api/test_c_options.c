// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Options of callers that were compiled with an older version, or a newer one.
#include "c_api/check.h"

#ifdef PORTOPS_P_NORM_DEFAULTS
static float x_data[4] = {3, 4, 6, 8};
static float out_data[2];

static portops_status norms(portops_context ctx, const void* options) {
  int64_t shape[2] = {2, 2};
  DLTensor x = f32(x_data, 2, shape);
  DLTensor out = f32(out_data, 1, shape);
  const portops_status status = portops_p_norm(ctx, &x, &out, (const portops_p_norm_options*)options);
  CHECK_OK(portops_context_fence(ctx));
  return status;
}

static void older(portops_context ctx) {
  struct {
    size_t size;
    double porder;
  } options = {sizeof(options), 1};
  CHECK_OK(norms(ctx, &options));
  CHECK(near(out_data[0], 7) && near(out_data[1], 14));
  options.size = 8;  // knows no option at all: porder is not read
  CHECK_OK(norms(ctx, &options));
  CHECK(near(out_data[0], 5) && near(out_data[1], 10));
  size_t empty = sizeof(empty);
  CHECK_OK(norms(ctx, &empty));
}

static void newer(portops_context ctx) {
  struct {
    portops_p_norm_options known;
    double more;
    const int64_t* most;
  } options = {PORTOPS_P_NORM_DEFAULTS, 0, NULL};
  options.known.size = sizeof(options);
  options.known.porder = 1;
  CHECK_OK(norms(ctx, &options));
  CHECK(near(out_data[0], 7));
  options.more = 0.5;
  CHECK_FAILS(
      norms(ctx, &options), PORTOPS_ERROR_CALL,
      "portops::p_norm: options has size 72, expected 56: it sets options that this version of the library does "
      "not know");
}

static void wrong(portops_context ctx) {
  portops_p_norm_options options = PORTOPS_P_NORM_DEFAULTS;
  static const size_t sizes[] = {0, 1, 7, 9, 15, 57, 4097, 4104, (size_t)1 << 40, SIZE_MAX - 7, SIZE_MAX};
  for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
    options.size = sizes[i];
    CHECK(norms(ctx, &options) == PORTOPS_ERROR_CALL);
  }
  options.size = 0;
  CHECK_FAILS(norms(ctx, &options), PORTOPS_ERROR_CALL,
              "portops::p_norm: options has size 0, expected 56, to which its initialiser sets it");
}
#endif

int main(void) {
  need_f32_on_host();
#ifdef PORTOPS_P_NORM_DEFAULTS
  portops_context ctx = host_context();
  older(ctx);
  newer(ctx);
  wrong(ctx);
  CHECK_OK(portops_context_destroy(ctx));
#endif
  return 0;
}
