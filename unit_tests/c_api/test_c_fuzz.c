// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls whose arguments are right but for a few that are not: each ends in a status, none in a crash or in undefined
// behaviour, which the sanitizers look for. Wrong sizes are either absurd, and so refused, or so small that a call
// which is accepted stays in its buffers: 8 axes of 3 elements, strides of up to 5 either way.
#include "c_api/check.h"

enum {
  tensor_count = 10,
  half_bytes = 1 << 16,  // of a buffer, on both sides of where its tensor begins
  calls = 40000,
  mutations = 12
};

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 2685821657736338717u >> 16;
}

static size_t below(size_t n) { return (size_t)(next_random() % n); }

#define ONE_OF(values) ((values)[below(COUNT_OF(values))])

typedef struct {
  char* buffer;
  int64_t shape[8];
  int64_t strides[8];
  DLTensor tensor;
} Operand;

static Operand operands[tensor_count];
static const DLTensor* inputs[tensor_count];  // by which calls know the operands: some become NULL
static DLTensor* outputs[tensor_count];
static portops_context ctx, live_ctx, stale_ctx;
static portops_levels levels[2], live_levels[2], stale_levels;
static portops_arguments live_arguments;
static double number;
static int64_t integer;
static int64_t integers[4], boolean;
static const int64_t* integer_list;
static size_t integer_count, item_count, size_change;
static const char* text;

static const int64_t absurd[] = {
    -1, INT64_MIN, INT64_MAX, (int64_t)1 << 60, -((int64_t)1 << 60), INT64_MAX / 8, ((int64_t)1 << 58) + 1};

/// An operand of these extents, contiguous; f32 or i64.
static Operand* operand(size_t at, int is_index, int32_t ndim, int64_t a, int64_t b, int64_t c, int64_t d) {
  Operand* x = &operands[at];
  const int64_t shape[4] = {a, b, c, d};
  for (int i = 0; i < 8; ++i) {
    x->shape[i] = i < ndim ? shape[i] : 1 + (int64_t)below(2);
    x->strides[i] = 1;
  }
  x->tensor = is_index ? i64((int64_t*)(void*)(x->buffer + half_bytes), ndim, x->shape)
                       : f32((float*)(void*)(x->buffer + half_bytes), ndim, x->shape);
  for (int i = 0; i < 64; ++i) {
    if (is_index) {
      const int64_t value = below(12) == 0 ? ONE_OF(absurd) : (int64_t)below(4);
      memcpy(x->buffer + half_bytes + 8 * i, &value, sizeof(value));
    } else {
      const float value = (float)below(16) - 8;
      memcpy(x->buffer + half_bytes + 4 * i, &value, sizeof(value));
    }
  }
  return x;
}

#define f32_operand(at, ndim, a, b, c, d) operand(at, 0, ndim, a, b, c, d)

static void change_tensor(size_t at) {
  static const int32_t ranks[] = {-1, 0, 1, 2, 3, 4, 8, 9, 255, INT32_MIN, INT32_MAX};
  static const uint8_t codes[] = {kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLComplex, 200};
  static const uint8_t bits[] = {0, 8, 16, 32, 64, 128, 255};
  static const uint16_t lanes[] = {0, 1, 2, 65535};
  static const int32_t device_types[] = {-7, 0, 1, 2, 3, 10, 13, 14, INT32_MAX};
  static const int32_t device_ids[] = {-1, 0, 1, INT32_MIN, INT32_MAX};
  static const uint64_t byte_offsets[] = {0, 2, 4, 8, 64, UINT64_MAX, (uint64_t)1 << 60, (uint64_t)1 << 63};
  Operand* x = &operands[at];
  const size_t axis = below(8);
  switch (below(14)) {
    case 0: x->tensor.ndim = ONE_OF(ranks); break;
    case 1: x->shape[axis] = (int64_t)below(4); break;
    case 2: x->shape[axis] = ONE_OF(absurd); break;
    case 3: x->tensor.shape = NULL; break;
    case 4:
      x->tensor.strides = x->strides;
      x->strides[axis] = (int64_t)below(11) - 5;
      break;
    case 5:
      x->tensor.strides = x->strides;
      x->strides[axis] = ONE_OF(absurd);
      break;
    case 6: x->tensor.dtype.code = ONE_OF(codes); break;
    case 7: x->tensor.dtype.bits = ONE_OF(bits); break;
    case 8: x->tensor.dtype.lanes = ONE_OF(lanes); break;
    case 9: memcpy(&x->tensor.device, &ONE_OF(device_types), sizeof(int32_t)); break;
    case 10: x->tensor.device.device_id = ONE_OF(device_ids); break;
    case 11: x->tensor.byte_offset = ONE_OF(byte_offsets); break;
    case 12: x->tensor.data = below(2) == 0 ? NULL : operands[below(tensor_count)].tensor.data; break;
    default: inputs[at] = outputs[at] = NULL;
  }
}

static void change_something(void) {
  static const double numbers[] = {0.0, -1.0, 2.5, 1e308, -1e-308, HUGE_VAL, -HUGE_VAL};
  static const char* const texts[] = {"max", "sum", "", "most", NULL};
  static const size_t counts[] = {0, 1, 2, SIZE_MAX, SIZE_MAX / 8, (size_t)1 << 55};
  static const size_t sizes[] = {0, 4, 8, 16, 24, 32, 4096 + 8, SIZE_MAX - 7};
  switch (below(mutations)) {
    case 0: {
      static const uintptr_t garbage[] = {0, 1, 8, 0xdeadbeef, UINTPTR_MAX};
      const portops_context wrong[] = {stale_ctx, (portops_context)ONE_OF(garbage),
                                       (portops_context)(void*)live_arguments,
                                       (portops_context)(void*)operands[0].buffer};
      ctx = ONE_OF(wrong);
      break;
    }
    case 1: {
      const portops_levels wrong[] = {NULL, stale_levels, live_levels[1], (portops_levels)(void*)live_ctx,
                                      (portops_levels)(void*)operands[0].buffer};
      levels[below(2)] = ONE_OF(wrong);
      break;
    }
    case 2: number = below(8) == 0 ? NAN : ONE_OF(numbers); break;
    case 3: integer = below(2) == 0 ? ONE_OF(absurd) : (int64_t)below(9) - 4; break;
    case 4: integers[below(4)] = below(2) == 0 ? ONE_OF(absurd) : (int64_t)below(9) - 4; break;
    case 5: integer_list = below(2) == 0 ? NULL : integers; break;
    case 6: integer_count = below(2) == 0 ? below(5) : (size_t)1 << 55; break;
    case 7: text = ONE_OF(texts); break;
    case 8: item_count = ONE_OF(counts); break;
    case 9: size_change = ONE_OF(sizes); break;
    default: change_tensor(below(tensor_count));
  }
}

/// Changes the size of options: to less than they have, or to what no caller has.
#define RESIZE(options) \
  if (size_change != 1 && (size_change > 4096 || size_change <= sizeof(options))) (options).size = size_change

#define MUTATE \
  for (size_t left = below(4); left > 0; --left) change_something()

/// A call of an operator, right before some of it is changed.
static portops_status call(size_t which) {
  switch (which) {
#ifdef PORTOPS_LERP_DEFAULTS
    case 0: {
      f32_operand(0, 2, 2, 3, 1, 1), f32_operand(1, 2, 2, 3, 1, 1), f32_operand(2, 1, 3, 1, 1, 1);
      f32_operand(3, 2, 2, 3, 1, 1);
      MUTATE;
      portops_operand weight = portops_tensor(inputs[2]);
      weight.number = number;
      portops_lerp_options options = PORTOPS_LERP_DEFAULTS;
      RESIZE(options);
      return portops_lerp(ctx, inputs[0], inputs[1], weight, outputs[3], &options);
    }
    case 1: {
      f32_operand(0, 2, 2, 3, 1, 1), f32_operand(1, 1, 3, 1, 1, 1), f32_operand(2, 1, 1, 1, 1, 1);
      f32_operand(3, 2, 2, 3, 1, 1), f32_operand(4, 2, 2, 3, 1, 1), f32_operand(5, 1, 3, 1, 1, 1);
      f32_operand(6, 1, 1, 1, 1, 1);
      MUTATE;
      return portops_lerp_grad(ctx, inputs[0], inputs[1], portops_tensor(inputs[2]), inputs[3], outputs[4], outputs[5],
                               outputs[6], NULL);
    }
#endif
#ifdef PORTOPS_P_NORM_DEFAULTS
    case 2: {
      f32_operand(0, 3, 2, 3, 2, 1), f32_operand(1, 1, 3, 1, 1, 1);
      integers[0] = 0, integers[1] = -1;
      MUTATE;
      portops_p_norm_options options = PORTOPS_P_NORM_DEFAULTS;
      options.porder = number, options.axis = integer_list, options.axis_count = integer_count,
      options.keepdim = boolean;
      RESIZE(options);
      return portops_p_norm(ctx, inputs[0], outputs[1], &options);
    }
#endif
#ifdef PORTOPS_CONCAT_DEFAULTS
    case 3: {
      f32_operand(0, 2, 2, 3, 1, 1), f32_operand(1, 2, 2, 1, 1, 1), f32_operand(2, 2, 2, 4, 1, 1);
      integer = 1;
      MUTATE;
      portops_concat_options options = PORTOPS_CONCAT_DEFAULTS;
      options.axis = integer;
      RESIZE(options);
      return portops_concat(ctx, below(20) == 0 ? NULL : inputs, item_count, outputs[2], &options);
    }
#endif
#ifdef PORTOPS_SPLIT_DEFAULTS
    case 4: {
      f32_operand(0, 2, 2, 3, 1, 1), f32_operand(1, 2, 2, 1, 1, 1), f32_operand(2, 2, 2, 4, 1, 1);
      integer = 1, integers[0] = 3, integers[1] = -1;
      MUTATE;
      portops_split_options options = PORTOPS_SPLIT_DEFAULTS;
      options.axis = integer;
      RESIZE(options);
      return portops_split(ctx, inputs[2], outputs, item_count, integer_list, integer_count, &options);
    }
#endif
#ifdef PORTOPS_RESHAPE_DEFAULTS
    case 5: {
      f32_operand(0, 2, 2, 3, 1, 1), f32_operand(1, 2, 3, 2, 1, 1);
      integers[0] = 3, integers[1] = -1;
      MUTATE;
      return portops_reshape(ctx, inputs[0], outputs[1], integer_list, integer_count, NULL);
    }
#endif
#ifdef PORTOPS_TRACE_DEFAULTS
    case 6: {
      f32_operand(0, 3, 3, 2, 3, 1), f32_operand(1, 1, 3, 1, 1, 1);
      integer = 0;
      MUTATE;
      portops_trace_options options = PORTOPS_TRACE_DEFAULTS;
      options.offset = integer;
      if (below(4) == 0) options.axis2 = integers[0];
      RESIZE(options);
      return portops_trace(ctx, inputs[0], outputs[1], &options);
    }
#endif
#ifdef PORTOPS_SEQUENCE_POOL_DEFAULTS
    case 7: {
      f32_operand(0, 2, 4, 2, 1, 1), f32_operand(1, 2, 3, 2, 1, 1);
      operand(2, 1, 2, 3, 2, 1, 1);
      text = "max";
      MUTATE;
      portops_sequence_pool_options options = PORTOPS_SEQUENCE_POOL_DEFAULTS;
      options.pooltype = text, options.pad_value = number;
      RESIZE(options);
      return portops_sequence_pool(ctx, inputs[0], levels[0], outputs[1], below(2) == 0 ? outputs[2] : NULL, &options);
    }
#endif
#ifdef PORTOPS_SEQUENCE_EXPAND_DEFAULTS
    case 8: {
      f32_operand(0, 2, 4, 2, 1, 1), f32_operand(1, 2, 2, 2, 1, 1);
      integer = -1;
      MUTATE;
      portops_sequence_expand_options options = PORTOPS_SEQUENCE_EXPAND_DEFAULTS;
      options.ref_level = integer;
      RESIZE(options);
      return portops_sequence_expand(ctx, inputs[0], levels[0], levels[1], outputs[1], &options);
    }
#endif
#ifdef PORTOPS_SEQUENCE_CONCAT_DEFAULTS
    case 9: {
      f32_operand(0, 2, 4, 2, 1, 1), f32_operand(1, 2, 3, 2, 1, 1), f32_operand(2, 2, 7, 2, 1, 1);
      MUTATE;
      return portops_sequence_concat(ctx, inputs, item_count, below(20) == 0 ? NULL : levels, outputs[2], NULL);
    }
#endif
#ifdef PORTOPS_MERGE_ROWS_DEFAULTS
    case 10: {
      operand(0, 1, 1, 3, 1, 1, 1), f32_operand(1, 2, 3, 2, 1, 1), operand(2, 1, 1, 3, 1, 1, 1),
          f32_operand(3, 2, 3, 2, 1, 1);
      operand(4, 1, 0, 1, 1, 1, 1);
      integer = 4;
      MUTATE;
      return portops_merge_rows(ctx, inputs[0], inputs[1], outputs[2], outputs[3], outputs[4], integer, NULL);
    }
#endif
#ifdef PORTOPS_SPARSE_ADAM_DEFAULTS
    case 11: {
      f32_operand(0, 2, 4, 2, 1, 1), operand(1, 1, 1, 3, 1, 1, 1), f32_operand(2, 2, 3, 2, 1, 1);
      for (size_t i = 3; i < 8; ++i) f32_operand(i, 2, 4, 2, 1, 1);
      operand(8, 1, 0, 1, 1, 1, 1);
      MUTATE;
      portops_sparse_adam_options options = PORTOPS_SPARSE_ADAM_DEFAULTS;
      options.count = below(2) == 0 ? inputs[8] : NULL, options.epsilon = number;
      RESIZE(options);
      return portops_sparse_adam(ctx, inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], outputs[5], outputs[6],
                                 outputs[7], 0.1, number, 0.9, &options);
    }
#endif
#ifdef PORTOPS_DEFORM_CONV2D_DEFAULTS
    case 12: {
      f32_operand(0, 4, 1, 2, 3, 3), f32_operand(1, 4, 1, 8, 2, 2), f32_operand(2, 4, 2, 2, 2, 2);
      f32_operand(3, 4, 1, 4, 2, 2), f32_operand(4, 1, 2, 1, 1, 1), f32_operand(5, 4, 1, 2, 2, 2);
      integers[0] = integers[1] = integer = 1;
      MUTATE;
      portops_deform_conv2d_options options = PORTOPS_DEFORM_CONV2D_DEFAULTS;
      options.mask = inputs[3], options.bias = inputs[4];
      int64_t* const settings[] = {&options.groups, &options.deformable_groups, &options.im2col_step};
      *ONE_OF(settings) = integer;
      switch (below(4)) {
        case 0: options.stride = integer_list, options.stride_count = integer_count; break;
        case 1: options.padding = integer_list, options.padding_count = integer_count; break;
        case 2: options.dilation = integer_list, options.dilation_count = integer_count; break;
        default: break;
      }
      RESIZE(options);
      return portops_deform_conv2d(ctx, inputs[0], inputs[1], inputs[2], outputs[5], &options);
    }
#endif
    case 13: {  // by name, with arguments of any operator
      static const char* const names[] = {"x",     "y",        "weight", "out", "rows", "values",
                                          "count", "sections", "axis",   "no",  NULL};
      static const char* const operators[] = {
          "lerp",    "add",  "concat", "split", "p_norm", "merge_rows", "sequence_pool", "sequence_concat",
          "reshape", "none", "",       NULL};
      portops_arguments arguments = live_arguments;
      for (size_t i = 0; i < 4; ++i) f32_operand(i, 2, 2, 3, 1, 1);
      MUTATE;
      if (below(20) == 0) arguments = (portops_arguments)(void*)ctx;
      for (size_t i = 0; i < 4; ++i) portops_arguments_set_tensor(arguments, names[i], inputs[i]);
      for (size_t i = below(4); i > 0; --i) {
        const char* name = ONE_OF(names);
        const size_t at = below(4);
        switch (below(9)) {
          case 0: portops_arguments_set_integer(arguments, name, integer); break;
          case 1: portops_arguments_set_number(arguments, name, number); break;
          case 2: portops_arguments_set_boolean(arguments, name, boolean); break;
          case 3: portops_arguments_set_integers(arguments, name, integer_list, integer_count); break;
          case 4: portops_arguments_set_text(arguments, name, text); break;
          case 5: portops_arguments_set_levels(arguments, name, levels[0]); break;
          case 6: portops_arguments_set_list(arguments, name, inputs, item_count); break;
          case 7: portops_arguments_set_list_levels(arguments, name, levels, item_count); break;
          default: portops_arguments_set_tensor(arguments, name, inputs[at]);
        }
      }
      portops_inferred inferred = NULL;
      if (portops_infer(ONE_OF(operators), arguments, &inferred) == PORTOPS_OK) {
        int64_t shape[PORTOPS_MAX_NDIM];
        portops_levels found = NULL;
        portops_inferred_shape(inferred, "out", item_count, shape);
        portops_inferred_levels(inferred, "out", 0, &found);
        CHECK_OK(portops_levels_destroy(found));
        CHECK_OK(portops_inferred_destroy(inferred));
      }
      const portops_status status = portops_run(ctx, ONE_OF(operators), arguments);
      if (below(2) == 0) {
        CHECK_OK(portops_arguments_destroy(live_arguments));
        CHECK_OK(portops_arguments_create(&live_arguments));
      }
      return status;
    }
    case 14: {
      MUTATE;
      portops_levels made = NULL;
      const int64_t* lists[2] = {integer_list, integers};
      const size_t counts[2] = {integer_count, below(5)};
      const portops_status status =
          below(2) == 0 ? portops_levels_create(item_count > 2 ? SIZE_MAX : item_count, lists, counts, &made)
                        : portops_levels_create_from_lengths(integer_list, integer_count, &made);
      int64_t items = 0;
      const portops_status asked = portops_levels_items(made, (int32_t)integer, &items);
      CHECK(asked == PORTOPS_OK || status != PORTOPS_OK || asked == PORTOPS_ERROR_CALL);
      CHECK_OK(portops_levels_destroy(made));
      return status;
    }
    default: return PORTOPS_OK;
  }
}

/// The argument is the number of calls, where it is to be another one.
int main(int argc, char** argv) {
  const size_t rounds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : calls;
  need_f32_on_host();
  live_ctx = host_context();
  stale_ctx = host_context();
  CHECK_OK(portops_context_destroy(stale_ctx));
  const int64_t lengths[2][3] = {{2, 0, 2}, {1, 2, 0}};
  for (size_t i = 0; i < 2; ++i) CHECK_OK(portops_levels_create_from_lengths(lengths[i], 3, &live_levels[i]));
  CHECK_OK(portops_levels_create_from_lengths(lengths[0], 3, &stale_levels));
  CHECK_OK(portops_levels_destroy(stale_levels));
  CHECK_OK(portops_arguments_create(&live_arguments));
  for (size_t i = 0; i < tensor_count; ++i) {
    operands[i].buffer = (char*)calloc(2, half_bytes);
    CHECK(operands[i].buffer != NULL);
    f32_operand(i, 1, 1, 1, 1, 1);
  }
  size_t found[5] = {0};
  size_t made[15] = {0};
  size_t accepted[15] = {0};
  for (size_t i = 0; i < rounds; ++i) {
    ctx = live_ctx;
    for (size_t k = 0; k < tensor_count; ++k) inputs[k] = outputs[k] = &operands[k].tensor;
    for (size_t k = 0; k < 2; ++k) levels[k] = live_levels[k];
    for (size_t k = 0; k < 4; ++k) integers[k] = (int64_t)below(4);
    number = 0.5, integer = 1, integer_list = integers, integer_count = 2, item_count = 2, text = NULL, size_change = 1;
    boolean = below(40) == 0 ? ONE_OF(absurd) : 0;
    const size_t which = below(COUNT_OF(made));
    const portops_status status = call(which);
    CHECK(status >= PORTOPS_OK && status <= PORTOPS_ERROR_MEMORY);  // none is unexpected
    CHECK(status == PORTOPS_OK || strlen(portops_last_error()) > 20);
    CHECK_OK(portops_context_fence(live_ctx));
    ++found[status], ++made[which], accepted[which] += status == PORTOPS_OK;
  }
  printf("accepted %zu, refused %zu, for their handles %zu\n", found[0], found[1], found[2]);
  for (size_t i = 0; i < COUNT_OF(made); ++i) {
    CHECK(made[i] > 0 && (accepted[i] > 0 || i == 13));  // by name, operators may be left out
  }
  CHECK(found[1] > 100 && found[2] > 100);
  for (size_t i = 0; i < tensor_count; ++i) free(operands[i].buffer);
  return 0;
}
