// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"

// 2^31 elements and more, where 32-bit indices would wrap. On the GPU only, and only where there is room.

namespace portops::test {
namespace {

constexpr Backend backend = Backend::cuda;
constexpr MemorySpace memory = MemorySpace::cuda;
constexpr std::int64_t piece = std::int64_t{1} << 24;
/// Of an image: with 64 channels it has more than 2^31 elements.
constexpr std::int64_t height = 8192, width = 4097;

class DeformConv2dLargeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : devices()) {
      if (device.backend == Backend::cuda && device.memory_bytes > (std::size_t{70} << 30)) return;
    }
    GTEST_SKIP() << "no GPU with 70 GiB";
  }
};

/// Numbers that repeat after a piece: of either sign, none of them 0.
double value(std::int64_t i) {
  const std::int64_t at = i % piece;
  const double magnitude = static_cast<double>((at * 37 + (at >> 16) * 11) % 101 + 1) / 128.0;
  return at % 2 == 0 ? magnitude : -magnitude;
}

/// Such that no sample lies on a pixel.
double offset_value(std::int64_t i) { return static_cast<double>(i % piece * 5 % 16) / 8.0 - 0.9375; }

TensorRef part(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  return {tensor.data<f16>() + first, {count}, memory};
}

/// A tensor of numbers that repeat after a piece. A first one comes from the host and is then doubled.
Tensor filled(const Context& ctx, const Extents& extents, double (*number)(std::int64_t)) {
  const Tensor tensor(ElementType::f16, extents, memory);
  const std::int64_t size = extents.product();
  std::vector<f16> host(static_cast<std::size_t>(std::min(piece, size)));
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<f16>(number(static_cast<std::int64_t>(i)));
  const auto first = static_cast<std::int64_t>(host.size());
  copy(ctx, TensorRef(host.data(), {first}), part(tensor, 0, first));
  for (std::int64_t done = first; done < size; done *= 2) {
    const std::int64_t count = std::min(done, size - done);
    copy(ctx, part(tensor, 0, count), part(tensor, done, count));
  }
  ctx.fence();
  return tensor;
}

double zero(std::int64_t) { return 0.0; }
double one(std::int64_t) { return 1.0; }
/// Multiples of 1/2, with which products are exact.
double half(std::int64_t i) { return static_cast<double>(i % 5 - 2) / 2.0; }

void set(const Context& ctx, const Tensor& tensor, std::int64_t index, double number) {
  f16 element(number);
  copy(ctx, TensorRef(&element, {1}), part(tensor, index, 1));
  ctx.fence();
}

/// `count` elements from `first` on, read back.
std::vector<double> downloaded(const Context& ctx, const Tensor& tensor, std::int64_t first, std::int64_t count) {
  std::vector<f16> host(static_cast<std::size_t>(count));
  copy(ctx, part(tensor, first, count), TensorRef(host.data(), {count}));
  ctx.fence();
  return {host.begin(), host.end()};
}

/// Expects sums from an element on. Each may have the error of two roundings of what it is made of.
void expect(const Context& ctx, const Tensor& tensor, std::int64_t first, const std::vector<Sum>& sums,
            const std::string& name) {
  const std::vector<double> found = downloaded(ctx, tensor, first, static_cast<std::int64_t>(sums.size()));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto& [number, magnitude] = sums[i];
    ASSERT_NEAR(found[i], number, 2.1 * rounding<f16>() * magnitude + 1.01 * rounding<f16>() * std::abs(number))
        << name << ", element " << first << " + " << i;
  }
}

/// A few windows that sample both ends of an image of 2^31 elements.
TEST_F(DeformConv2dLargeTest, x_of_one_image) {
  constexpr std::int64_t channels = 64, outs = 2;
  const Context ctx(backend);
  DeformConv2dParams params;
  params.stride = {height - 1, width - 1};
  const Tensor x = filled(ctx, {1, channels, height, width}, value), weight = filled(ctx, {outs, channels, 1, 1}, half);
  const Tensor mask = filled(ctx, {1, 1, 2, 2}, value), out(ElementType::f16, {1, outs, 2, 2}, memory);
  const Tensor offset = filled(ctx, {1, 2, 2, 2}, zero), out_grad = filled(ctx, {1, outs, 2, 2}, value);
  const std::vector<double> offsets{0.5, 2.5, -0.5, -0.25, 0.25, -1.25, 3.125, -0.5};
  for (std::int64_t i = 0; i < 8; ++i) set(ctx, offset, i, offsets[static_cast<std::size_t>(i)]);
  params.mask = mask;
  const Tensor x_grad = filled(ctx, {1, channels, height, width}, one);
  const Tensor offset_grad(ElementType::f16, {1, 2, 2, 2}, memory), mask_grad(ElementType::f16, {1, 1, 2, 2}, memory);
  const Tensor weight_grad(ElementType::f16, {outs, channels, 1, 1}, memory);
  const Tensor bias_grad(ElementType::f16, {outs}, memory);

  std::vector<Sum> outs_expected(outs * 4), weight_grads(outs * channels), mask_grads(4), offset_grads(8);
  std::map<std::int64_t, Sum> x_grads;  // of the pixels that are sampled
  for (std::int64_t window = 0; window < 4; ++window) {
    const auto w = static_cast<std::size_t>(window);
    const double v = static_cast<double>(window / 2 * (height - 1)) + offsets[w];
    const double u = static_cast<double>(window % 2 * (width - 1)) + offsets[w + 4];
    // The image from the row above the sample on is enough.
    const auto row = static_cast<std::int64_t>(std::floor(v)), column = static_cast<std::int64_t>(std::floor(u));
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto index = [&](std::int64_t i) { return (c * height + row + i / 2) * width + column + i % 2; };
      std::array<double, 4> pixels{};
      for (std::int64_t i = 0; i < 4; ++i) pixels[static_cast<std::size_t>(i)] = value(index(i));
      const BilinearSample sample(pixels.data(), 2, 2, v - static_cast<double>(row), u - static_cast<double>(column));
      Sum sample_grad;
      for (std::int64_t m = 0; m < outs; ++m) {
        const auto at_weight = static_cast<std::size_t>(m * channels + c), at_out = static_cast<std::size_t>(m * 4) + w;
        outs_expected[at_out] += half(m * channels + c) * value(window) * sample.value;
        weight_grads[at_weight] += value(m * 4 + window) * value(window) * sample.value;
        sample_grad.add(half(m * channels + c) * value(m * 4 + window));
      }
      mask_grads[w] += sample_grad * sample.value;
      offset_grads[w] += value(window) * sample_grad * sample.down;
      offset_grads[w + 4] += value(window) * sample_grad * sample.across;
      for (const auto& pixel : sample.pixels) {
        x_grads[index(pixel.index)] += pixel.weight * value(window) * sample_grad;
      }
    }
  }

  deform_conv2d(ctx, x, offset, weight, out, params);
  expect(ctx, out, 0, outs_expected, "out");
  for (const bool deterministic : {false, true}) {
    deform_conv2d_grad(Context(ctx).deterministic(deterministic), x, offset, weight, out_grad, x_grad, offset_grad,
                       weight_grad, mask_grad, bias_grad, params);
    expect(ctx, offset_grad, 0, offset_grads, "offset_grad");
    expect(ctx, weight_grad, 0, weight_grads, "weight_grad");
    expect(ctx, mask_grad, 0, mask_grads, "mask_grad");
    constexpr std::int64_t count = 20000;
    const std::int64_t plane = height * width, size = channels * plane;
    for (const std::int64_t first :
         {std::int64_t{0}, size / 3, size / 2 - count / 2, size - plane - count / 2, size - count}) {
      std::vector<Sum> sums(count);
      for (auto at = x_grads.lower_bound(first); at != x_grads.end(); ++at) {
        const auto i = static_cast<std::size_t>(at->first - first);
        if (i < sums.size()) sums[i] = at->second;
      }
      expect(ctx, x_grad, first, sums, "x_grad");
    }
  }
}

/// So many channels of one image that they have 2^31 elements.
TEST_F(DeformConv2dLargeTest, out_of_one_image) {
  constexpr std::int64_t outs = 64, pixels = height * width;
  const Context ctx(backend);
  const Tensor x = filled(ctx, {1, 1, height, width}, value), weight = filled(ctx, {outs, 1, 1, 1}, half);
  const Tensor no_offset = filled(ctx, {1}, zero);
  const TensorRef offset(no_offset.data<f16>(), {1, 2, height, width}, {0, 0, 0, 0}, memory);
  {
    const Tensor out(ElementType::f16, {1, outs, height, width}, memory);
    deform_conv2d(ctx, x, offset, weight, out);
    constexpr std::int64_t count = 100000;
    for (const std::int64_t first :
         {std::int64_t{0}, outs * pixels / 2, (outs - 1) * pixels - 1000, outs * pixels - count}) {
      const std::vector<double> found = downloaded(ctx, out, first, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t m = (first + i) / pixels, pixel = (first + i) % pixels;
        ASSERT_EQ(found[static_cast<std::size_t>(i)], half(m) * value(pixel)) << first << " + " << i;
      }
    }
  }

  // All gradients but those of three windows are 0.
  const Tensor out_grad = filled(ctx, {1, outs, height, width}, zero),
               x_grad(ElementType::f16, x.ref().extents(), memory);
  const Tensor weight_grad(ElementType::f16, {outs, 1, 1, 1}, memory), bias_grad(ElementType::f16, {outs}, memory);
  const Tensor offset_grad(ElementType::f16, {1, 2, height, width}, memory);
  const std::array<std::int64_t, 3> windows{5, outs / 2 * pixels + 70000, outs * pixels - 1};
  for (const std::int64_t window : windows) set(ctx, out_grad, window, 1.0);
  deform_conv2d_grad(ctx, x, offset, weight, out_grad, x_grad, offset_grad, weight_grad, TensorRef(), bias_grad);
  const std::vector<double> weight_grads = downloaded(ctx, weight_grad, 0, outs);
  const std::vector<double> bias_grads = downloaded(ctx, bias_grad, 0, outs);
  std::vector<double> expected(outs, 0.0), expected_bias(outs, 0.0);
  for (const std::int64_t window : windows) {
    const std::int64_t m = window / pixels, pixel = window % pixels;
    expected[static_cast<std::size_t>(m)] = value(pixel);
    expected_bias[static_cast<std::size_t>(m)] = 1.0;
    EXPECT_EQ(downloaded(ctx, x_grad, pixel, 1)[0], half(m)) << window;
    const double right = pixel % width == width - 1 ? 0.0 : value(pixel + 1);
    EXPECT_EQ(downloaded(ctx, offset_grad, pixels + pixel, 1)[0], half(m) * (right - value(pixel))) << window;
  }
  EXPECT_EQ(weight_grads, expected);
  EXPECT_EQ(bias_grads, expected_bias);
}

/// So many images that x, offset and out have 2^31 elements.
TEST_F(DeformConv2dLargeTest, images) {
  constexpr std::int64_t images = 32769, edge = 256, pixels = edge * edge;
  const Context ctx(backend);
  const Extents extents{images, 1, edge, edge}, pairs{images, 2, edge, edge};
  const Tensor x = filled(ctx, extents, value), offset = filled(ctx, pairs, offset_value);
  const Tensor weight = filled(ctx, {1, 1, 1, 1}, half);
  const auto expected = [&](std::int64_t image) {
    const DeformConv2dCase c{.images = 1,
                             .channels = 1,
                             .height = edge,
                             .width = edge,
                             .out_channels = 1,
                             .kernel = {1, 1},
                             .padding = {0, 0},
                             .has_mask = false,
                             .has_bias = false};
    DeformConv2dValues inputs{{"weight", {half(0)}}};
    for (std::int64_t i = 0; i < pixels; ++i) inputs["x"].push_back(value(image * pixels + i));
    for (std::int64_t i = 0; i < 2 * pixels; ++i) inputs["offset"].push_back(offset_value(image * 2 * pixels + i));
    inputs["out_grad"] = inputs["x"];
    return deform_conv2d_reference(c, inputs);
  };
  const std::array<std::int64_t, 4> some{0, images / 2, images - 2, images - 1};
  {
    const Tensor out(ElementType::f16, extents, memory);
    deform_conv2d(ctx, x, offset, weight, out);
    for (const std::int64_t image : some) expect(ctx, out, image * pixels, expected(image).at("out"), "out");
  }
  const Tensor x_grad(ElementType::f16, extents, memory), offset_grad(ElementType::f16, pairs, memory);
  deform_conv2d_grad(ctx, x, offset, weight, x, x_grad, offset_grad, TensorRef(), TensorRef(), TensorRef());
  for (const std::int64_t image : some) {
    const DeformConv2dResults results = expected(image);
    expect(ctx, x_grad, image * pixels, results.at("x_grad"), "x_grad");
    expect(ctx, offset_grad, image * 2 * pixels, results.at("offset_grad"), "offset_grad");
  }
}

}  // namespace
}  // namespace portops::test
