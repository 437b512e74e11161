// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/conv2d_rules.hpp"
#include "ops/convolution/convolution_sums.hpp"
#include "support/support.hpp"

#include <portops/ops/conv2d.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

// conv2d and its gradients, written plainly in double.

namespace portops::test {

inline const std::vector<std::string> conv2d_inputs{"x", "weight", "bias", "out_grad"};
inline const std::vector<std::string> conv2d_gradients{"x_grad", "weight_grad", "bias_grad"};

/// A convolution: extents, attributes, and how the tensors lie in memory that are not contiguous.
struct Conv2dCase {
  std::int64_t images = 2, channels = 4, height = 7, width = 9, out_channels = 6;
  std::array<std::int64_t, 2> kernel{3, 3};
  Numbers stride{1, 1}, padding{1, 1}, dilation{1, 1};
  std::int64_t groups = 1;
  bool has_bias = true;
  std::map<std::string, Layout> layouts{};
  std::set<std::string> channels_last{};  ///< tensors whose second axis is the fastest

  std::int64_t taps() const { return kernel[0] * kernel[1]; }

  /// Has every tensor lie like that.
  void lay_all(Layout layout) {
    for (const auto* names : {&conv2d_inputs, &conv2d_gradients}) {
      for (const std::string& name : *names) layouts[name] = layout;
    }
    layouts["out"] = layout;
  }

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
    return {images, out_channels, windows(0), windows(1)};
  }

  std::string to_string() const {
    const auto text = [](const Numbers& numbers) { return Extents(std::span(numbers)).to_string(); };
    std::string all = "x " + extents("x").to_string() + ", weight " + extents("weight").to_string() + ", stride " +
                      text(stride) + ", padding " + text(padding) + ", dilation " + text(dilation) + ", groups " +
                      std::to_string(groups) + (has_bias ? ", bias" : "");
    for (const std::string& name : channels_last) all += ", " + name + " channels last";
    return all;
  }
};

/// The elements of tensors by their names, last axis fastest.
using Conv2dValues = std::map<std::string, std::vector<double>>;
using Conv2dResults = std::map<std::string, std::vector<Sum>>;

/// What conv2d and conv2d_grad must give, of results by their names.
inline Conv2dResults conv2d_reference(const Conv2dCase& c, const Conv2dValues& inputs,
                                      const std::set<std::string>& wanted) {
  Conv2dResults results;
  const auto result = [&](const std::string& name) -> std::vector<Sum>& {
    const bool is_wanted = wanted.contains(name);
    return results[name] = std::vector<Sum>(is_wanted ? static_cast<std::size_t>(c.extents(name).product()) : 0);
  };
  auto &out = result("out"), &x_grad = result("x_grad"), &weight_grad = result("weight_grad");
  auto& bias_grad = result("bias_grad");
  const auto &x = inputs.at("x"), &weight = inputs.at("weight"), &out_grad = inputs.at("out_grad");
  const std::int64_t of_group = c.channels / c.groups, out_of_group = c.out_channels / c.groups;
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::size_t at_out = 0;
  for (std::int64_t n = 0; n < c.images; ++n) {
    for (std::int64_t m = 0; m < c.out_channels; ++m) {
      for (std::int64_t i = 0; i < c.windows(0); ++i) {
        for (std::int64_t j = 0; j < c.windows(1); ++j, ++at_out) {
          const std::int64_t first_channel = m / out_of_group * of_group;
          std::size_t at_weight = index(m * of_group * c.taps());
          for (std::int64_t channel = first_channel; channel < first_channel + of_group; ++channel) {
            for (std::int64_t k = 0; k < c.kernel[0]; ++k) {
              const std::int64_t v = i * c.stride[0] - c.padding[0] + k * c.dilation[0];
              for (std::int64_t l = 0; l < c.kernel[1]; ++l, ++at_weight) {
                const std::int64_t u = j * c.stride[1] - c.padding[1] + l * c.dilation[1];
                if (v < 0 || v >= c.height || u < 0 || u >= c.width) continue;
                const std::size_t at_x = index(((n * c.channels + channel) * c.height + v) * c.width + u);
                if (!out.empty()) out[at_out].add(weight[at_weight] * x[at_x]);
                if (!x_grad.empty()) x_grad[at_x].add(weight[at_weight] * out_grad[at_out]);
                if (!weight_grad.empty()) weight_grad[at_weight].add(x[at_x] * out_grad[at_out]);
              }
            }
          }
          if (c.has_bias && !out.empty()) out[at_out].add(inputs.at("bias")[index(m)]);
          if (!bias_grad.empty()) bias_grad[index(m)].add(out_grad[at_out]);
        }
      }
    }
  }
  return results;
}

/// A tensor of a convolution, which may have its second axis last in memory.
template <class T>
class Conv2dTensor {
 public:
  Conv2dTensor() = default;
  Conv2dTensor(const Context& ctx, const Extents& extents, Layout layout, bool channels_last)
      : extents_(extents), last_(channels_last) {
    tensor_ = TestTensor<T>(ctx, last_ ? Extents{extents[0], extents[2], extents[3], extents[1]} : extents, layout);
  }

  TensorRef ref() const {
    const TensorRef lies = tensor_.ref();
    if (!last_) return lies;
    const Extents& s = lies.strides();
    return {static_cast<T*>(lies.data()), extents_, {s[0], s[3], s[1], s[2]}, lies.space()};
  }
  void fill(const std::vector<double>& values) {
    std::vector<double> lies(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) lies[at(i)] = values[i];
    tensor_.fill([&](std::int64_t i) { return lies[static_cast<std::size_t>(i)]; });
  }
  std::size_t size() const { return static_cast<std::size_t>(extents_.product()); }
  void download() { tensor_.download(); }
  T element(std::size_t i) const { return tensor_.element(static_cast<std::int64_t>(at(i))); }
  double operator[](std::size_t i) const { return static_cast<double>(element(i)); }

 private:
  std::size_t at(std::size_t index) const {
    if (!last_) return index;
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t pixels = extents_[2] * extents_[3], plane = i / pixels;
    return static_cast<std::size_t>((plane / extents_[1] * pixels + i % pixels) * extents_[1] + plane % extents_[1]);
  }

  Extents extents_;
  bool last_ = false;
  TestTensor<T> tensor_;
};

/// The operands and results of a convolution on a backend.
template <class T>
struct Conv2dProblem {
  static constexpr double default_tolerance = std::is_same_v<T, double> ? 1e-12 : 2e-6;

  Conv2dCase shape;
  std::map<std::string, Conv2dTensor<T>> tensors;
  std::map<std::string, TensorRef> refs;  ///< what calls are given
  Conv2dValues inputs;                    ///< the elements of these
  bool rounds_products;                   ///< whether a library's products may be rounded before the bias is added

  Conv2dProblem(const Context& ctx, const Conv2dCase& c)
      : shape(c), rounds_products(sizeof(T) == 2 && ctx.backend() == Backend::cuda && c.has_bias) {
    add(ctx, "out");
    for (const std::string& name : conv2d_gradients) add(ctx, name);
    unsigned seed = 0;
    for (const std::string& name : conv2d_inputs) {
      ++seed;
      refs[name];
      if (name == "bias" && !c.has_bias) continue;
      add(ctx, name);
      Random random(seed);
      fill(name, [&](std::size_t) { return random.uniform(-2.0, 2.0); });
    }
  }

  /// Sets the elements of an input.
  template <class Value>
  void fill(const std::string& name, const Value& value) {
    Conv2dTensor<T>& tensor = tensors.at(name);
    std::vector<double>& values = inputs[name];
    values.resize(tensor.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(static_cast<T>(value(i)));
    tensor.fill(values);
  }

  /// Fills a result with NaN, so that what is not written shows.
  void poison(const std::string& name) {
    Conv2dTensor<T>& tensor = tensors.at(name);
    tensor.fill(std::vector<double>(tensor.size(), std::numeric_limits<double>::quiet_NaN()));
  }

  Conv2dParams params() const {
    return {.bias = refs.at("bias"),
            .stride = shape.stride,
            .padding = shape.padding,
            .dilation = shape.dilation,
            .groups = shape.groups};
  }

  void run(const Context& ctx) const { conv2d(ctx, refs.at("x"), refs.at("weight"), refs.at("out"), params()); }
  void run_grad(const Context& ctx) const {
    conv2d_grad(ctx, refs.at("x"), refs.at("weight"), refs.at("out_grad"), refs.at("x_grad"), refs.at("weight_grad"),
                refs.at("bias_grad"), params());
  }
  std::size_t workspace(const Context& ctx) const {
    return conv2d_workspace(ctx, refs.at("x"), refs.at("weight"), refs.at("out"), params());
  }
  std::size_t grad_workspace(const Context& ctx) const {
    return conv2d_grad_workspace(ctx, refs.at("x"), refs.at("weight"), refs.at("out_grad"), refs.at("x_grad"),
                                 refs.at("weight_grad"), refs.at("bias_grad"), params());
  }

  impl::Windows windows() const {
    return impl::conv2d_extents("conv2d", refs.at("x"), refs.at("weight"), params()).windows;
  }

  /// What a result must be.
  std::vector<Sum> expected(const std::string& name) const { return conv2d_reference(shape, inputs, {name}).at(name); }

  /// Expects the reference of a result: the error of the sums, and of one rounding.
  void expect(const std::string& name, const std::vector<Sum>& sums, double tolerance = default_tolerance) {
    Conv2dTensor<T>& tensor = tensors.at(name);
    tensor.download();
    ASSERT_EQ(tensor.size(), sums.size()) << name;
    if (rounds_products && name == "out") tolerance += rounding<T>();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto value = static_cast<double>(sums[i].value);
      const double smallest = sums[i].magnitude > 0.0 && std::is_same_v<T, f16> ? 0x1p-25 : 0.0;
      const double within = tolerance * sums[i].magnitude + 1.01 * rounding<T>() * std::abs(value) + smallest;
      // Inf among products gives Inf or NaN.
      if (std::isfinite(value) ? std::abs(tensor[i] - value) <= within : !std::isfinite(tensor[i])) continue;
      ADD_FAILURE() << name << " of " << name_of(ElementTypeOf<T>::value) << " " << shape.to_string() << ": element "
                    << i << " is " << tensor[i] << ", expected " << value << " within " << within;
      return;
    }
  }

  /// Runs conv2d and expects the reference.
  void check(const Context& ctx, double tolerance = default_tolerance) {
    run(ctx);
    expect("out", expected("out"), tolerance);
  }
  /// Runs conv2d_grad and expects the reference of all results that are wanted.
  void check_grad(const Context& ctx, double tolerance = default_tolerance) {
    run_grad(ctx);
    std::set<std::string> wanted;
    for (const std::string& name : conv2d_gradients) {
      if (refs.at(name)) wanted.insert(name);
    }
    const Conv2dResults results = conv2d_reference(shape, inputs, wanted);
    for (const std::string& name : conv2d_gradients) {
      // That of weight_grad is a library's on GPUs.
      const bool is_of_library = name == "weight_grad" && ctx.backend() == Backend::cuda;
      if (refs.at(name)) expect(name, results.at(name), is_of_library ? 2 * tolerance : tolerance);
    }
  }

 private:
  void add(const Context& ctx, const std::string& name) {
    const auto layout = shape.layouts.find(name);
    tensors[name] =
        Conv2dTensor<T>(ctx, shape.extents(name), layout == shape.layouts.end() ? Layout::contiguous : layout->second,
                        shape.channels_last.contains(name));
    refs[name] = tensors[name].ref();
  }
};

}  // namespace portops::test
