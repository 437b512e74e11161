// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A call of each kind of signature: tensors, numbers, options, lists, indices.
#include "c_api/check.h"

#ifdef PORTOPS_LERP_DEFAULTS
static void lerp(portops_context ctx) {
  float x_data[6] = {0, 1, 2, 3, 4, 5};
  float y_data[6] = {8, 9, 10, 11, 12, 13};
  float weight_data[3] = {0.25f, 0.5f, 1.0f};
  float out_data[6];
  int64_t shape[2] = {2, 3};
  DLTensor x = f32(x_data, 2, shape);
  DLTensor y = f32(y_data, 2, shape);
  DLTensor weight = f32(weight_data, 1, shape + 1);
  DLTensor out = f32(out_data, 2, shape);
  CHECK_OK(portops_lerp(ctx, &x, &y, portops_number(0.25), &out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 6; ++i) CHECK(near(out_data[i], x_data[i] + 2.0));
  const portops_lerp_options options = PORTOPS_LERP_DEFAULTS;
  CHECK_OK(portops_lerp(ctx, &x, &y, portops_tensor(&weight), &out, &options));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 6; ++i) CHECK(near(out_data[i], x_data[i] + 8.0 * weight_data[i % 3]));

  // Transposed, from behind, and a gradient that is not wanted.
  int64_t strides[2] = {1, 2};
  int64_t backwards[2] = {-3, -1};
  y.strides = strides;
  x.strides = backwards;
  x.byte_offset = 5 * sizeof(float);
  CHECK_OK(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 6; ++i) CHECK(near(out_data[i], 0.5 * (x_data[5 - i] + y_data[i / 3 + 2 * (i % 3)])));
  float weight_grad_data[3];
  DLTensor weight_grad = f32(weight_grad_data, 1, shape + 1);
  x = f32(x_data, 2, shape);
  y = f32(y_data, 2, shape);
  CHECK_OK(portops_lerp_grad(ctx, &x, &y, portops_tensor(&weight), &y, NULL, NULL, &weight_grad, NULL));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 3; ++i) CHECK(near(weight_grad_data[i], 8.0 * (y_data[i] + y_data[i + 3])));
  CHECK_FAILS(portops_lerp_grad(ctx, &x, &y, portops_number(1), &y, NULL, NULL, &weight_grad, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp_grad: weight_grad is given, but weight is a number and has no gradient");

  // Of a tensor that gives its extents alone there need be no data.
  x.data = NULL;
  y.data = NULL;
  CHECK_OK(portops_lerp_grad(ctx, &x, &y, portops_number(0.5), &out, NULL, NULL, NULL, NULL));
  CHECK_FAILS(portops_lerp(ctx, &x, &out, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: x has no data, but its elements are needed");
  CHECK_FAILS(portops_lerp(ctx, NULL, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: x is empty, expected a tensor");
  x.data = x_data;
  y.data = y_data;
  out.ndim = 1;
  CHECK_FAILS(portops_lerp(ctx, &x, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_CALL,
              "portops::lerp: out has extents [2], expected [2, 3] (what x, y and weight broadcast to)");
  CHECK_FAILS(portops_lerp(NULL, &x, &y, portops_number(0.5), &out, NULL), PORTOPS_ERROR_HANDLE,
              "portops::lerp: ctx is NULL, expected a context");
}
#endif

#ifdef PORTOPS_ADD_DEFAULTS
static void add(portops_context ctx) {
  float data[4] = {1, 2, 3, 4};
  int64_t shape[1] = {4};
  DLTensor x = f32(data, 1, shape);
  CHECK_OK(portops_add(ctx, &x, portops_number(0.5), &x, NULL));  // in place
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 4; ++i) CHECK(near(data[i], i + 1.5));
}
#endif

#ifdef PORTOPS_P_NORM_DEFAULTS
static void p_norm(portops_context ctx) {
  float x_data[6] = {3, 4, 0, 0, -5, 12};
  float out_data[3];
  int64_t shape[2] = {3, 2};
  int64_t out_shape[2] = {3, 1};
  DLTensor x = f32(x_data, 2, shape);
  DLTensor out = f32(out_data, 1, out_shape);
  CHECK_OK(portops_p_norm(ctx, &x, &out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 5) && near(out_data[1], 0) && near(out_data[2], 13));
  portops_p_norm_options options = PORTOPS_P_NORM_DEFAULTS;
  options.porder = 1;
  options.keepdim = 1;
  out.ndim = 2;
  CHECK_OK(portops_p_norm(ctx, &x, &out, &options));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 7) && near(out_data[1], 0) && near(out_data[2], 17));
  // A list without items is another thing than none: no axes, so the norms of single elements.
  const int64_t axes[2] = {0, 1};
  options = (portops_p_norm_options)PORTOPS_P_NORM_DEFAULTS;
  options.porder = HUGE_VAL;
  options.axis = axes;
  options.axis_count = 2;
  DLTensor norm = f32(out_data, 0, NULL);
  CHECK_OK(portops_p_norm(ctx, &x, &norm, &options));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 12));
  options.axis_count = SIZE_MAX;
  CHECK_FAILS(portops_p_norm(ctx, &x, &norm, &options), PORTOPS_ERROR_CALL,
              "portops::p_norm: axis has 18446744073709551615 items, more than a process can address");
  options.axis_count = 2;
  options.keepdim = 7;
  CHECK_FAILS(portops_p_norm(ctx, &x, &norm, &options), PORTOPS_ERROR_CALL,
              "portops::p_norm: keepdim is 7, expected 0 or 1");
}
#endif

#ifdef PORTOPS_DEFORM_CONV2D_DEFAULTS
static void deform_conv2d(portops_context ctx) {
  float x_data[9];
  float offset_data[18] = {0};
  float mask_data[9];
  float weight_data[2] = {2, -1};
  float bias_data[2] = {10, 0};
  float out_data[18];
  for (int i = 0; i < 9; ++i) {
    x_data[i] = (float)i;
    mask_data[i] = 0.5f;
  }
  offset_data[9 + 4] = 0.5f;  // the pixel in the middle is taken half a pixel further across
  int64_t image[4] = {1, 1, 3, 3};
  int64_t two[4] = {1, 2, 3, 3};
  int64_t filter[4] = {2, 1, 1, 1};
  DLTensor x = f32(x_data, 4, image);
  DLTensor offset = f32(offset_data, 4, two);
  DLTensor weight = f32(weight_data, 4, filter);
  DLTensor mask = f32(mask_data, 4, image);
  DLTensor bias = f32(bias_data, 1, filter);
  DLTensor out = f32(out_data, 4, two);
  CHECK_OK(portops_deform_conv2d(ctx, &x, &offset, &weight, &out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 9; ++i)
    CHECK(near(out_data[i], 2.0 * (i == 4 ? 4.5 : i)) && near(out_data[9 + i], i == 4 ? -4.5 : -i));
  portops_deform_conv2d_options options = PORTOPS_DEFORM_CONV2D_DEFAULTS;
  const int64_t stride[2] = {2, 2};
  options.mask = &mask;
  options.bias = &bias;
  CHECK_OK(portops_deform_conv2d(ctx, &x, &offset, &weight, &out, &options));
  CHECK_OK(portops_context_fence(ctx));
  for (int i = 0; i < 9; ++i) CHECK(near(out_data[i], 10.0 + (i == 4 ? 4.5 : i)));
  options.stride = stride;
  options.stride_count = 2;
  CHECK(portops_deform_conv2d(ctx, &x, &offset, &weight, &out, &options) == PORTOPS_ERROR_CALL);
  CHECK(strstr(portops_last_error(), "portops::deform_conv2d: offset has extents [1, 2, 3, 3], expected [1, 2, 2, 2]"));
}
#endif

#if defined(PORTOPS_CONCAT_DEFAULTS) && defined(PORTOPS_SPLIT_DEFAULTS)
static void concat_and_split(portops_context ctx) {
  float a_data[4] = {1, 2, 3, 4};
  float b_data[2] = {5, 6};
  float whole_data[6];
  int64_t a_shape[2] = {2, 2};
  int64_t b_shape[2] = {2, 1};
  int64_t whole_shape[2] = {2, 3};
  DLTensor a = f32(a_data, 2, a_shape);
  DLTensor b = f32(b_data, 2, b_shape);
  DLTensor whole = f32(whole_data, 2, whole_shape);
  const DLTensor* parts[2];
  parts[0] = &a;
  parts[1] = &b;
  portops_concat_options options = PORTOPS_CONCAT_DEFAULTS;
  options.axis = 1;
  CHECK_OK(portops_concat(ctx, parts, 2, &whole, &options));
  CHECK_OK(portops_context_fence(ctx));
  const float joined[6] = {1, 2, 5, 3, 4, 6};
  CHECK(memcmp(whole_data, joined, sizeof(joined)) == 0);

  float c_data[4] = {0};
  float d_data[2] = {0};
  DLTensor c = f32(c_data, 2, a_shape);
  DLTensor d = f32(d_data, 2, b_shape);
  DLTensor* outputs[2];
  outputs[0] = &c;
  outputs[1] = &d;
  portops_split_options along = PORTOPS_SPLIT_DEFAULTS;
  along.axis = -1;
  const int64_t sections[2] = {-1, 1};
  CHECK_OK(portops_split(ctx, &whole, outputs, 2, sections, 2, &along));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(memcmp(a_data, c_data, sizeof(a_data)) == 0 && memcmp(b_data, d_data, sizeof(b_data)) == 0);

  // A gradient of a list of which one is not wanted.
  memset(d_data, 0, sizeof(d_data));
  outputs[0] = NULL;
  portops_concat_grad_options grad_options = PORTOPS_CONCAT_GRAD_DEFAULTS;
  grad_options.axis = 1;
  CHECK_OK(portops_concat_grad(ctx, parts, 2, &whole, outputs, 2, &grad_options));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(memcmp(b_data, d_data, sizeof(b_data)) == 0);

  parts[1] = NULL;
  CHECK_FAILS(portops_concat(ctx, parts, 2, &whole, &options), PORTOPS_ERROR_CALL,
              "portops::concat: x[1] is empty, expected a tensor");
  CHECK_FAILS(portops_concat(ctx, NULL, 2, &whole, &options), PORTOPS_ERROR_CALL,
              "portops::concat: x is NULL, expected 2 items");
  CHECK(portops_concat(ctx, NULL, 0, &whole, &options) == PORTOPS_ERROR_CALL);
  CHECK_FAILS(portops_concat(ctx, parts, SIZE_MAX, &whole, &options), PORTOPS_ERROR_CALL,
              "portops::concat: x has 18446744073709551615 items, more than a process can address");
  b.ndim = -1;
  parts[1] = &b;
  CHECK_FAILS(portops_concat(ctx, parts, 2, &whole, &options), PORTOPS_ERROR_CALL,
              "portops::concat: x[1] has ndim -1, expected 0 to 8");
}
#endif

#if defined(PORTOPS_MERGE_ROWS_DEFAULTS) && defined(PORTOPS_SPARSE_ADAM_DEFAULTS)
static void sparse_rows(portops_context ctx) {
  int64_t rows_data[3] = {2, 0, 2};
  float values_data[3] = {1, 2, 3};
  int64_t out_rows_data[3] = {7, 7, 7};
  float out_values_data[3];
  int64_t count_data = 0;
  int64_t rows_shape[1] = {3};
  int64_t values_shape[2] = {3, 1};
  DLTensor rows = i64(rows_data, 1, rows_shape);
  DLTensor values = f32(values_data, 2, values_shape);
  DLTensor out_rows = i64(out_rows_data, 1, rows_shape);
  DLTensor out_values = f32(out_values_data, 2, values_shape);
  DLTensor count = i64(&count_data, 0, NULL);
  CHECK_OK(portops_merge_rows(ctx, &rows, &values, &out_rows, &out_values, &count, 4, NULL));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(count_data == 2 && out_rows_data[0] == 0 && out_rows_data[1] == 2);
  CHECK(near(out_values_data[0], 2) && near(out_values_data[1], 4));

  float param_data[4] = {1, 1, 1, 1};
  float moment1_data[4] = {0};
  float moment2_data[4] = {0};
  int64_t table[2] = {4, 1};
  DLTensor param = f32(param_data, 2, table);
  DLTensor moment1 = f32(moment1_data, 2, table);
  DLTensor moment2 = f32(moment2_data, 2, table);
  portops_sparse_adam_options options = PORTOPS_SPARSE_ADAM_DEFAULTS;
  options.count = &count;
  CHECK_OK(portops_sparse_adam(ctx, &param, &out_rows, &out_values, &moment1, &moment2, &param, &moment1, &moment2, 0.1,
                               0.9, 0.999, &options));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(param_data[0], 0.9) && near(param_data[1], 1) && near(param_data[2], 0.9) && near(param_data[3], 1));
  CHECK(near(moment1_data[2], 0.4) && near(moment2_data[2], 0.016));
  CHECK_FAILS(portops_sparse_adam(ctx, &param, &values, &out_values, &moment1, &moment2, &param, &moment1, &moment2,
                                  0.1, 0.9, 0.999, &options),
              PORTOPS_ERROR_CALL, "portops::sparse_adam: rows has element type f32, expected i64");
}
#endif

static void all(portops_context ctx) {
#ifdef PORTOPS_LERP_DEFAULTS
  lerp(ctx);
#endif
#ifdef PORTOPS_ADD_DEFAULTS
  add(ctx);
#endif
#ifdef PORTOPS_P_NORM_DEFAULTS
  p_norm(ctx);
#endif
#ifdef PORTOPS_DEFORM_CONV2D_DEFAULTS
  deform_conv2d(ctx);
#endif
#if defined(PORTOPS_CONCAT_DEFAULTS) && defined(PORTOPS_SPLIT_DEFAULTS)
  concat_and_split(ctx);
#endif
#if defined(PORTOPS_MERGE_ROWS_DEFAULTS) && defined(PORTOPS_SPARSE_ADAM_DEFAULTS)
  sparse_rows(ctx);
#endif
  CHECK_OK(portops_context_destroy(ctx));
}

int main(void) {
  need_f32_on_host();
  portops_backend backends[3];
  size_t count = 0;
  CHECK_OK(portops_backends(backends, COUNT_OF(backends), &count));
  for (size_t i = 0; i < count; ++i) {
    portops_context ctx = NULL;
    if (backends[i] == PORTOPS_BACKEND_CUDA) continue;
    CHECK_OK(portops_context_create(backends[i], NULL, &ctx));
    all(ctx);
  }
  return 0;
}
