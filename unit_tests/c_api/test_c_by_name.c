// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arguments, calls by name, and what outputs would be.
#include "c_api/check.h"

static portops_arguments no_arguments(void) {
  portops_arguments arguments = NULL;
  CHECK_OK(portops_arguments_create(&arguments));
  return arguments;
}

#ifdef PORTOPS_LERP_DEFAULTS
static void lerp(portops_context ctx) {
  float x_data[2] = {0, 2};
  float y_data[2] = {8, 10};
  float out_data[2];
  int64_t shape[1] = {2};
  DLTensor x = f32(x_data, 1, shape);
  DLTensor y = f32(y_data, 1, shape);
  DLTensor out = f32(out_data, 1, shape);
  portops_arguments arguments = no_arguments();
  CHECK_OK(portops_arguments_set_tensor(arguments, "x", &x));
  CHECK_OK(portops_arguments_set_tensor(arguments, "y", &y));
  CHECK_OK(portops_arguments_set_number(arguments, "weight", 0.25));
  CHECK_FAILS(portops_run(ctx, "lerp", arguments), PORTOPS_ERROR_CALL,
              "portops::lerp: out is missing, expected a tensor to write to");
  CHECK_OK(portops_arguments_set_tensor(arguments, "out", &out));
  CHECK_OK(portops_run(ctx, "lerp", arguments));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 2) && near(out_data[1], 4));
  CHECK_OK(portops_arguments_set_integer(arguments, "weight", 1));  // again: it is replaced
  CHECK_OK(portops_run(ctx, "lerp", arguments));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 8) && near(out_data[1], 10));

  CHECK_OK(portops_arguments_set_text(arguments, "weight", "much"));
  CHECK_FAILS(portops_run(ctx, "lerp", arguments), PORTOPS_ERROR_CALL,
              "portops::lerp: weight is the text 'much', expected a tensor or a number");
  CHECK_OK(portops_arguments_set_boolean(arguments, "weight", 1));
  CHECK(portops_run(ctx, "lerp", arguments) == PORTOPS_ERROR_CALL);
  CHECK(portops_arguments_set_boolean(arguments, "weight", 2) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_arguments_set_number(arguments, "weight", 0.5));
  CHECK_OK(portops_arguments_set_tensor(arguments, "y", NULL));
  CHECK_FAILS(portops_run(ctx, "lerp", arguments), PORTOPS_ERROR_CALL,
              "portops::lerp: y is missing, expected a tensor");
  CHECK_FAILS(portops_run(ctx, "lerq", NULL), PORTOPS_ERROR_HANDLE,
              "portops_run: arguments is NULL, expected arguments");
  CHECK(portops_run(ctx, "lerq", arguments) == PORTOPS_ERROR_CALL);
  CHECK(strstr(portops_last_error(), "portops::find_operator: no operator is named 'lerq'; the closest are lerp"));
  CHECK(portops_run(ctx, NULL, arguments) == PORTOPS_ERROR_CALL);
  CHECK(portops_run(NULL, "lerp", arguments) == PORTOPS_ERROR_HANDLE);
  CHECK_FAILS(portops_arguments_set_tensor(arguments, NULL, &x), PORTOPS_ERROR_CALL,
              "portops_arguments_set_tensor: name is NULL");
  CHECK_FAILS(portops_arguments_set_text(arguments, "weight", NULL), PORTOPS_ERROR_CALL,
              "portops_arguments_set_text: weight is NULL");
  x.ndim = 9;
  CHECK_FAILS(portops_arguments_set_tensor(arguments, "x", &x), PORTOPS_ERROR_CALL,
              "portops_arguments_set_tensor: x has ndim 9, expected 0 to 8");
  CHECK_OK(portops_arguments_destroy(arguments));
  CHECK_FAILS(portops_arguments_set_number(arguments, "weight", 1), PORTOPS_ERROR_HANDLE,
              "portops_arguments_set_number: arguments is no handle that is alive, expected arguments");
}

static void infer(void) {
  int64_t shape[2] = {4, 1};
  int64_t other[3] = {2, 1, 3};
  DLTensor x = f32(NULL, 2, shape);
  DLTensor y = f32(NULL, 3, other);
  portops_arguments arguments = no_arguments();
  portops_inferred inferred = NULL;
  CHECK_OK(portops_arguments_set_tensor(arguments, "x", &x));
  CHECK(portops_infer("lerp", arguments, &inferred) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_arguments_set_tensor(arguments, "y", &y));
  CHECK_OK(portops_infer("lerp", arguments, &inferred));
  DLDataType type;
  size_t count = 0;
  int32_t ndim = 0;
  int64_t extents[PORTOPS_MAX_NDIM];
  portops_levels levels = (portops_levels)(void*)arguments;
  CHECK_OK(portops_inferred_type(inferred, "out", &type));
  CHECK(type.code == kDLFloat && type.bits == 32 && type.lanes == 1);
  CHECK_OK(portops_inferred_count(inferred, "out", &count));
  CHECK_OK(portops_inferred_ndim(inferred, "out", 0, &ndim));
  CHECK_OK(portops_inferred_shape(inferred, "out", 0, extents));
  CHECK(count == 1 && ndim == 3 && extents[0] == 2 && extents[1] == 4 && extents[2] == 3);
  CHECK_OK(portops_inferred_levels(inferred, "out", 0, &levels));
  CHECK(levels == NULL);
  CHECK_FAILS(portops_inferred_ndim(inferred, "out", 1, &ndim), PORTOPS_ERROR_CALL,
              "portops_inferred_ndim: item is 1, expected less than 1");
  CHECK_FAILS(portops_inferred_type(inferred, "in", &type), PORTOPS_ERROR_CALL,
              "portops_inferred_type: no output is named 'in'");
  CHECK(portops_inferred_type(inferred, "out", NULL) == PORTOPS_ERROR_CALL);
  CHECK(portops_inferred_type(inferred, NULL, &type) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_inferred_destroy(inferred));
  CHECK(portops_inferred_type(inferred, "out", &type) == PORTOPS_ERROR_HANDLE);
  CHECK(portops_infer("lerp", arguments, NULL) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_arguments_destroy(arguments));
}
#endif

#ifdef PORTOPS_SPLIT_DEFAULTS
static void split(portops_context ctx) {
  float x_data[3] = {1, 2, 3};
  float a_data[1];
  float b_data[2];
  int64_t shape[1] = {3};
  DLTensor x = f32(x_data, 1, shape);
  const int64_t sections[2] = {1, -1};
  portops_arguments arguments = no_arguments();
  portops_inferred inferred = NULL;
  CHECK_OK(portops_arguments_set_tensor(arguments, "x", &x));
  CHECK_OK(portops_arguments_set_integers(arguments, "sections", sections, 2));
  CHECK_OK(portops_infer("split", arguments, &inferred));
  size_t count = 0;
  int32_t ndim = 0;
  int64_t extents[2][PORTOPS_MAX_NDIM];
  CHECK_OK(portops_inferred_count(inferred, "out", &count));
  CHECK(count == 2);
  for (size_t item = 0; item < count; ++item) {
    CHECK_OK(portops_inferred_ndim(inferred, "out", item, &ndim));
    CHECK_OK(portops_inferred_shape(inferred, "out", item, extents[item]));
    CHECK(ndim == 1 && extents[item][0] == (int64_t)item + 1);
  }
  DLTensor a = f32(a_data, 1, extents[0]);
  DLTensor b = f32(b_data, 1, extents[1]);
  const DLTensor* out[2];
  out[0] = &a;
  out[1] = &b;
  CHECK_OK(portops_arguments_set_list(arguments, "out", out, 2));
  CHECK_OK(portops_run(ctx, "split", arguments));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(a_data[0], 1) && near(b_data[0], 2) && near(b_data[1], 3));
  CHECK_FAILS(portops_arguments_set_integers(arguments, "sections", NULL, 2), PORTOPS_ERROR_CALL,
              "portops_arguments_set_integers: sections is NULL, expected 2 items");
  CHECK_FAILS(portops_arguments_set_list(arguments, "out", NULL, 2), PORTOPS_ERROR_CALL,
              "portops_arguments_set_list: out is NULL, expected 2 items");
  CHECK_OK(portops_inferred_destroy(inferred));
  CHECK_OK(portops_arguments_destroy(arguments));
}
#endif

#if defined(PORTOPS_SEQUENCE_POOL_DEFAULTS) && defined(PORTOPS_SEQUENCE_CONCAT_DEFAULTS)
static void ragged(portops_context ctx) {
  float x_data[3] = {1, 2, 6};
  float out_data[6];
  int64_t shape[2] = {3, 1};
  int64_t pooled[2] = {2, 1};
  int64_t joined[2] = {6, 1};
  const int64_t lengths[2] = {1, 2};
  DLTensor x = f32(x_data, 2, shape);
  DLTensor out = f32(out_data, 2, pooled);
  portops_levels levels = NULL;
  CHECK_OK(portops_levels_create_from_lengths(lengths, 2, &levels));
  portops_arguments arguments = no_arguments();
  CHECK_OK(portops_arguments_set_tensor(arguments, "x", &x));
  CHECK_OK(portops_arguments_set_levels(arguments, "x", levels));
  CHECK_OK(portops_arguments_set_text(arguments, "pooltype", "sum"));
  CHECK_OK(portops_arguments_set_tensor(arguments, "out", &out));
  CHECK_OK(portops_run(ctx, "sequence_pool", arguments));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 1) && near(out_data[1], 8));
  CHECK_OK(portops_arguments_set_levels(arguments, "x", NULL));
  CHECK(portops_run(ctx, "sequence_pool", arguments) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_arguments_destroy(arguments));

  arguments = no_arguments();
  const DLTensor* list[2];
  portops_levels list_levels[2];
  for (int i = 0; i < 2; ++i) {
    list[i] = &x;
    list_levels[i] = levels;
  }
  CHECK_FAILS(portops_arguments_set_list_levels(arguments, "x", list_levels, 2), PORTOPS_ERROR_CALL,
              "portops_arguments_set_list_levels: x is no list of tensors yet, expected it to be set before");
  CHECK_OK(portops_arguments_set_list(arguments, "x", list, 2));
  CHECK_FAILS(portops_arguments_set_list_levels(arguments, "x", list_levels, 1), PORTOPS_ERROR_CALL,
              "portops_arguments_set_list_levels: x has 2 tensors, but levels for 1");
  CHECK_OK(portops_arguments_set_list_levels(arguments, "x", list_levels, 2));
  CHECK_OK(portops_levels_destroy(levels));  // the arguments keep what they need
  out.shape = joined;
  CHECK_OK(portops_arguments_set_tensor(arguments, "out", &out));
  CHECK_OK(portops_run(ctx, "sequence_concat", arguments));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 1) && near(out_data[1], 1) && near(out_data[2], 2) && near(out_data[5], 6));
  portops_inferred inferred = NULL;
  CHECK_OK(portops_infer("sequence_concat", arguments, &inferred));
  portops_levels found = NULL;
  const int64_t* offsets = NULL;
  size_t count = 0;
  CHECK_OK(portops_inferred_levels(inferred, "out", 0, &found));
  CHECK_OK(portops_inferred_destroy(inferred));
  CHECK_OK(portops_levels_offsets(found, -1, &offsets, &count));
  CHECK(count == 3 && offsets[1] == 2 && offsets[2] == 6);
  CHECK_OK(portops_levels_destroy(found));
  CHECK_OK(portops_arguments_destroy(arguments));
}
#endif

int main(void) {
  need_f32_on_host();
  portops_context ctx = host_context();
#ifdef PORTOPS_LERP_DEFAULTS
  lerp(ctx);
  infer();
#endif
#ifdef PORTOPS_SPLIT_DEFAULTS
  split(ctx);
#endif
#if defined(PORTOPS_SEQUENCE_POOL_DEFAULTS) && defined(PORTOPS_SEQUENCE_CONCAT_DEFAULTS)
  ragged(ctx);
#endif
  portops_arguments arguments = no_arguments();
  CHECK_OK(portops_arguments_destroy(arguments));
  CHECK_OK(portops_context_destroy(ctx));
  return 0;
}
