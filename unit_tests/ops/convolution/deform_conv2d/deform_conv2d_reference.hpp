// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_sums.hpp"
#include "support/support.hpp"

#include <portops/ops/deform_conv2d.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string_view>

// deform_conv2d and its gradients, written plainly in double.

namespace portops::test {

inline const std::vector<std::string> deform_conv2d_inputs{"x", "offset", "weight", "mask", "bias", "out_grad"};
inline const std::vector<std::string> deform_conv2d_gradients{"x_grad", "offset_grad", "weight_grad", "mask_grad",
                                                              "bias_grad"};
inline const std::set<std::string> deform_conv2d_results{"out",         "x_grad",    "offset_grad",
                                                         "weight_grad", "mask_grad", "bias_grad"};

/// A convolution: extents, attributes, and how the tensors lie in memory that are not contiguous.
struct DeformConv2dCase {
  std::int64_t images = 2, channels = 4, height = 7, width = 9, out_channels = 6;
  std::array<std::int64_t, 2> kernel{3, 3};
  Numbers stride{1, 1}, padding{1, 1}, dilation{1, 1};
  std::int64_t groups = 1, deformable_groups = 1, im2col_step = 64;
  bool has_mask = true, has_bias = true;
  std::map<std::string, Layout> layouts{};

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t top() const { return padding[0]; }
  std::int64_t left() const { return padding[1]; }

  /// Windows down (axis 0) or across (axis 1).
  std::int64_t windows(std::size_t axis) const {
    const std::int64_t before = padding[axis], after = padding[padding.size() == 4 ? axis + 2 : axis];
    const std::int64_t room = (axis == 0 ? height : width) + before + after - dilation[axis] * (kernel[axis] - 1) - 1;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }

  /// Of the tensor of that name; a gradient has those of its operand.
  Extents extents(std::string name) const {
    if (name.ends_with("_grad")) name.resize(name.size() - 5);
    if (name == "x") return {images, channels, height, width};
    if (name == "weight") return {out_channels, channels / groups, kernel[0], kernel[1]};
    if (name == "bias") return {out_channels};
    const std::int64_t across = name == "offset" ? 2 * deformable_groups * taps()
                                : name == "mask" ? deformable_groups * taps()
                                                 : out_channels;
    return {images, across, windows(0), windows(1)};
  }

  bool has(const std::string& name) const {
    return name.starts_with("mask") ? has_mask : name == "bias" ? has_bias : true;
  }

  std::string to_string() const {
    const auto text = [](const Numbers& numbers) { return Extents(std::span(numbers)).to_string(); };
    return "x " + extents("x").to_string() + ", weight " + extents("weight").to_string() + ", stride " + text(stride) +
           ", padding " + text(padding) + ", dilation " + text(dilation) + ", groups " + std::to_string(groups) +
           ", deformable_groups " + std::to_string(deformable_groups) + ", im2col_step " + std::to_string(im2col_step) +
           (has_mask ? ", mask" : "") + (has_bias ? ", bias" : "");
  }
};

/// A sample of an image, its derivatives, and the weights of the pixels.
struct BilinearSample {
  Sum value, down, across;
  struct Pixel {
    std::int64_t index;
    double weight;
  };
  std::array<Pixel, 4> pixels{};
  std::size_t pixel_count = 0;

  BilinearSample(const double* image, std::int64_t height, std::int64_t width, double v, double u) {
    if (std::isnan(v) || std::isnan(u)) {
      value = down = across = {nan, nan};
      return;
    }
    if (v < -1.0 || v >= static_cast<double>(height) || u < -1.0 || u >= static_cast<double>(width)) return;
    for (const int below : {0, 1}) {
      for (const int right : {0, 1}) {
        const auto h = static_cast<std::int64_t>(std::floor(v)) + below;
        const auto w = static_cast<std::int64_t>(std::floor(u)) + right;
        if (h < 0 || h >= height || w < 0 || w >= width) continue;
        const double pixel = image[h * width + w];
        const double row_weight = 1.0 - std::abs(v - static_cast<double>(h));
        const double column_weight = 1.0 - std::abs(u - static_cast<double>(w));
        value.add(row_weight * column_weight * pixel);
        down.add((below ? column_weight : -column_weight) * pixel);
        across.add((right ? row_weight : -row_weight) * pixel);
        pixels[pixel_count++] = {h * width + w, row_weight * column_weight};
      }
    }
  }
};

/// The elements of tensors by their names, last axis fastest. A mask or a bias may be missing.
using DeformConv2dValues = std::map<std::string, std::vector<double>>;
using DeformConv2dResults = std::map<std::string, std::vector<Sum>>;

/// What deform_conv2d and deform_conv2d_grad must give, of the results that are wanted.
inline DeformConv2dResults deform_conv2d_reference(const DeformConv2dCase& c, const DeformConv2dValues& inputs,
                                                   const std::set<std::string>& wanted = deform_conv2d_results) {
  DeformConv2dResults results;
  for (const std::string& name : wanted) results[name].resize(static_cast<std::size_t>(c.extents(name).product()));
  const auto result = [&](const std::string& name) { return wanted.contains(name) ? results[name].data() : nullptr; };
  Sum *const out = result("out"), *const x_grad = result("x_grad"), *const offset_grad = result("offset_grad");
  Sum *const weight_grad = result("weight_grad"), *const mask_grad = result("mask_grad");
  Sum* const bias_grad = result("bias_grad");
  const bool gives_samples = x_grad || offset_grad || mask_grad;
  const auto &x = inputs.at("x"), &offset = inputs.at("offset"), &weight = inputs.at("weight");
  const auto& out_grad = inputs.at("out_grad");
  const std::int64_t pixels = c.height * c.width, windows = c.windows(0) * c.windows(1);
  const std::int64_t group_channels = c.channels / c.groups, group_outs = c.out_channels / c.groups;
  const std::int64_t offset_channels = c.channels / c.deformable_groups;
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };

  // What a tap of a channel reads in a window.
  struct Tap {
    BilinearSample sample;
    Sum masked;
    double mask;
    std::size_t at_mask, at_down, at_across, at_image;
  };
  const auto tap_at = [&](std::int64_t image, std::int64_t channel, std::int64_t tap, std::int64_t window) {
    const std::int64_t row = window / c.windows(1), column = window % c.windows(1);
    const std::int64_t k = tap / c.kernel[1], l = tap % c.kernel[1];
    const std::int64_t mask_plane = (image * c.deformable_groups + channel / offset_channels) * c.taps() + tap;
    const std::size_t at_mask = index(mask_plane * windows + window);
    const std::size_t at_down = index(2 * mask_plane * windows + window);
    const std::size_t at_across = index((2 * mask_plane + 1) * windows + window);
    const std::size_t at_image = index((image * c.channels + channel) * pixels);
    const double v = static_cast<double>(row * c.stride[0] - c.top() + k * c.dilation[0]) + offset[at_down];
    const double u = static_cast<double>(column * c.stride[1] - c.left() + l * c.dilation[1]) + offset[at_across];
    const double mask = c.has_mask ? inputs.at("mask")[at_mask] : 1.0;
    const BilinearSample sample(x.data() + at_image, c.height, c.width, v, u);
    return Tap{sample, mask * sample.value, mask, at_mask, at_down, at_across, at_image};
  };

  const std::int64_t group_taps = group_channels * c.taps();
  std::vector<Tap> taps;
  for (std::int64_t i = 0; i < c.images * c.groups * windows; ++i) {
    const std::int64_t window = i % windows, group = i / windows % c.groups, image = i / windows / c.groups;
    taps.clear();
    for (std::int64_t tap = 0; tap < group_taps; ++tap) {
      taps.push_back(tap_at(image, group * group_channels + tap / c.taps(), tap % c.taps(), window));
    }
    std::vector<Sum> sample_grads(taps.size());  // s[c]
    for (std::int64_t m = group * group_outs; m < (group + 1) * group_outs; ++m) {
      const std::size_t first = index(m * group_taps), at_out = index((image * c.out_channels + m) * windows + window);
      Sum sum;
      for (std::size_t tap = 0; out && tap < taps.size(); ++tap) sum += weight[first + tap] * taps[tap].masked;
      if (out) out[at_out] = sum;
      const double gradient = out_grad[at_out];
      for (std::size_t tap = 0; weight_grad && tap < taps.size(); ++tap) {
        weight_grad[first + tap] += gradient * taps[tap].masked;
      }
      for (std::size_t tap = 0; gives_samples && tap < taps.size(); ++tap) {
        sample_grads[tap].add(weight[first + tap] * gradient);
      }
    }
    for (std::size_t tap = 0; gives_samples && tap < taps.size(); ++tap) {
      const Tap& its = taps[tap];
      const Sum& sample_grad = sample_grads[tap];
      if (mask_grad) mask_grad[its.at_mask] += sample_grad * its.sample.value;
      if (offset_grad) {
        offset_grad[its.at_down] += its.mask * sample_grad * its.sample.down;
        offset_grad[its.at_across] += its.mask * sample_grad * its.sample.across;
      }
      for (const auto& [pixel, pixel_weight] : std::span(its.sample.pixels).first(its.sample.pixel_count)) {
        if (x_grad) x_grad[its.at_image + index(pixel)] += pixel_weight * its.mask * sample_grad;
      }
    }
  }
  for (std::int64_t i = 0; i < c.images * c.out_channels * windows; ++i) {
    const std::size_t m = index(i / windows % c.out_channels);
    if (c.has_bias && out) out[index(i)].add(inputs.at("bias")[m]);
    if (bias_grad) bias_grad[m].add(out_grad[index(i)]);
  }
  return results;
}

/// Offsets, in pixels, that the element type holds exactly and with which no sample lies at an integer position.
template <class T>
double fractional_offset(std::int64_t i, double reach = 3.0) {
  const double steps = sizeof(T) == 2 ? 8.0 : 512.0;
  const std::uint64_t scattered = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15u >> 32;
  const std::uint64_t step = scattered % static_cast<std::uint64_t>(2.0 * reach * steps);
  return (static_cast<double>(step) + 0.5) / steps - reach;
}

/// The operands and results of a convolution on a backend.
template <class T>
struct DeformConv2dProblem {
  DeformConv2dCase shape;
  std::map<std::string, TestTensor<T>> tensors;
  std::map<std::string, TensorRef> refs;  ///< what calls are given
  DeformConv2dValues inputs;              ///< the elements of these

  DeformConv2dProblem(const Context& ctx, const DeformConv2dCase& c) : shape(c) {
    for (const auto* names : {&deform_conv2d_inputs, &deform_conv2d_gradients}) {
      for (const std::string& name : *names) {
        refs[name];
        if (c.has(name)) add(ctx, name);
      }
    }
    add(ctx, "out");
    unsigned seed = 0;
    for (const std::string& name : deform_conv2d_inputs) {
      ++seed;
      if (c.has(name) && name != "offset") tensors.at(name).fill_randomly(seed);
      if (name == "offset") tensors.at(name).fill([](std::int64_t i) { return fractional_offset<T>(i); });
    }
    read_inputs();
  }

  /// Sets the elements of an input.
  void fill(const std::string& name, const std::function<double(std::int64_t)>& value) {
    tensors.at(name).fill(value);
    read_inputs();
  }

  DeformConv2dParams params() const {
    DeformConv2dParams params;
    params.mask = refs.at("mask");
    params.bias = refs.at("bias");
    params.stride = shape.stride;
    params.padding = shape.padding;
    params.dilation = shape.dilation;
    params.groups = shape.groups;
    params.deformable_groups = shape.deformable_groups;
    params.im2col_step = shape.im2col_step;
    return params;
  }

  void run(const Context& ctx) const {
    deform_conv2d(ctx, refs.at("x"), refs.at("offset"), refs.at("weight"), refs.at("out"), params());
  }
  void run_grad(const Context& ctx) const {
    deform_conv2d_grad(ctx, refs.at("x"), refs.at("offset"), refs.at("weight"), refs.at("out_grad"), refs.at("x_grad"),
                       refs.at("offset_grad"), refs.at("weight_grad"), refs.at("mask_grad"), refs.at("bias_grad"),
                       params());
  }
  std::size_t workspace(const Context& ctx) const {
    return deform_conv2d_workspace(ctx, refs.at("x"), refs.at("offset"), refs.at("weight"), refs.at("out"), params());
  }
  std::size_t grad_workspace(const Context& ctx) const {
    return deform_conv2d_grad_workspace(ctx, refs.at("x"), refs.at("offset"), refs.at("weight"), refs.at("out_grad"),
                                        refs.at("x_grad"), refs.at("offset_grad"), refs.at("weight_grad"),
                                        refs.at("mask_grad"), refs.at("bias_grad"), params());
  }

  DeformConv2dResults expected(const std::set<std::string>& wanted = deform_conv2d_results) const {
    return deform_conv2d_reference(shape, inputs, wanted);
  }
  std::vector<Sum> expected_out() const { return expected({"out"}).at("out"); }

  /// Expects the reference of a result.
  void expect(const std::string& name, const std::vector<Sum>& sums, double tolerance = default_tolerance) {
    TestTensor<T>& tensor = tensors.at(name);
    tensor.download();
    std::vector<double> found(sums.size());
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = tensor[static_cast<std::int64_t>(i)];
    compare(name, found, sums, tolerance);
  }
  void compare(const std::string& name, const std::vector<double>& found, const std::vector<Sum>& sums,
               double tolerance = default_tolerance) const {
    ASSERT_EQ(found.size(), sums.size()) << name;
    // Samples of half types are rounded, and so may be what the gradients of samples are computed from.
    const double units = sizeof(T) > 2 || name == "bias_grad"     ? 0.0
                         : name == "out" || name == "weight_grad" ? 1.0
                                                                  : 2.0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto value = static_cast<double>(sums[i].value);
      const double magnitude = sums[i].magnitude;
      const double smallest = magnitude > 0.0 && std::is_same_v<T, f16> ? 0x1p-25 : 0.0;
      const double within =
          (tolerance + units * rounding<T>()) * magnitude + 1.01 * rounding<T>() * std::abs(value) + smallest;
      // Inf among products gives Inf or NaN.
      if (std::isnan(value)   ? std::isnan(found[i])
          : std::isinf(value) ? !std::isfinite(found[i])
                              : std::abs(found[i] - value) <= within) {
        continue;
      }
      ADD_FAILURE() << name << " of " << name_of(ElementTypeOf<T>::value) << " " << shape.to_string() << ": element "
                    << i << " is " << found[i] << ", expected " << value << " within " << within;
      return;
    }
  }

  /// Runs deform_conv2d and expects the reference.
  void check(const Context& ctx, double tolerance = default_tolerance) {
    run(ctx);
    expect("out", expected_out(), tolerance);
  }

  /// Runs deform_conv2d_grad and expects the reference of all results that are wanted.
  void check_grad(const Context& ctx, double tolerance = default_tolerance) {
    run_grad(ctx);
    std::set<std::string> wanted;
    for (const std::string& name : deform_conv2d_gradients) {
      if (refs.at(name)) wanted.insert(name);
    }
    for (const auto& [name, sums] : expected(wanted)) expect(name, sums, tolerance);
  }

  static constexpr double default_tolerance = std::is_same_v<T, double> ? 1e-12 : 2e-6;

 private:
  void add(const Context& ctx, const std::string& name) {
    const auto layout = shape.layouts.find(name);
    const Layout lies = layout == shape.layouts.end() ? Layout::contiguous : layout->second;
    refs[name] = tensors.insert_or_assign(name, TestTensor<T>(ctx, shape.extents(name), lies)).first->second.ref();
  }

  void read_inputs() {
    for (const std::string& name : deform_conv2d_inputs) {
      if (!shape.has(name)) continue;
      const TestTensor<T>& tensor = tensors.at(name);
      std::vector<double>& values = inputs[name];
      values.resize(static_cast<std::size_t>(tensor.extents().product()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor[static_cast<std::int64_t>(i)];
    }
  }
};

}  // namespace portops::test
