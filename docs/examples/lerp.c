// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops.h>
#include <stdio.h>

// A host backend of this build: the last one, as devices come first.
static portops_status make_context(portops_context* ctx) {
  portops_backend backends[3];
  size_t count = 0;
  const portops_status status = portops_backends(backends, 3, &count);
  return status != PORTOPS_OK ? status : portops_context_create(backends[count - 1], NULL, ctx);
}

int main(void) {
  portops_context ctx = NULL;
  if (make_context(&ctx) != PORTOPS_OK) {
    fprintf(stderr, "%s\n", portops_last_error());
    return 1;
  }
  // [example]
  float x[4] = {0, 0, 0, 0};
  float y[4] = {8, 8, 8, 8};
  float out[4];
  int64_t shape[1] = {4};
  DLTensor x_tensor = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor y_tensor = x_tensor;
  DLTensor out_tensor = x_tensor;
  y_tensor.data = y;
  out_tensor.data = out;

  portops_status status = portops_lerp(ctx, &x_tensor, &y_tensor, portops_number(0.25), &out_tensor, NULL);
  if (status == PORTOPS_OK) status = portops_context_fence(ctx);
  if (status != PORTOPS_OK) fprintf(stderr, "%s\n", portops_last_error());
  // [example]
  printf("out = %g %g %g %g\n", out[0], out[1], out[2], out[3]);

  // A wrong call changes nothing, and says what is wrong.
  int64_t short_shape[1] = {3};
  out_tensor.shape = short_shape;
  if (portops_lerp(ctx, &x_tensor, &y_tensor, portops_number(0.25), &out_tensor, NULL) != PORTOPS_OK) {
    printf("refused: %s\n", portops_last_error());
  }
  portops_context_destroy(ctx);
  return status == PORTOPS_OK ? 0 : 1;
}
