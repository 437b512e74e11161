// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What no DLTensor can be is refused, and what is odd but right is taken.
#include "c_api/check.h"

static portops_arguments arguments;

#define REFUSED(tensor, message)                                                           \
  CHECK_FAILS(portops_arguments_set_tensor(arguments, "x", &(tensor)), PORTOPS_ERROR_CALL, \
              "portops_arguments_set_tensor: x has " message)
#define TAKEN(tensor) CHECK_OK(portops_arguments_set_tensor(arguments, "x", &(tensor)))

static float data[24];

static void ranks(void) {
  int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  DLTensor x = f32(data, 8, shape);
  TAKEN(x);
  x.ndim = 9;
  REFUSED(x, "ndim 9, expected 0 to 8");
  x.ndim = -1;
  REFUSED(x, "ndim -1, expected 0 to 8");
  x.ndim = INT32_MIN;
  REFUSED(x, "ndim -2147483648, expected 0 to 8");
  x.ndim = 1;
  x.shape = NULL;
  REFUSED(x, "ndim 1, but shape is NULL");
  x.ndim = 0;
  TAKEN(x);
}

static void extents(void) {
  int64_t shape[3] = {2, -1, 3};
  DLTensor x = f32(data, 3, shape);
  REFUSED(x, "extents [2, -1, 3], expected none negative");
  shape[1] = INT64_MIN;
  REFUSED(x, "extents [2, -9223372036854775808, 3], expected none negative");
  shape[1] = INT64_MAX;
  REFUSED(x, "extents [2, 9223372036854775807, 3], more elements than a process can address");
  shape[1] = (int64_t)1 << 60;
  shape[2] = 0;  // one of 0 does not excuse the others
  REFUSED(x, "extents [2, 1152921504606846976, 0], more elements than a process can address");
  shape[1] = 4;
  TAKEN(x);
  x.data = NULL;
  TAKEN(x);
}

static void strides(void) {
  int64_t shape[2] = {2, 3};
  int64_t steps[2] = {INT64_MAX, 1};
  DLTensor x = f32(data, 2, shape);
  x.strides = steps;
  REFUSED(x, "extents [2, 3] and strides [9223372036854775807, 1], which reach further than a process can address");
  steps[0] = INT64_MIN;
  REFUSED(x, "extents [2, 3] and strides [-9223372036854775808, 1], which reach further than a process can address");
  steps[0] = (int64_t)1 << 54;
  steps[1] = (int64_t)1 << 54;
  REFUSED(x,
          "extents [2, 3] and strides [18014398509481984, 18014398509481984], which reach further than a process can "
          "address");
  steps[0] = 3;
  steps[1] = -1;
  x.data = data + 2;
  TAKEN(x);
  shape[0] = 1;  // no address is made with this one
  steps[0] = INT64_MIN;
  TAKEN(x);
  shape[0] = 0;
  steps[1] = INT64_MAX;
  TAKEN(x);
}

static void addresses(void) {
  int64_t shape[1] = {4};
  int64_t steps[1] = {(int64_t)1 << 52};
  DLTensor x = f32(data, 1, shape);
  x.byte_offset = UINT64_MAX;
  REFUSED(x, "byte_offset 18446744073709551615, more than a process can address");
  x.byte_offset = 4;
  shape[0] = 3;
  TAKEN(x);
  x.byte_offset = 0;
  x.data = (void*)INTPTR_MAX;
  REFUSED(x, "an address from which its strides reach further than a process can address");
  x.data = (void*)(INTPTR_MAX - (int64_t)1024);
  x.strides = steps;
  REFUSED(x, "an address from which its strides reach further than a process can address");
}

static void types(void) {
  int64_t shape[1] = {4};
  static const uint8_t right[5][2] = {{kDLFloat, 64}, {kDLFloat, 32}, {kDLFloat, 16}, {kDLBfloat, 16}, {kDLInt, 64}};
  DLTensor x = f32(data, 1, shape);
  for (unsigned code = 0; code < 256; ++code) {
    for (unsigned bits = 0; bits < 256; ++bits) {
      int is_right = 0;
      for (size_t i = 0; i < COUNT_OF(right); ++i) is_right = is_right || (code == right[i][0] && bits == right[i][1]);
      x.dtype.code = (uint8_t)code;
      x.dtype.bits = (uint8_t)bits;
      CHECK((portops_arguments_set_tensor(arguments, "x", &x) == PORTOPS_OK) == is_right);
    }
  }
  x.dtype.code = kDLUInt;
  x.dtype.bits = 8;
  REFUSED(x, "the DLPack type {code 1, bits 8, lanes 1}, expected f64, f32, f16, bf16 or i64");
  x.dtype.code = kDLFloat;
  x.dtype.bits = 32;
  x.dtype.lanes = 4;
  REFUSED(x, "the DLPack type {code 2, bits 32, lanes 4}, expected f64, f32, f16, bf16 or i64");
}

static void devices(void) {
  int64_t shape[1] = {4};
  DLTensor x = f32(data, 1, shape);
  for (int32_t type = -3; type < 40; ++type) {
    memcpy(&x.device, &type, sizeof(type));  // also what is no DLDeviceType
    const int is_right = type == 1 || type == 2 || type == 3 || type == 13;
    CHECK((portops_arguments_set_tensor(arguments, "x", &x) == PORTOPS_OK) == is_right);
  }
  x.device.device_type = kDLROCM;
  REFUSED(x, "the DLPack device type 10, expected 1 (kDLCPU), 2 (kDLCUDA), 3 (kDLCUDAHost) or 13 (kDLCUDAManaged)");
}

#ifdef PORTOPS_LERP_DEFAULTS
static void calls(void) {
  need_f32_on_host();
  portops_context ctx = host_context();
  int64_t shape[1] = {4};
  DLTensor x = f32(data, 1, shape);
  DLTensor y = f32(data + 4, 1, shape);
  DLTensor out = f32(data + 8, 1, shape);
  CHECK_OK(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL));
  // A stride that no address is made with may be anything.
  int64_t row[2] = {1, 4};
  int64_t steps[2] = {INT64_MIN, 1};
  DLTensor wide = f32(data, 2, row);
  DLTensor wide_out = f32(data + 8, 2, row);
  for (int i = 0; i < 8; ++i) data[i] = (float)i;
  wide.strides = wide_out.strides = steps;
  CHECK_OK(portops_lerp(ctx, &wide, &y, portops_number(0.5), &wide_out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 4; ++i) CHECK(near(data[8 + i], i + 2.0));
  x.ndim = -1;
  CHECK_FAILS(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: x has ndim -1, expected 0 to 8");
  CHECK_FAILS(portops_lerp(ctx, &y, &y, portops_tensor(&x), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: weight has ndim -1, expected 0 to 8");
  x.ndim = 1;
  x.device.device_type = kDLCUDA;
  CHECK_FAILS(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              strstr(portops_last_error(), "portops::lerp: x lies in cuda memory"));
  x = f32(data, 1, shape);
  x.byte_offset = 2;
  CHECK_FAILS(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: the address of x is not a multiple of its element size, 4");
  x.byte_offset = 8 * sizeof(float) + sizeof(float);
  CHECK_FAILS(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: out overlaps x in memory, expected disjoint tensors or the same one (address, extents "
              "and strides)");
  CHECK_OK(portops_context_destroy(ctx));
}
#endif

int main(void) {
  CHECK_OK(portops_arguments_create(&arguments));
  ranks();
  extents();
  strides();
  addresses();
  types();
  devices();
  CHECK_OK(portops_arguments_destroy(arguments));
#ifdef PORTOPS_LERP_DEFAULTS
  calls();
#endif
  return 0;
}
