// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Levels, and operators on ragged tensors.
#include "c_api/check.h"

static void levels_alone(void) {
  const int64_t coarse[2] = {0, 2};
  const int64_t fine[3] = {0, 1, 4};
  const int64_t* offsets[2];
  offsets[0] = coarse;
  offsets[1] = fine;
  size_t counts[2] = {2, 3};
  portops_levels levels = NULL;
  CHECK_OK(portops_levels_create(2, offsets, counts, &levels));
  int32_t depth = 0;
  int64_t items = 0;
  const int64_t* found = NULL;
  size_t count = 0;
  CHECK_OK(portops_levels_depth(levels, &depth));
  CHECK(depth == 2);
  CHECK_OK(portops_levels_items(levels, 0, &items));
  CHECK(items == 1);
  CHECK_OK(portops_levels_items(levels, -1, &items));
  CHECK(items == 2);
  CHECK_OK(portops_levels_offsets(levels, 1, &found, &count));
  CHECK(count == 3 && memcmp(found, fine, sizeof(fine)) == 0);
  CHECK_FAILS(portops_levels_offsets(levels, 2, &found, &count), PORTOPS_ERROR_CALL,
              "portops::Levels: there is no level 2, expected less than 2");
  CHECK(portops_levels_items(levels, INT32_MIN, &items) == PORTOPS_ERROR_CALL);
  CHECK_OK(portops_levels_destroy(levels));
  CHECK_FAILS(portops_levels_depth(levels, &depth), PORTOPS_ERROR_HANDLE,
              "portops_levels_depth: levels is no handle that is alive, expected levels");

  levels = NULL;
  counts[1] = 2;
  CHECK_FAILS(portops_levels_create(2, offsets, counts, &levels), PORTOPS_ERROR_CALL,
              "portops::Levels: level 0 ends with 2, expected 1 (the items of level 1)");
  counts[1] = SIZE_MAX;
  CHECK(portops_levels_create(2, offsets, counts, &levels) == PORTOPS_ERROR_CALL);
  offsets[1] = NULL;
  counts[1] = 3;
  CHECK_FAILS(portops_levels_create(2, offsets, counts, &levels), PORTOPS_ERROR_CALL,
              "portops_levels_create: offsets[1] is NULL, expected 3 items");
  CHECK(portops_levels_create(SIZE_MAX, offsets, counts, &levels) == PORTOPS_ERROR_CALL);
  CHECK(portops_levels_create(0, NULL, NULL, &levels) == PORTOPS_ERROR_CALL);
  CHECK(portops_levels_create(1, offsets, NULL, &levels) == PORTOPS_ERROR_CALL);
  const int64_t negative[2] = {1, -1};
  CHECK_FAILS(portops_levels_create_from_lengths(negative, 2, &levels), PORTOPS_ERROR_CALL,
              "portops::Levels: sequence 1 has length -1, expected 0 or more");
  const int64_t huge[2] = {INT64_MAX, INT64_MAX};
  CHECK(portops_levels_create_from_lengths(huge, 2, &levels) == PORTOPS_ERROR_CALL);
  CHECK(portops_levels_create_from_lengths(huge, 2, NULL) == PORTOPS_ERROR_CALL);
  CHECK(levels == NULL);
  CHECK_OK(portops_levels_create_from_lengths(NULL, 0, &levels));
  CHECK_OK(portops_levels_items(levels, -1, &items));
  CHECK(items == 0);
  CHECK_OK(portops_levels_destroy(levels));
}

#ifdef PORTOPS_SEQUENCE_POOL_DEFAULTS
static void pool(portops_context ctx) {
  float x_data[4] = {1, 2, 3, 9};
  float out_data[3];
  int64_t index_data[3];
  int64_t shape[2] = {4, 1};
  int64_t out_shape[2] = {3, 1};
  const int64_t lengths[3] = {2, 0, 2};
  DLTensor x = f32(x_data, 2, shape);
  DLTensor out = f32(out_data, 2, out_shape);
  DLTensor index = i64(index_data, 2, out_shape);
  portops_levels levels = from_lengths(lengths, 3);
  CHECK_OK(portops_sequence_pool(ctx, &x, levels, &out, NULL, NULL));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 1.5) && near(out_data[1], 0) && near(out_data[2], 6));
  portops_sequence_pool_options options = PORTOPS_SEQUENCE_POOL_DEFAULTS;
  options.pooltype = "max";
  options.pad_value = -1;
  CHECK_OK(portops_sequence_pool(ctx, &x, levels, &out, &index, &options));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 2) && near(out_data[1], -1) && near(out_data[2], 9));
  CHECK(index_data[0] == 1 && index_data[1] == -1 && index_data[2] == 3);
  options.pooltype = "most";
  CHECK(portops_sequence_pool(ctx, &x, levels, &out, NULL, &options) == PORTOPS_ERROR_CALL);
  CHECK_FAILS(portops_sequence_pool(ctx, &x, NULL, &out, NULL, NULL), PORTOPS_ERROR_CALL,
              "portops::sequence_pool: x has no levels, expected a ragged tensor");
  CHECK_FAILS(portops_sequence_pool(ctx, &x, (portops_levels)(void*)ctx, &out, NULL, NULL), PORTOPS_ERROR_HANDLE,
              "portops::sequence_pool: x_levels is a handle of a context, expected levels");
  shape[0] = 3;
  CHECK_FAILS(portops_sequence_pool(ctx, &x, levels, &out, NULL, NULL), PORTOPS_ERROR_CALL,
              "portops::sequence_pool: x has extents [3, 1], expected 4 rows (the last offset of its levels)");
  CHECK_OK(portops_levels_destroy(levels));
}
#endif

#ifdef PORTOPS_SEQUENCE_EXPAND_DEFAULTS
static void expand(portops_context ctx) {
  float x_data[3] = {1, 2, 3};
  float out_data[5];
  int64_t shape[2] = {3, 1};
  int64_t out_shape[2] = {4, 1};
  const int64_t times[3] = {2, 0, 2};
  const int64_t lengths[2] = {1, 2};
  DLTensor x = f32(x_data, 2, shape);
  DLTensor out = f32(out_data, 2, out_shape);
  portops_levels y = from_lengths(times, 3);
  CHECK_OK(portops_sequence_expand(ctx, &x, NULL, y, &out, NULL));  // without levels each row is a sequence
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 1) && near(out_data[1], 1) && near(out_data[2], 3) && near(out_data[3], 3));
  CHECK_OK(portops_levels_destroy(y));
  portops_levels x_levels = from_lengths(lengths, 2);
  const int64_t again[2] = {1, 2};
  y = from_lengths(again, 2);
  out_shape[0] = 5;
  CHECK_OK(portops_sequence_expand(ctx, &x, x_levels, y, &out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  CHECK(near(out_data[0], 1) && near(out_data[1], 2) && near(out_data[2], 3) && near(out_data[3], 2));
  CHECK_FAILS(portops_sequence_expand(ctx, &x, x_levels, NULL, &out, NULL), PORTOPS_ERROR_CALL,
              "portops::sequence_expand: y has no levels, expected levels");
  CHECK_OK(portops_levels_destroy(x_levels));
  CHECK_FAILS(portops_sequence_expand(ctx, &x, x_levels, y, &out, NULL), PORTOPS_ERROR_HANDLE,
              "portops::sequence_expand: x_levels is no handle that is alive, expected levels");
  CHECK_OK(portops_levels_destroy(y));
}
#endif

#ifdef PORTOPS_SEQUENCE_CONCAT_DEFAULTS
static void concat(portops_context ctx) {
  float a_data[3] = {1, 2, 3};
  float b_data[2] = {4, 5};
  float out_data[5];
  int64_t a_shape[2] = {3, 1};
  int64_t b_shape[2] = {2, 1};
  int64_t out_shape[2] = {5, 1};
  const int64_t a_lengths[2] = {1, 2};
  const int64_t b_lengths[2] = {2, 0};
  DLTensor a = f32(a_data, 2, a_shape);
  DLTensor b = f32(b_data, 2, b_shape);
  DLTensor out = f32(out_data, 2, out_shape);
  const DLTensor* x[2];
  x[0] = &a;
  x[1] = &b;
  portops_levels levels[2];
  levels[0] = from_lengths(a_lengths, 2);
  levels[1] = from_lengths(b_lengths, 2);
  CHECK_OK(portops_sequence_concat(ctx, x, 2, levels, &out, NULL));
  CHECK_OK(portops_context_fence(ctx));
  const float expected[5] = {1, 4, 5, 2, 3};
  CHECK(memcmp(out_data, expected, sizeof(expected)) == 0);
  CHECK_FAILS(portops_sequence_concat(ctx, x, 2, NULL, &out, NULL), PORTOPS_ERROR_CALL,
              "portops::sequence_concat: x_levels is NULL, expected 2 items");
  CHECK_OK(portops_levels_destroy(levels[1]));
  CHECK_FAILS(portops_sequence_concat(ctx, x, 2, levels, &out, NULL), PORTOPS_ERROR_HANDLE,
              "portops::sequence_concat: x_levels[1] is no handle that is alive, expected levels");
  CHECK_OK(portops_levels_destroy(levels[0]));
}
#endif

int main(void) {
  levels_alone();
  need_f32_on_host();
  portops_context ctx = host_context();
#ifdef PORTOPS_SEQUENCE_POOL_DEFAULTS
  pool(ctx);
#endif
#ifdef PORTOPS_SEQUENCE_EXPAND_DEFAULTS
  expand(ctx);
#endif
#ifdef PORTOPS_SEQUENCE_CONCAT_DEFAULTS
  concat(ctx);
#endif
  CHECK_OK(portops_context_destroy(ctx));
  return 0;
}
