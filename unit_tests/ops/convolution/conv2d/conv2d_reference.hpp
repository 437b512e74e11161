// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/conv2d_rules.hpp"
#include "ops/convolution/convolution_sums.hpp"
#include "support/support.hpp"

#include <portops/ops/conv2d.hpp>

#include <algorithm>
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

/// What conv2d and conv2d_grad must give: each element by its formula.
class Conv2dReference {
 public:
  Conv2dReference(const Conv2dCase& c, const Conv2dValues& inputs)
      : c_(c),
        inputs_(inputs),
        down_{c.height, c.windows(0), c.kernel[0], c.stride[0], c.padding[0], c.dilation[0]},
        across_{c.width, c.windows(1), c.kernel[1], c.stride[1], c.padding[1], c.dilation[1]} {}

  std::vector<Sum> result(const std::string& name) const {
    if (name == "out") return each(c_.images, c_.out_channels, down_.windows, across_.windows, &Conv2dReference::out);
    if (name == "x_grad") return each(c_.images, c_.channels, c_.height, c_.width, &Conv2dReference::x_grad);
    if (name == "bias_grad") return each(c_.out_channels, 1, 1, 1, &Conv2dReference::bias_grad);
    return each(c_.out_channels, of_group_, down_.taps, across_.taps, &Conv2dReference::weight_grad);
  }

 private:
  /// Pixels, and windows that begin `before` the first of them.
  struct Axis {
    std::int64_t pixels, windows, taps, stride, before, dilation;

    /// The pixel that a tap meets; -1: none.
    std::int64_t pixel(std::int64_t window, std::int64_t tap) const {
      const std::int64_t at = window * stride - before + tap * dilation;
      return at < pixels ? std::max<std::int64_t>(at, -1) : -1;
    }
    /// The window whose tap meets a pixel; -1: none.
    std::int64_t window(std::int64_t pixel, std::int64_t tap) const {
      const std::int64_t from_first = pixel + before - tap * dilation;
      return from_first >= 0 && from_first % stride == 0 && from_first / stride < windows ? from_first / stride : -1;
    }
  };

  using Element = Sum (Conv2dReference::*)(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const;

  std::vector<Sum> each(std::int64_t as, std::int64_t bs, std::int64_t cs, std::int64_t ds, Element element) const {
    std::vector<Sum> sums;
    sums.reserve(static_cast<std::size_t>(as * bs * cs * ds));
    for (std::int64_t a = 0; a < as; ++a) {
      for (std::int64_t b = 0; b < bs; ++b) {
        for (std::int64_t c = 0; c < cs; ++c) {
          for (std::int64_t d = 0; d < ds; ++d) sums.push_back((this->*element)(a, b, c, d));
        }
      }
    }
    return sums;
  }

  /// A line of the last axis of a tensor, by where it is on the other ones; of x, by the output channel that reads it.
  const double* x(std::int64_t n, std::int64_t m, std::int64_t channel_of_group, std::int64_t v) const {
    const std::int64_t channel = m / out_of_group_ * of_group_ + channel_of_group;
    return x_ + ((n * c_.channels + channel) * c_.height + v) * c_.width;
  }
  const double* weight(std::int64_t m, std::int64_t channel_of_group, std::int64_t k) const {
    return weight_ + ((m * of_group_ + channel_of_group) * down_.taps + k) * across_.taps;
  }
  const double* out_grad(std::int64_t n, std::int64_t m, std::int64_t i) const {
    return out_grad_ + ((n * c_.out_channels + m) * down_.windows + i) * across_.windows;
  }

  Sum out(std::int64_t n, std::int64_t m, std::int64_t i, std::int64_t j) const {
    Sum sum;
    for (std::int64_t channel = 0; channel < of_group_; ++channel) {
      for (std::int64_t k = 0; k < down_.taps; ++k) {
        const std::int64_t v = down_.pixel(i, k);
        if (v < 0) continue;
        const double* const pixels = x(n, m, channel, v);
        const double* const taps = weight(m, channel, k);
        for (std::int64_t l = 0; l < across_.taps; ++l) {
          const std::int64_t u = across_.pixel(j, l);
          if (u >= 0) sum.add(taps[l] * pixels[u]);
        }
      }
    }
    if (c_.has_bias) sum.add(inputs_.at("bias")[static_cast<std::size_t>(m)]);
    return sum;
  }

  Sum x_grad(std::int64_t n, std::int64_t channel, std::int64_t v, std::int64_t u) const {
    Sum sum;
    const std::int64_t first_out = channel / of_group_ * out_of_group_;
    for (std::int64_t k = 0; k < down_.taps; ++k) {
      const std::int64_t i = down_.window(v, k);
      for (std::int64_t l = 0; i >= 0 && l < across_.taps; ++l) {
        const std::int64_t j = across_.window(u, l);
        for (std::int64_t m = first_out; j >= 0 && m < first_out + out_of_group_; ++m) {
          sum.add(weight(m, channel % of_group_, k)[l] * out_grad(n, m, i)[j]);
        }
      }
    }
    return sum;
  }

  Sum weight_grad(std::int64_t m, std::int64_t channel, std::int64_t k, std::int64_t l) const {
    Sum sum;
    for (std::int64_t n = 0; n < c_.images; ++n) {
      for (std::int64_t i = 0; i < down_.windows; ++i) {
        const std::int64_t v = down_.pixel(i, k);
        if (v < 0) continue;
        const double* const pixels = x(n, m, channel, v);
        const double* const gradients = out_grad(n, m, i);
        for (std::int64_t j = 0; j < across_.windows; ++j) {
          const std::int64_t u = across_.pixel(j, l);
          if (u >= 0) sum.add(pixels[u] * gradients[j]);
        }
      }
    }
    return sum;
  }

  Sum bias_grad(std::int64_t m, std::int64_t, std::int64_t, std::int64_t) const {
    Sum sum;
    const std::int64_t windows = down_.windows * across_.windows;
    for (std::int64_t n = 0; n < c_.images; ++n) {
      for (std::int64_t i = 0; i < windows; ++i) sum.add(out_grad(n, m, 0)[i]);
    }
    return sum;
  }

  const Conv2dCase& c_;
  const Conv2dValues& inputs_;
  Axis down_, across_;
  std::int64_t of_group_ = c_.channels / c_.groups, out_of_group_ = c_.out_channels / c_.groups;
  const double *x_ = inputs_.at("x").data(), *weight_ = inputs_.at("weight").data();
  const double* out_grad_ = inputs_.at("out_grad").data();
};

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
  static constexpr float constant_x = 0.7f, constant_out_grad = 0.3f;

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

  /// Has a tensor's rows and columns counted backwards, where it lies.
  void flip(const std::string& name) {
    const TensorRef whole = refs.at(name);
    const Extents &e = whole.extents(), &s = whole.strides();
    refs[name] = TensorRef(static_cast<T*>(whole.data()) + (e[2] - 1) * s[2] + (e[3] - 1) * s[3], e,
                           {s[0], s[1], -s[2], -s[3]}, whole.space());
    std::vector<double>& values = inputs.at(name);
    const auto pixels = static_cast<std::ptrdiff_t>(e[2] * e[3]);
    for (auto plane = values.begin(); plane != values.end(); plane += pixels) std::reverse(plane, plane + pixels);
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
  std::vector<Sum> expected(const std::string& name) const { return Conv2dReference(shape, inputs).result(name); }

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

  /// Has x and out_grad constant, of which the gradients of weight and bias are long sums that do not cancel.
  void fill_with_constants() {
    fill("x", [](std::size_t) { return constant_x; });
    fill("out_grad", [](std::size_t) { return constant_out_grad; });
  }
  /// Expects these gradients of 3×3 windows with padding 1.
  void expect_sums_of_constants(double tolerance) {
    const auto expect_all = [&](const std::string& name, const auto& pixels, double product, double within) {
      Conv2dTensor<T>& tensor = tensors.at(name);
      tensor.download();
      for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double expected = static_cast<double>(shape.images * pixels(i)) * product;
        ASSERT_NEAR(tensor[i], expected, within * expected) << name << ", element " << i;
      }
    };
    // A tap beside the middle meets no padding in all rows, or columns, but one.
    const auto of_tap = [&](std::size_t i) {
      const std::size_t tap = i % 9;
      return (shape.height - (tap / 3 == 1 ? 0 : 1)) * (shape.width - (tap % 3 == 1 ? 0 : 1));
    };
    const auto of_all = [&](std::size_t) { return shape.height * shape.width; };
    expect_all("weight_grad", of_tap, double{constant_x} * double{constant_out_grad}, tolerance);
    expect_all("bias_grad", of_all, double{constant_out_grad}, default_tolerance);
  }

  /// Runs conv2d and expects the reference.
  void check(const Context& ctx, double tolerance = default_tolerance) {
    run(ctx);
    expect("out", expected("out"), tolerance);
  }
  /// Runs conv2d_grad and expects the reference of all results that are wanted.
  void check_grad(const Context& ctx, double tolerance = default_tolerance) {
    run_grad(ctx);
    for (const std::string& name : conv2d_gradients) {
      // That of weight_grad is a library's on GPUs.
      const bool is_of_library = name == "weight_grad" && ctx.backend() == Backend::cuda;
      if (refs.at(name)) expect(name, expected(name), is_of_library ? 2 * tolerance : tolerance);
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
