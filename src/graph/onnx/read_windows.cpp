// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/shown.hpp"
#include "graph/onnx/node_reader.hpp"

#include <algorithm>
#include <array>

// Convolutions and pools: windows on images. What has one spatial axis is taken for images of one row.

namespace portops::impl {

using graph::ValueId;
using Integers = std::vector<std::int64_t>;

namespace {

/// What is said of the windows of an operator, along each spatial axis.
struct Windows {
  Integers kernel;
  Integers stride;
  Integers dilation;
  Integers pads;  ///< all that lie in front, then all behind

  std::int64_t reach(std::size_t axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
};

// Products of three of these fit into 64 bits.
constexpr std::int64_t most = std::int64_t{1} << 20;

Integers checked(const NodeReader& node, const char* name, const std::optional<Integers>& given, std::size_t count,
                 std::int64_t otherwise, std::int64_t least) {
  if (!given) return Integers(count, otherwise);
  if (given->size() != count) node.refuse(name, " has ", given->size(), " numbers, expected ", count);
  for (const std::int64_t each : *given) {
    if (each < least || each > most) node.refuse(name, " has a ", each, ", expected ", least, " to ", most);
  }
  return *given;
}

/// Pads so that there are as many windows as pixels divided by the stride.
Integers same_pads(const Extents& x, const Windows& windows, bool is_upper) {
  const std::size_t count = windows.kernel.size();
  Integers pads(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t pixels = x[static_cast<int>(i) + 2], stride = windows.stride[i];
    const std::int64_t out = pixels / stride + (pixels % stride != 0 ? 1 : 0);
    const std::int64_t all = std::max<std::int64_t>((out - 1) * stride + windows.reach(i) - pixels, 0);
    pads[i] = is_upper ? all / 2 : all - all / 2;
    pads[count + i] = all - pads[i];
  }
  return pads;
}

Windows windows_of(const NodeReader& node, const Extents& x, const Integers& kernel) {
  const std::size_t count = kernel.size();
  for (int i = 2; i < x.rank(); ++i) {
    if (x[i] > std::int64_t{1} << 40) node.refuse("has images of extents ", x.to_string());
  }
  Windows windows{.kernel = checked(node, "kernel_shape", kernel, count, 1, 1),
                  .stride = checked(node, "strides", node.integers("strides"), count, 1, 1),
                  .dilation = checked(node, "dilations", node.integers("dilations"), count, 1, 1),
                  .pads = checked(node, "pads", node.integers("pads"), 2 * count, 0, 0)};
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    windows.pads = same_pads(x, windows, automatic == "SAME_UPPER");
  } else if (automatic == "VALID") {
    windows.pads.assign(2 * count, 0);
  } else if (automatic != "NOTSET") {
    node.refuse("auto_pad is '", shown(automatic), "'");
  }
  if (count == 1) {  // an image of one row
    for (Integers* each : {&windows.kernel, &windows.stride, &windows.dilation}) each->insert(each->begin(), 1);
    windows.pads = {0, windows.pads[0], 0, windows.pads[1]};
  }
  return windows;
}

/// The spatial axes of images. Refuses other numbers of them than one and two.
std::size_t spatial_axes(const NodeReader& node, const Extents& x) {
  if (x.rank() != 3 && x.rank() != 4) {
    node.refuse("has x of extents ", x.to_string(), ", expected images of one or two spatial axes");
  }
  return static_cast<std::size_t>(x.rank() - 2);
}

/// [N, C, L] as [N, C, 1, L].
ValueId as_images(NodeReader& node, ValueId x) {
  const Extents its = node.extents_of(x);
  return its.rank() == 4 ? x : node.reshaped(x, {its[0], its[1], 1, its[2]});
}

/// Back, where x had one spatial axis.
ValueId from_images(NodeReader& node, ValueId out, std::size_t count) {
  const Extents its = node.extents_of(out);
  return count == 2 ? out : node.reshaped(out, {its[0], its[1], its[3]});
}

/// The kernel that the weight has. Refuses a kernel_shape that says something else.
Integers kernel_of(const NodeReader& node, const Extents& x, const Extents& weight) {
  if (weight.rank() != x.rank()) {
    node.refuse("has x of extents ", x.to_string(), " and a weight of extents ", weight.to_string());
  }
  const Integers kernel(weight.begin() + 2, weight.end());
  if (node.integers("kernel_shape").value_or(kernel) != kernel) {
    node.refuse("kernel_shape is not that of the weight, whose extents are ", weight.to_string());
  }
  return kernel;
}

}  // namespace

void read_conv(NodeReader& node) {
  const Extents x = node.extents(0);
  const std::size_t count = spatial_axes(node, x);
  const Windows windows = windows_of(node, x, kernel_of(node, x, node.extents(1)));
  std::map<std::string, graph::Operand, std::less<>> inputs{{"x", as_images(node, node.input(0))},
                                                            {"weight", as_images(node, node.input(1))}};
  if (node.has_input(2)) inputs.emplace("bias", node.input(2));
  const ValueId out = node.call("conv2d", inputs,
                                {{"stride", windows.stride},
                                 {"padding", windows.pads},
                                 {"dilation", windows.dilation},
                                 {"groups", node.integer("group", 1)}});
  node.give(0, from_images(node, out, count));
}

/// X, W, offset, B, mask.
void read_deform_conv(NodeReader& node) {
  const Extents x = node.extents(0);
  if (x.rank() != 4) node.refuse("has x of extents ", x.to_string(), ", expected images");
  const Windows windows = windows_of(node, x, kernel_of(node, x, node.extents(1)));
  std::map<std::string, graph::Operand, std::less<>> inputs{
      {"x", node.input(0)}, {"weight", node.input(1)}, {"offset", node.input(2)}};
  if (node.has_input(3)) inputs.emplace("bias", node.input(3));
  if (node.has_input(4)) inputs.emplace("mask", node.input(4));
  node.give(0, node.call("deform_conv2d", inputs,
                         {{"stride", windows.stride},
                          {"padding", windows.pads},
                          {"dilation", windows.dilation},
                          {"groups", node.integer("group", 1)},
                          {"deformable_groups", node.integer("offset_group", 1)}}));
}

namespace {

/// Readers do not agree on windows that begin behind the image, and on what divides an average whose window reaches
/// beyond the padding.
void check_ceil_mode(const NodeReader& node, const Extents& x, const Windows& windows, bool counts_padding) {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t pixels = x[static_cast<int>(i) + 2];
    const std::int64_t padded = pixels + windows.pads[i] + windows.pads[2 + i], rest = padded - windows.kernel[i];
    if (rest < 0 || rest % windows.stride[i] == 0) continue;
    const std::int64_t last = (rest / windows.stride[i] + 1) * windows.stride[i];
    if (last >= pixels + windows.pads[i]) {
      node.refuse("ceil_mode gives a window that begins behind the image, which is not the same everywhere");
    }
    if (counts_padding) {
      node.refuse(
          "ceil_mode gives an average whose window reaches beyond the padding, and count_include_pad counts that");
    }
  }
}

}  // namespace

void read_pool(NodeReader& node) {
  const bool is_max = node.proto().op_type() == "MaxPool";
  const std::size_t count = spatial_axes(node, node.extents(0));
  const auto kernel = node.integers("kernel_shape");
  if (!kernel || kernel->size() != count) node.refuse("kernel_shape is none of ", count, " numbers");
  if (node.has_output(1)) node.refuse("gives the places of the maxima, which calls count otherwise");
  const Windows windows = windows_of(node, node.extents(0), *kernel);
  if (windows.dilation != Integers{1, 1}) node.refuse("has dilations, which no call of a pool has");
  const bool counts_padding = node.flag("count_include_pad", false);
  const bool rounds_up = node.flag("ceil_mode", false);
  const ValueId x = as_images(node, node.input(0));
  if (rounds_up) check_ceil_mode(node, node.extents_of(x), windows, !is_max && counts_padding);
  const ValueId out = node.call("pool2d", {{"x", x}},
                                {{"kernel_size", windows.kernel},
                                 {"stride", windows.stride},
                                 {"padding", windows.pads},
                                 {"ceil_mode", rounds_up},
                                 {"exclusive", !counts_padding},
                                 {"pooltype", std::string(is_max ? "max" : "avg")}});
  node.give(0, from_images(node, out, count));
}

void read_global_pool(NodeReader& node) {
  const bool is_max = node.proto().op_type() == "GlobalMaxPool";
  const std::size_t count = spatial_axes(node, node.extents(0));
  const ValueId out = node.call("pool2d", {{"x", as_images(node, node.input(0))}},
                                {{"pooltype", std::string(is_max ? "max" : "avg")}, {"global_pooling", true}});
  node.give(0, from_images(node, out, count));
}

}  // namespace portops::impl
