// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/call_writer.hpp"
#include "graph/onnx/elements.hpp"
#include "graph/onnx/own.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

// Calls as nodes of ONNX' operators, of operator set 22.

namespace portops::impl {

using Integers = std::vector<std::int64_t>;

namespace {

std::string capitalised(std::string name) {
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

/// Whether a number that stands for an input keeps its value as a tensor of the type of x: what computes in f32 takes
/// it as one.
bool keeps_numbers(const CallWriter& writer, std::string_view input) {
  const graph::Operand& its = *writer.call().input(input);
  const ElementType type = writer.info("x").type;
  if (!its.is_number() || type == ElementType::f64 || type == ElementType::f32 || std::isnan(its.number())) return true;
  return numbers_of(converted(number_tensor(its.number()), type)).front() == its.number();
}

/// Whether an attribute of type FLOAT says the number as exactly as the call reads it.
bool fits_float(double number, ElementType type) {
  return type != ElementType::f64 || static_cast<double>(static_cast<float>(number)) == number;
}

/// Elements of a constant that a call does without and a node needs: of tensors without elements there may be any
/// number.
constexpr std::int64_t most_filled = std::int64_t{1} << 20;

Tensor filled(ElementType type, const Extents& extents, double number) {
  const Tensor wide(ElementType::f64, extents);
  std::fill_n(wide.data<double>(), wide.ref().size(), number);
  return converted(wide, type);
}

Integers in_order(int rank) {
  Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

bool write_arithmetic(CallWriter& writer) {
  if (!keeps_numbers(writer, "y")) return false;
  const std::string& op = writer.call().op;
  const std::string name = op == "add" ? "Add" : op == "subtract" ? "Sub" : op == "multiply" ? "Mul" : "Div";
  writer.node(name, {writer.in("x"), writer.in("y")}, {writer.out()});
  return true;
}

bool write_activation(CallWriter& writer) {
  onnx::NodeProto& node = writer.node(capitalised(writer.call().op), {writer.in("x")}, {writer.out()});
  if (writer.call().op == "gelu") set_text(node, "approximate", writer.attribute<std::string>("approximate"));
  return true;
}

bool write_hard_sigmoid(CallWriter& writer) {
  const auto slope = writer.attribute<double>("slope"), offset = writer.attribute<double>("offset");
  const ElementType type = writer.info("x").type;
  if (!fits_float(slope, type) || !fits_float(offset, type)) return false;
  onnx::NodeProto& node = writer.node("HardSigmoid", {writer.in("x")}, {writer.out()});
  set_number(node, "alpha", slope);
  set_number(node, "beta", offset);
  return true;
}

bool write_hard_swish(CallWriter& writer) {
  writer.node("HardSwish", {writer.in("x")}, {writer.out()});
  return true;
}

/// Bounds that are none are left out. ONNX then has the largest numbers, which bound infinities alone.
bool write_clip(CallWriter& writer) {
  const auto bound = [&](const char* name, double none) {
    const double number = writer.attribute<double>(name);
    return number == none ? "" : writer.constant(converted(number_tensor(number), writer.info("x").type), name);
  };
  std::vector<std::string> inputs{writer.in("x"), bound("min", -INFINITY), bound("max", INFINITY)};
  while (inputs.back().empty()) inputs.pop_back();
  writer.node("Clip", inputs, {writer.out()});
  return true;
}

namespace {

/// A node that exchanges an input's last two axes; its result.
std::string write_turned(CallWriter& writer, std::string_view input) {
  Integers perm = in_order(writer.info(input).extents.rank());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  const std::string turned = writer.between(input);
  set_integers(writer.node("Transpose", {writer.in(input)}, {turned}), "perm", perm);
  return turned;
}

}  // namespace

bool write_matmul(CallWriter& writer) {
  const Extents& x = writer.info("x").extents;
  const Extents& y = writer.info("y").extents;
  const bool transposes_x = writer.attribute<bool>("transpose_x") && x.rank() > 1;
  const bool transposes_y = writer.attribute<bool>("transpose_y") && y.rank() > 1;
  if (x.rank() == 2 && y.rank() == 2 && (transposes_x || transposes_y)) {
    onnx::NodeProto& node = writer.node("Gemm", {writer.in("x"), writer.in("y")}, {writer.out()});
    set_integer(node, "transA", transposes_x ? 1 : 0);
    set_integer(node, "transB", transposes_y ? 1 : 0);
    return true;
  }
  const std::string left = transposes_x ? write_turned(writer, "x") : writer.in("x");
  const std::string right = transposes_y ? write_turned(writer, "y") : writer.in("y");
  writer.node("MatMul", {left, right}, {writer.out()});
  return true;
}

/// With a bias only of matrices: a MatMul and an Add would round twice.
bool write_linear(CallWriter& writer) {
  const bool is_transposed = writer.attribute<bool>("transpose_weight"), has_bias = writer.has("bias");
  if (writer.info("x").extents.rank() == 2 && (has_bias || is_transposed)) {
    std::vector<std::string> inputs{writer.in("x"), writer.in("weight")};
    if (has_bias) inputs.push_back(writer.in("bias"));
    onnx::NodeProto& node = writer.node("Gemm", inputs, {writer.out()});
    if (is_transposed) set_integer(node, "transB", 1);
    return true;
  }
  if (has_bias && !is_transposed) return false;
  const std::string weight = is_transposed ? write_turned(writer, "weight") : writer.in("weight");
  if (has_bias) {
    // The function that says what linear computes has no attributes.
    writer.node("linear", {writer.in("x"), weight, writer.in("bias")}, {writer.out()}, own_domain);
    add_function(writer.target(), "linear");
  } else {
    writer.node("MatMul", {writer.in("x"), weight}, {writer.out()});
  }
  return true;
}

namespace {

/// One number stands for both axes.
Integers for_both(const Integers& numbers) { return numbers.size() == 1 ? Integers{numbers[0], numbers[0]} : numbers; }

/// Above, left, below, right.
Integers four_pads(const Integers& padding) {
  if (padding.size() == 4) return padding;
  const Integers both = for_both(padding);
  return {both[0], both[1], both[0], both[1]};
}

bool has_elements(const CallWriter& writer) {
  return writer.result_info().extents.product() > 0 && writer.info("x").extents.product() > 0;
}

void set_windows(CallWriter& writer, onnx::NodeProto& node) {
  const Extents& weight = writer.info("weight").extents;
  set_integers(node, "kernel_shape", {weight[2], weight[3]});
  set_integers(node, "strides", writer.integers("stride"));
  set_integers(node, "pads", four_pads(writer.integers("padding")));
  set_integers(node, "dilations", writer.integers("dilation"));
  set_integer(node, "group", writer.attribute<std::int64_t>("groups"));
}

std::vector<std::string> without_trailing(std::vector<std::string> names) {
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

}  // namespace

bool write_conv(CallWriter& writer) {
  if (!has_elements(writer)) return false;
  set_windows(writer, writer.node("Conv", without_trailing({writer.in("x"), writer.in("weight"), writer.in("bias")}),
                                  {writer.out()}));
  return true;
}

bool write_deform_conv(CallWriter& writer) {
  if (!has_elements(writer)) return false;
  onnx::NodeProto& node = writer.node("DeformConv",
                                      without_trailing({writer.in("x"), writer.in("weight"), writer.in("offset"),
                                                        writer.in("bias"), writer.in("mask")}),
                                      {writer.out()});
  set_windows(writer, node);
  set_integer(node, "offset_group", writer.attribute<std::int64_t>("deformable_groups"));
  return true;
}

bool write_pool(CallWriter& writer) {
  const bool is_max = writer.attribute<std::string>("pooltype") == "max";
  if (writer.call().output("index") != nullptr || !has_elements(writer)) return false;
  if (writer.attribute<bool>("global_pooling")) {
    writer.node(is_max ? "GlobalMaxPool" : "GlobalAveragePool", {writer.in("x")}, {writer.out()});
    return true;
  }
  const Integers kernel = for_both(writer.integers("kernel_size"));
  const Integers stride = writer.integers("stride").empty() ? kernel : for_both(writer.integers("stride"));
  const Integers pads = four_pads(writer.integers("padding"));
  const bool rounds_up = writer.attribute<bool>("ceil_mode"), counts_padding = !writer.attribute<bool>("exclusive");
  for (std::size_t i = 0; i < 2 && rounds_up; ++i) {
    // Where readers do not agree; read_pool refuses the same.
    const std::int64_t pixels = writer.info("x").extents[static_cast<int>(i) + 2];
    const std::int64_t rest = pixels + pads[i] + pads[2 + i] - kernel[i];
    if (rest < 0 || rest % stride[i] == 0) continue;
    if ((rest / stride[i] + 1) * stride[i] >= pixels + pads[i] || (!is_max && counts_padding)) return false;
  }
  onnx::NodeProto& node = writer.node(is_max ? "MaxPool" : "AveragePool", {writer.in("x")}, {writer.out()});
  set_integers(node, "kernel_shape", kernel);
  set_integers(node, "strides", stride);
  set_integers(node, "pads", pads);
  set_integer(node, "ceil_mode", rounds_up ? 1 : 0);
  if (!is_max) set_integer(node, "count_include_pad", counts_padding ? 1 : 0);
  return true;
}

bool write_batch_norm(CallWriter& writer) {
  const bool infers = writer.attribute<bool>("is_test") && writer.attribute<std::string>("data_layout") == "NCHW";
  for (const char* output : {"saved_mean", "saved_inv_std", "mean_out", "variance_out"}) {
    if (writer.is_used(output)) return false;
  }
  const graph::ValueInfo& x = writer.info("x");
  const double epsilon = writer.attribute<double>("epsilon");
  if (!infers || !fits_float(epsilon, x.type)) return false;
  const bool has_all = writer.has("scale") && writer.has("bias");
  if (!has_all && x.extents[1] > most_filled) return false;
  const auto side = [&](std::string_view name, std::string_view beside, double otherwise) {
    if (writer.has(name)) return writer.in(name);
    const ElementType type = writer.has(beside) ? writer.info(beside).type : x.type;
    return writer.constant(filled(type, {x.extents[1]}, otherwise), name);
  };
  const std::string scale = side("scale", "bias", 1.0), bias = side("bias", "scale", 0.0);
  onnx::NodeProto& node = writer.node(
      "BatchNormalization", {writer.in("x"), scale, bias, writer.in("mean"), writer.in("variance")}, {writer.out()});
  set_number(node, "epsilon", epsilon);
  return true;
}

bool write_layer_norm(CallWriter& writer) {
  const graph::ValueInfo& x = writer.info("x");
  const double epsilon = writer.attribute<double>("epsilon");
  if (writer.is_used("mean") || writer.is_used("inv_std") || !fits_float(epsilon, x.type)) return false;
  for (const char* side : {"scale", "bias"}) {
    if (writer.has(side) && writer.info(side).type != x.type) return false;
  }
  const std::int64_t given = writer.attribute<std::int64_t>("begin_norm_axis");
  const std::int64_t axis = given < 0 ? given + x.extents.rank() : given;
  const Extents normalised(std::span(x.extents.begin() + axis, x.extents.end()));
  if (!writer.has("scale") && normalised.product() > most_filled) return false;
  const std::string scale =
      writer.has("scale") ? writer.in("scale") : writer.constant(filled(x.type, normalised, 1.0), "scale");
  onnx::NodeProto& node =
      writer.node("LayerNormalization", without_trailing({writer.in("x"), scale, writer.in("bias")}), {writer.out()});
  set_integer(node, "axis", axis);
  set_number(node, "epsilon", epsilon);
  return true;
}

bool write_softmax(CallWriter& writer) {
  if (writer.info("x").extents.rank() == 0) return false;
  set_integer(writer.node("Softmax", {writer.in("x")}, {writer.out()}), "axis", writer.attribute<std::int64_t>("axis"));
  return true;
}

namespace {

void write_over_axes(CallWriter& writer, const std::string& op, const Integers& axes) {
  std::vector<std::string> inputs{writer.in("x")};
  if (!axes.empty()) inputs.push_back(writer.constant(axes, "axes"));
  set_integer(writer.node(op, inputs, {writer.out()}), "keepdims", writer.attribute<bool>("keepdim") ? 1 : 0);
}

}  // namespace

bool write_reduction(CallWriter& writer) {
  write_over_axes(writer, writer.call().op == "sum" ? "ReduceSum" : "ReduceMean", writer.integers("axis"));
  return true;
}

bool write_norm(CallWriter& writer) {
  const double order = writer.attribute<double>("porder");
  const Extents& x = writer.info("x").extents;
  if ((order != 1.0 && order != 2.0) || x.rank() == 0) return false;
  const bool takes_all = writer.attribute<bool>("asvector") || writer.integers("axis").empty();
  write_over_axes(writer, order == 1.0 ? "ReduceL1" : "ReduceL2",
                  takes_all ? in_order(x.rank()) : writer.integers("axis"));
  return true;
}

bool write_reshape(CallWriter& writer) {
  const Extents& out = writer.result_info().extents;
  // Where one extent is 0 the shape of a call says it as what the others leave; of several it cannot say all.
  if (std::count(out.begin(), out.end(), 0) > 1) return false;
  const std::string shape = writer.constant(Integers(out.begin(), out.end()), "shape");
  set_integer(writer.node("Reshape", {writer.in("x"), shape}, {writer.out()}), "allowzero", 1);
  return true;
}

bool write_transpose(CallWriter& writer) {
  Integers perm = writer.integers("perm");
  for (std::int64_t& each : perm) {
    if (each < 0) each += static_cast<std::int64_t>(perm.size());
  }
  set_integers(writer.node("Transpose", {writer.in("x")}, {writer.out()}), "perm", perm);
  return true;
}

bool write_concat(CallWriter& writer) {
  set_integer(writer.node("Concat", writer.list("x"), {writer.out()}), "axis", writer.attribute<std::int64_t>("axis"));
  return true;
}

bool write_split(CallWriter& writer) {
  const std::int64_t given = writer.attribute<std::int64_t>("axis");
  const int axis = static_cast<int>(given < 0 ? given + writer.info("x").extents.rank() : given);
  Integers sections;
  std::vector<std::string> names;
  for (const graph::ValueId each : writer.call().results("out")) {
    sections.push_back(writer.target().program().value(each).extents[axis]);
    names.push_back(writer.target().name_of(each));
  }
  const std::string sizes = writer.constant(sections, "sections");
  set_integer(writer.node("Split", {writer.in("x"), sizes}, names), "axis", axis);
  return true;
}

bool write_slice(CallWriter& writer) {
  const Integers axes = writer.integers("axes");
  Integers strides = writer.integers("strides"), starts = writer.integers("starts"), ends = writer.integers("ends");
  if (strides.empty()) strides.assign(axes.size(), 1);
  const Extents& x = writer.info("x").extents;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = x[static_cast<int>(axes[i] < 0 ? axes[i] + x.rank() : axes[i])];
    // Backwards from before the first element nothing is left; ONNX begins at the first one.
    if (strides[i] < 0 && starts[i] < -extent) starts[i] = ends[i] = 0;
  }
  const std::vector<std::string> inputs{writer.in("x"), writer.constant(starts, "starts"),
                                        writer.constant(ends, "ends"), writer.constant(axes, "axes"),
                                        writer.constant(strides, "steps")};
  writer.node("Slice", inputs, {writer.out()});
  return true;
}

bool write_embedding(CallWriter& writer) {
  set_integer(writer.node("Gather", {writer.in("weight"), writer.in("ids")}, {writer.out()}), "axis", 0);
  return true;
}

bool write_standard(CallWriter& writer) {
  using Writer = bool (*)(CallWriter&);
  static const std::map<std::string_view, Writer> writers = {
      {"add", write_arithmetic},
      {"batch_norm", write_batch_norm},
      {"clip", write_clip},
      {"concat", write_concat},
      {"conv2d", write_conv},
      {"deform_conv2d", write_deform_conv},
      {"divide", write_arithmetic},
      {"embedding", write_embedding},
      {"gelu", write_activation},
      {"hard_sigmoid", write_hard_sigmoid},
      {"hard_swish", write_hard_swish},
      {"layer_norm", write_layer_norm},
      {"linear", write_linear},
      {"matmul", write_matmul},
      {"mean", write_reduction},
      {"multiply", write_arithmetic},
      {"p_norm", write_norm},
      {"pool2d", write_pool},
      {"relu", write_activation},
      {"reshape", write_reshape},
      {"sigmoid", write_activation},
      {"slice", write_slice},
      {"softmax", write_softmax},
      {"split", write_split},
      {"subtract", write_arithmetic},
      {"sum", write_reduction},
      {"tanh", write_activation},
      {"transpose", write_transpose},
  };
  const auto at = writers.find(writer.call().op);
  if (at == writers.end()) return false;
  // Nothing in ONNX has levels.
  for (const graph::NamedOperand& input : writer.call().inputs) {
    if (input.operand.is_levels()) return false;
    for (const graph::ValueId each : input.operand.values()) {
      if (writer.target().program().value(each).levels) return false;
    }
  }
  return at->second(writer);
}

}  // namespace portops::impl
