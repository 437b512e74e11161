// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "all_families.hpp"

#include <portops/core/runtime.hpp>
#include <portops/ops/adam.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/count_nonfinite.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/divide.hpp>
#include <portops/ops/dropout.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/embedding_sparse_gradient.hpp>
#include <portops/ops/full_like.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/hard_sigmoid.hpp>
#include <portops/ops/hard_swish.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/p_norm.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sequence_concat.hpp>
#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sequence_softmax.hpp>
#include <portops/ops/sequence_unpad.hpp>
#include <portops/ops/sgd.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/subtract.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/tanh.hpp>
#include <portops/ops/trace.hpp>
#include <portops/ops/transpose.hpp>
#include <portops/ops/update_loss_scale.hpp>

#include <limits>

namespace portops::test {
namespace {

/// Long enough to be cut into pieces, short, and without rows.
const std::vector<std::int64_t> lengths{0, 1500, 3, 1, 0, 120, 40, 0};
constexpr std::int64_t sequences = 8;
constexpr std::int64_t steps = 1664;
constexpr std::int64_t height = 50;

double pattern(std::int64_t i, int salt) { return static_cast<double>((i * 37 + salt * 11) % 101) / 16.0 - 3.0; }

}  // namespace

AllFamilies::AllFamilies(const Context& ctx, int salt) : salt_(salt) {
  make_elementwise(ctx);
  make_activations(ctx);
  make_norms(ctx);
  make_lists(ctx);
  make_products(ctx);
  make_convolutions(ctx, "f32.", ElementType::f32);
  make_convolutions(ctx, "f64.", ElementType::f64);
  make_sequences(ctx);
  make_sparse_rows(ctx);
  forget(ctx);
}

Levels AllFamilies::make_levels() { return Levels::from_lengths(lengths); }

void AllFamilies::call(const Context& ctx, const Levels& levels) const {
  call_elementwise(ctx);
  call_activations(ctx);
  call_norms(ctx);
  call_lists(ctx);
  call_products(ctx);
  call_convolutions(ctx, "f32.");
  call_convolutions(ctx, "f64.");
  call_sequences(ctx, levels);
  call_sparse_rows(ctx);
}

void AllFamilies::forget(const Context& ctx) {
  for (const std::string& name : outputs_) {
    const TensorRef& tensor = at(name);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.size()) * size_of(tensor.type()), std::byte{0x5c});
    copy(ctx, TensorRef(bytes.data(), tensor.type(), tensor.extents(), tensor.strides(), MemorySpace::host), tensor);
    ctx.fence();
  }
}

std::vector<std::byte> AllFamilies::results(const Context& ctx) const {
  std::vector<std::byte> all;
  for (const std::string& name : outputs_) {
    const TensorRef& tensor = at(name);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.size()) * size_of(tensor.type()));
    copy(ctx, tensor, TensorRef(bytes.data(), tensor.type(), tensor.extents(), tensor.strides(), MemorySpace::host));
    ctx.fence();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

const TensorRef& AllFamilies::add(const Context& ctx, const std::string& name, ElementType type,
                                  const Extents& extents) {
  return (tensors_[name] = Tensor(type, extents, default_memory_space(ctx.backend()))).ref();
}

void AllFamilies::input(const Context& ctx, const std::string& name, const Extents& extents, ElementType type) {
  const TensorRef& tensor = add(ctx, name, type, extents);
  const auto fill = [&]<class T>(T) {
    std::vector<T> values(static_cast<std::size_t>(tensor.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(pattern(static_cast<std::int64_t>(i), salt_ + static_cast<int>(name.size())));
    }
    copy(ctx, TensorRef(values.data(), extents), tensor);
    ctx.fence();
  };
  type == ElementType::f64 ? fill(double{}) : fill(float{});
}

void AllFamilies::index_input(const Context& ctx, const std::string& name, const Extents& extents, std::int64_t most) {
  const TensorRef& tensor = add(ctx, name, ElementType::i64, extents);
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i * 7 + 3) % most;
  copy(ctx, TensorRef(values.data(), extents), tensor);
  ctx.fence();
}

void AllFamilies::output(const Context& ctx, const std::string& name, const Extents& extents, ElementType type) {
  add(ctx, name, type, extents);
  outputs_.push_back(name);
}

// --- element-wise operators, reductions --------------------------------------------------------------------

void AllFamilies::make_elementwise(const Context& ctx) {
  for (const char* name : {"x", "out_grad"}) input(ctx, name, {257, 301});
  input(ctx, "row", {301});
  input(ctx, "column", {257, 1});
  for (const char* name : {"lerp", "lerp_x", "add", "add_x", "p2_x", "pinf_x", "trace_x", "mean_x", "rows_softmax",
                           "rows_softmax_grad", "columns_softmax", "cross_entropy_x"})
    output(ctx, name, {257, 301});
  for (const char* name : {"lerp_row", "add_row", "p1.7", "mean"}) output(ctx, name, {301});
  output(ctx, "lerp_column", {257, 1});
  for (const char* name : {"p2", "pinf"}) output(ctx, name, {257});
  for (const char* name : {"subtract", "subtract_x", "multiply", "multiply_x", "divide", "divide_x", "dropout",
                           "dropout_x", "full_like", "slice_x"}) {
    output(ctx, name, {257, 301});
  }
  for (const char* name : {"subtract_row", "multiply_row", "divide_row"}) output(ctx, name, {301});
  output(ctx, "slice", {128, 301});
  for (const char* name : {"reshape", "transpose"}) output(ctx, name, {301, 257});
  output(ctx, "transpose_x", {257, 301});
  for (const char* name : {"pool_max", "pool_avg"}) output(ctx, name, {1, 1, 129, 151});
  output(ctx, "pool_index", {1, 1, 129, 151}, ElementType::i64);
  for (const char* name : {"pool_max_x", "pool_avg_x"}) output(ctx, name, {1, 1, 257, 301});
  output(ctx, "pool_mean", {1, 1, 1, 1});
  index_input(ctx, "label", {257}, 301);
  output(ctx, "cross_entropy", {});
  output(ctx, "log_sum_exp", {257}, ElementType::f64);
  output(ctx, "label_count", {}, ElementType::i64);
  output(ctx, "trace", {});
  output(ctx, "sum", {});
}

void AllFamilies::call_elementwise(const Context& ctx) const {
  lerp(ctx, at("x"), at("row"), at("column"), at("lerp"));
  lerp_grad(ctx, at("x"), at("row"), at("column"), at("out_grad"), at("lerp_x"), at("lerp_row"), at("lerp_column"));
  portops::add(ctx, at("x"), at("row"), at("add"));
  add_grad(ctx, at("x"), at("row"), at("out_grad"), at("add_x"), at("add_row"));
  subtract(ctx, at("x"), at("row"), at("subtract"));
  subtract_grad(ctx, at("x"), at("row"), at("out_grad"), at("subtract_x"), at("subtract_row"));
  multiply(ctx, at("x"), at("row"), at("multiply"));
  multiply_grad(ctx, at("x"), at("row"), at("out_grad"), at("multiply_x"), at("multiply_row"));
  divide(ctx, at("x"), at("row"), at("divide"));
  divide_grad(ctx, at("x"), at("row"), at("out_grad"), at("divide_x"), at("divide_row"));
  dropout(ctx, at("x"), at("dropout"), {.seed = 7});
  dropout_grad(ctx, at("out_grad"), at("dropout_x"), {.seed = 7});
  full_like(ctx, at("x"), 0.25, at("full_like"));
  const SliceParams every_other{.axes = {0}, .starts = {1}, .ends = {257}, .strides = {2}};
  slice(ctx, at("x"), at("slice"), every_other);
  slice_grad(ctx, at("x"), at("slice"), at("slice_x"), every_other);
  transpose(ctx, at("x"), at("transpose"), {{1, 0}});
  transpose_grad(ctx, at("x"), at("transpose"), at("transpose_x"), {{1, 0}});
  reshape(ctx, at("x"), at("reshape"), {.shape = {301, 257}});
  trace(ctx, at("x"), at("trace"));
  trace_grad(ctx, at("x"), at("trace"), at("trace_x"));
  sum(ctx, at("x"), at("sum"));
  mean(ctx, at("x"), at("mean"), {{0}});
  mean_grad(ctx, at("x"), at("mean"), at("mean_x"), {{0}});
  softmax(ctx, at("x"), at("rows_softmax"));
  softmax_grad(ctx, at("x"), at("rows_softmax"), at("out_grad"), at("rows_softmax_grad"));
  softmax(ctx, at("x"), at("columns_softmax"), {0});
  cross_entropy_with_softmax(ctx, at("x"), at("label"), at("cross_entropy"), at("log_sum_exp"), at("label_count"));
  cross_entropy_with_softmax_grad(ctx, at("x"), at("label"), at("log_sum_exp"), at("label_count"), at("cross_entropy"),
                                  at("cross_entropy_x"));
  Pool2dParams pool{.kernel_size = {3}, .stride = {2}, .padding = {1}};
  const TensorRef image = *reshaped(at("x"), {1, 1, 257, 301});
  pool2d(ctx, image, at("pool_max"), at("pool_index"), pool);
  pool.index = at("pool_index");
  pool2d_grad(ctx, image, at("pool_max"), at("pool_max_x"), pool);
  pool = {.kernel_size = {3}, .stride = {2}, .padding = {1}, .pooltype = "avg"};
  pool2d(ctx, image, at("pool_avg"), {}, pool);
  pool2d_grad(ctx, image, at("pool_avg"), at("pool_avg_x"), pool);
  pool2d(ctx, image, at("pool_mean"), {}, {.pooltype = "avg", .global_pooling = true});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  p_norm(ctx, at("x"), at("p1.7"), {.porder = 1.7, .axis = {0}});
  p_norm(ctx, at("x"), at("p2"));
  p_norm_grad(ctx, at("x"), at("p2"), at("p2"), at("p2_x"));
  p_norm(ctx, at("x"), at("pinf"), {.porder = infinity});
  p_norm_grad(ctx, at("x"), at("pinf"), at("p2"), at("pinf_x"), {.porder = infinity});
}

void AllFamilies::make_activations(const Context& ctx) {
  for (const char* name : {"relu", "clip", "gelu", "silu", "sigmoid", "tanh", "hard_sigmoid", "hard_swish"}) {
    output(ctx, std::string("act.") + name, {257, 301});
    output(ctx, std::string("act.") + name + "_x", {257, 301});
  }
}

void AllFamilies::call_activations(const Context& ctx) const {
  const TensorRef &x = at("x"), &out_grad = at("out_grad");
  relu(ctx, x, at("act.relu"));
  relu_grad(ctx, at("act.relu"), out_grad, at("act.relu_x"));
  clip(ctx, x, at("act.clip"), {.min = -1.0, .max = 2.0});
  clip_grad(ctx, x, out_grad, at("act.clip_x"), {.min = -1.0, .max = 2.0});
  gelu(ctx, x, at("act.gelu"));
  gelu_grad(ctx, x, out_grad, at("act.gelu_x"), {.approximate = "tanh"});
  silu(ctx, x, at("act.silu"));
  silu_grad(ctx, x, out_grad, at("act.silu_x"));
  sigmoid(ctx, x, at("act.sigmoid"));
  sigmoid_grad(ctx, at("act.sigmoid"), out_grad, at("act.sigmoid_x"));
  tanh(ctx, x, at("act.tanh"));
  tanh_grad(ctx, at("act.tanh"), out_grad, at("act.tanh_x"));
  hard_sigmoid(ctx, x, at("act.hard_sigmoid"));
  hard_sigmoid_grad(ctx, at("act.hard_sigmoid"), out_grad, at("act.hard_sigmoid_x"));
  hard_swish(ctx, x, at("act.hard_swish"));
  hard_swish_grad(ctx, x, out_grad, at("act.hard_swish_x"));
}

// --- normalisation -----------------------------------------------------------------------------------------

void AllFamilies::make_norms(const Context& ctx) {
  for (const char* name : {"layer_scale", "layer_shift"}) input(ctx, name, {301});
  for (const char* name : {"layer_norm", "layer_norm_x"}) output(ctx, name, {257, 301});
  for (const char* name : {"layer_mean", "layer_inv_std"}) output(ctx, name, {257});
  for (const char* name : {"layer_scale_grad", "layer_shift_grad"}) output(ctx, name, {301});
  input(ctx, "images", {4, 7, 40, 50});
  for (const char* name : {"batch_scale", "batch_shift", "running_mean"}) input(ctx, name, {7});
  for (const char* name : {"batch_norm", "batch_norm_x"}) output(ctx, name, {4, 7, 40, 50});
  for (const char* name :
       {"batch_mean", "batch_inv_std", "mean_out", "variance_out", "batch_scale_grad", "batch_shift_grad"}) {
    output(ctx, name, {7});
  }
}

void AllFamilies::call_norms(const Context& ctx) const {
  const LayerNormParams layer{.scale = at("layer_scale"), .bias = at("layer_shift")};
  layer_norm(ctx, at("x"), at("layer_norm"), at("layer_mean"), at("layer_inv_std"), layer);
  layer_norm_grad(ctx, at("x"), at("layer_mean"), at("layer_inv_std"), at("out_grad"), at("layer_norm_x"),
                  at("layer_scale_grad"), at("layer_shift_grad"), layer);
  const BatchNormParams batch{.scale = at("batch_scale"), .bias = at("batch_shift")};
  batch_norm(ctx, at("images"), at("running_mean"), at("running_mean"), at("batch_norm"), at("batch_mean"),
             at("batch_inv_std"), at("mean_out"), at("variance_out"), batch);
  batch_norm_grad(ctx, at("images"), at("batch_mean"), at("batch_inv_std"), at("batch_norm"), at("batch_norm_x"),
                  at("batch_scale_grad"), at("batch_shift_grad"), batch);
}

// --- lists -------------------------------------------------------------------------------------------------

void AllFamilies::make_lists(const Context& ctx) {
  for (const char* part : {"a", "b", "c"}) {
    input(ctx, part, {40, 17});
    output(ctx, std::string("square_") + part, {40, 17});
    output(ctx, std::string("part_") + part, {40, 17});
  }
  for (const char* moment : {"a_moment", "b_moment", "c_moment"}) output(ctx, moment, {40, 17});
  for (const char* stepped : {"a_stepped", "b_stepped", "c_stepped", "a_sgd", "b_sgd", "c_sgd", "a_adam", "b_adam",
                              "c_adam", "a_adam1", "b_adam1", "c_adam1", "a_adam2", "b_adam2", "c_adam2"}) {
    output(ctx, stepped, {40, 17});
  }
  output(ctx, "nonfinite", {}, ElementType::i64);
  input(ctx, "loss_scale", {});
  index_input(ctx, "good_steps", {}, 5);
  for (const char* scale : {"scale_out", "grad_scale"}) output(ctx, scale, {});
  for (const char* number : {"good_steps_out", "skip"}) output(ctx, number, {}, ElementType::i64);
  output(ctx, "concat", {40, 51});
  output(ctx, "split_grad", {40, 51});
}

void AllFamilies::call_lists(const Context& ctx) const {
  const std::vector<TensorRef> x{at("a"), at("b"), at("c")};
  const std::vector<TensorRef> parts{at("part_a"), at("part_b"), at("part_c")};
  concat(ctx, x, at("concat"), {.axis = 1});
  split(ctx, at("concat"), parts, {.sections = {17, -1, 17}, .axis = 1});
  split_grad(ctx, parts, at("split_grad"), {.sections = {17, -1, 17}, .axis = 1});
  concat_grad(ctx, x, at("split_grad"), parts, {.axis = 1});
  const std::vector<TensorRef> moments{at("a_moment"), at("b_moment"), at("c_moment")};
  const std::vector<TensorRef> stepped{at("a_stepped"), at("b_stepped"), at("c_stepped")};
  momentum(ctx, x, parts, x, 0.25, stepped, moments, {}, {.use_nesterov = true});
  const std::vector<TensorRef> descended{at("a_sgd"), at("b_sgd"), at("c_sgd")};
  count_nonfinite(ctx, parts, at("nonfinite"));
  const TensorRef counts[] = {at("nonfinite")};
  update_loss_scale(ctx, at("loss_scale"), at("good_steps"), counts, at("scale_out"), at("good_steps_out"),
                    at("grad_scale"), at("skip"));
  sgd(ctx, x, parts, 0.25, descended, {}, {.grad_scale = at("grad_scale"), .skip = at("skip")});
  const std::vector<TensorRef> adam_out{at("a_adam"), at("b_adam"), at("c_adam")};
  const std::vector<TensorRef> first{at("a_adam1"), at("b_adam1"), at("c_adam1")};
  const std::vector<TensorRef> second{at("a_adam2"), at("b_adam2"), at("c_adam2")};
  const std::vector<TensorRef> squares{at("square_a"), at("square_b"), at("square_c")};
  for (std::size_t i = 0; i < squares.size(); ++i) multiply(ctx, x[i], x[i], squares[i]);
  adam(ctx, x, parts, x, squares, 1e-3, 0.9, 0.999, adam_out, first, second, {}, {}, {});
}

// --- products ----------------------------------------------------------------------------------------------

void AllFamilies::make_products(const Context& ctx) {
  input(ctx, "left", {2, 66, 130});
  input(ctx, "right", {130, 70});
  input(ctx, "vector", {130});
  input(ctx, "layer_bias", {70});
  for (const char* name : {"matmul", "linear"}) output(ctx, name, {2, 66, 70});
  output(ctx, "matmul_vector", {2, 66});
  for (const char* name : {"matmul_left", "linear_left", "vector_left"}) output(ctx, name, {2, 66, 130});
  for (const char* name : {"matmul_right", "linear_right"}) output(ctx, name, {130, 70});
  output(ctx, "vector_right", {130});
  output(ctx, "linear_bias", {70});
}

void AllFamilies::call_products(const Context& ctx) const {
  matmul(ctx, at("left"), at("right"), at("matmul"));
  matmul_grad(ctx, at("left"), at("right"), at("matmul"), at("matmul_left"), at("matmul_right"));
  matmul(ctx, at("left"), at("vector"), at("matmul_vector"));
  matmul_grad(ctx, at("left"), at("vector"), at("matmul_vector"), at("vector_left"), at("vector_right"));
  linear(ctx, at("left"), at("right"), at("linear"), {at("layer_bias")});
  linear_grad(ctx, at("left"), at("right"), at("linear"), at("linear_left"), at("linear_right"), at("linear_bias"));
}

// --- convolutions ------------------------------------------------------------------------------------------

void AllFamilies::make_convolutions(const Context& ctx, const std::string& prefix, ElementType type) {
  const Extents x{2, 32, 9, 10}, offset{2, 18, 9, 10}, mask{2, 9, 9, 10}, weight{64, 32, 3, 3}, out{2, 64, 9, 10};
  input(ctx, prefix + "x", x, type);
  input(ctx, prefix + "offset", offset, type);
  input(ctx, prefix + "mask", mask, type);
  input(ctx, prefix + "weight", weight, type);
  input(ctx, prefix + "bias", {64}, type);
  output(ctx, prefix + "out", out, type);
  output(ctx, prefix + "x_grad", x, type);
  output(ctx, prefix + "offset_grad", offset, type);
  output(ctx, prefix + "mask_grad", mask, type);
  output(ctx, prefix + "weight_grad", weight, type);
  output(ctx, prefix + "bias_grad", {64}, type);
  output(ctx, prefix + "conv_out", {2, 64, 5, 5}, type);
  output(ctx, prefix + "conv_x_grad", x, type);
  output(ctx, prefix + "conv_weight_grad", weight, type);
}

void AllFamilies::call_convolutions(const Context& ctx, const std::string& prefix) const {
  const auto of = [&](const char* name) { return at(prefix + name); };
  const DeformConv2dParams params{.mask = of("mask"), .bias = of("bias"), .padding = {1, 1}};
  deform_conv2d(ctx, of("x"), of("offset"), of("weight"), of("out"), params);
  deform_conv2d_grad(ctx, of("x"), of("offset"), of("weight"), of("out"), of("x_grad"), of("offset_grad"),
                     of("weight_grad"), of("mask_grad"), of("bias_grad"), params);
  const Conv2dParams strides{.bias = of("bias"), .stride = {2, 2}, .padding = {1, 1}};
  conv2d(ctx, of("x"), of("weight"), of("conv_out"), strides);
  conv2d_grad(ctx, of("x"), of("weight"), of("conv_out"), of("conv_x_grad"), of("conv_weight_grad"), {}, strides);
}

// --- sequences ---------------------------------------------------------------------------------------------

void AllFamilies::make_sequences(const Context& ctx) {
  for (const char* name : {"steps", "more_steps"}) input(ctx, name, {steps, 6});
  for (const char* name : {"means", "largest", "expand_grad"}) output(ctx, name, {sequences, 6});
  output(ctx, "largest_row", {sequences, 6}, ElementType::i64);
  for (const char* name : {"means_grad", "largest_grad", "expand", "unpad", "softmax", "softmax_grad", "reverse",
                           "first_of_concat", "second_of_concat"}) {
    output(ctx, name, {steps, 6});
  }
  output(ctx, "pad", {sequences, 1500, 6});
  output(ctx, "pad_length", {sequences}, ElementType::i64);
  output(ctx, "steps_concat", {2 * steps, 6});
}

void AllFamilies::call_sequences(const Context& ctx, const Levels& levels) const {
  const RaggedRef x{at("steps"), levels}, more{at("more_steps"), levels};
  sequence_pool(ctx, x, at("means"));
  sequence_pool_grad(ctx, x, at("means"), at("means_grad"));
  sequence_pool(ctx, x, at("largest"), at("largest_row"), {.pooltype = "max"});
  sequence_pool_grad(ctx, x, at("means"), at("largest_grad"), {.index = at("largest_row"), .pooltype = "max"});
  sequence_expand(ctx, {at("means"), {}}, levels, at("expand"));
  sequence_expand_grad(ctx, {at("means"), {}}, levels, at("expand"), at("expand_grad"));
  sequence_pad(ctx, x, at("pad"), at("pad_length"), {.pad_value = 0.5});
  sequence_unpad(ctx, at("pad"), levels, at("unpad"));
  sequence_softmax(ctx, x, at("softmax"));
  sequence_softmax_grad(ctx, x, at("softmax"), at("more_steps"), at("softmax_grad"));
  sequence_reverse(ctx, x, at("reverse"));
  const std::vector<RaggedRef> both{x, more};
  const std::vector<TensorRef> back{at("first_of_concat"), at("second_of_concat")};
  sequence_concat(ctx, both, at("steps_concat"));
  sequence_concat_grad(ctx, both, at("steps_concat"), back);
}

// --- sparse rows -------------------------------------------------------------------------------------------

void AllFamilies::make_sparse_rows(const Context& ctx) {
  index_input(ctx, "rows", {400}, height);
  input(ctx, "values", {400, 12});
  for (const char* name : {"param", "velocity", "moment1"}) input(ctx, name, {height, 12});
  output(ctx, "merged_rows", {400}, ElementType::i64);
  output(ctx, "merged_values", {400, 12});
  output(ctx, "count", {}, ElementType::i64);
  for (const char* name : {"sgd", "momentum", "momentum_velocity", "adam", "adam_moment1", "adam_moment2"}) {
    output(ctx, name, {height, 12});
  }
  output(ctx, "embedding", {400, 12});
  output(ctx, "embedding_weight", {height, 12});
  output(ctx, "embedding_rows", {400}, ElementType::i64);
  output(ctx, "embedding_values", {400, 12});
  output(ctx, "embedding_count", {}, ElementType::i64);
  tensors_["moment2"] = Tensor(ElementType::f32, {height, 12}, default_memory_space(ctx.backend()));
  const std::vector<float> ones(static_cast<std::size_t>(height * 12), 1.0f);
  copy(ctx, TensorRef(ones.data(), {height, 12}), at("moment2"));
  ctx.fence();
}

void AllFamilies::call_sparse_rows(const Context& ctx) const {
  merge_rows(ctx, at("rows"), at("values"), at("merged_rows"), at("merged_values"), at("count"), {.height = height});
  sparse_sgd(ctx, at("param"), at("rows"), at("values"), at("sgd"), {.learning_rate = 0.1});
  sparse_momentum(ctx, at("param"), at("rows"), at("values"), at("velocity"), at("momentum"), at("momentum_velocity"),
                  {.learning_rate = 0.1});
  sparse_adam(ctx, at("param"), at("rows"), at("values"), at("moment1"), at("moment2"), at("adam"), at("adam_moment1"),
              at("adam_moment2"), {.learning_rate = 1e-3, .beta1_pow = 0.9, .beta2_pow = 0.999});
  embedding(ctx, at("param"), at("rows"), at("embedding"));
  embedding_grad(ctx, at("param"), at("rows"), at("values"), at("embedding_weight"), {.padding_idx = 3});
  embedding_sparse_gradient(ctx, at("param"), at("rows"), at("values"), at("embedding_rows"), at("embedding_values"),
                            at("embedding_count"), {.padding_idx = 3});
}

}  // namespace portops::test
