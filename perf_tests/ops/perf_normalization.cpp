// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/batch_norm.hpp>
#include <portops/ops/layer_norm.hpp>

#include <array>

namespace portops::perf {
namespace {

/// Bytes of so many tensors of these extents.
std::int64_t bytes_of(ElementType type, const Extents& extents, int tensors) {
  return static_cast<std::int64_t>(size_of(type)) * extents.product() * tensors;
}

std::string name_of_case(const std::string& op, ElementType type, const Extents& x, const std::string& what) {
  return op + "/" + std::string(name_of(type)) + "/" + text(x) + what;
}

ElementType sums_of(ElementType type) { return type == ElementType::f64 ? type : ElementType::f32; }

/// Over the last axis.
Case layer_norm_case(ElementType type, const Extents& extents, bool gradient) {
  const std::string op = gradient ? "layer_norm_grad" : "layer_norm";
  return {
      name_of_case(op, type, extents, ""), bytes_of(type, extents, gradient ? 3 : 2), [=](const Context& ctx) -> Call {
        const Extents columns{extents[1]}, rows{extents[0]};
        const Tensor x = random_tensor(ctx, type, extents), out(type, extents, x.ref().space());
        const Tensor scale = random_tensor(ctx, type, columns), bias = random_tensor(ctx, type, columns);
        const Tensor mean = random_tensor(ctx, sums_of(type), rows), inv_std = random_tensor(ctx, sums_of(type), rows);
        if (!gradient) {
          return [=] { layer_norm(ctx, x, out, mean, inv_std, {.scale = scale, .bias = bias}); };
        }
        const Tensor out_grad = random_tensor(ctx, type, extents);
        const Tensor scale_grad(type, columns, x.ref().space()), bias_grad(type, columns, x.ref().space());
        return [=] {
          layer_norm_grad(ctx, x, mean, inv_std, out_grad, out, scale_grad, bias_grad, {.scale = scale, .bias = bias});
        };
      }};
}

enum class Mode { training, inference, gradient };

/// A training step reads x twice, and its gradient x and out_grad.
Case batch_norm_case(ElementType type, const Extents& extents, const std::string& layout, Mode mode) {
  const std::array names{"batch_norm", "batch_norm", "batch_norm_grad"};
  const std::array tensors{3, 2, 5};
  const auto which = static_cast<std::size_t>(mode);
  const std::string what = "/" + layout + (mode == Mode::inference ? "/is_test" : "");
  return {name_of_case(names[which], type, extents, what), bytes_of(type, extents, tensors[which]),
          [=](const Context& ctx) -> Call {
            const Extents channels{layout == "NCHW" ? extents[1] : extents[extents.rank() - 1]};
            const Tensor x = random_tensor(ctx, type, extents), out(type, extents, x.ref().space());
            const Tensor scale = random_tensor(ctx, type, channels), bias = random_tensor(ctx, type, channels);
            const auto statistics = [&] { return random_tensor(ctx, sums_of(type), channels, Random::positive); };
            const Tensor mean = statistics(), variance = statistics(), saved_mean = statistics(),
                         saved_inv_std = statistics();
            const bool is_test = mode == Mode::inference;
            if (mode != Mode::gradient) {
              const TensorRef mean_out = is_test ? TensorRef() : mean.ref();
              const TensorRef variance_out = is_test ? TensorRef() : variance.ref();
              return [=] {
                batch_norm(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out,
                           {.scale = scale, .bias = bias, .data_layout = layout, .is_test = is_test});
              };
            }
            const Tensor out_grad = random_tensor(ctx, type, extents);
            const Tensor scale_grad(type, channels, x.ref().space()), bias_grad(type, channels, x.ref().space());
            return [=] {
              batch_norm_grad(ctx, x, saved_mean, saved_inv_std, out_grad, out, scale_grad, bias_grad,
                              {.scale = scale, .bias = bias, .data_layout = layout});
            };
          }};
}

/// layer_norm: long and short rows, rows that no thread block keeps, few rows. batch_norm: planes and channels last, of
/// large and of small images.
void register_cases(Backend backend) {
  const std::array rows{Extents{16384, 4096}, Extents{262144, 256}, Extents{65536, 1000}, Extents{4096, 16384},
                        Extents{8, 1 << 22}};
  const std::array images{Extents{32, 64, 128, 128}, Extents{64, 256, 56, 56}, Extents{256, 2048, 7, 7}};
  const std::array last{Extents{32, 128, 128, 64}, Extents{64, 56, 56, 256}};
  register_host_time(backend, layer_norm_case(ElementType::f32, {4, 64}, false));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const Extents& extents : rows) {
      for (const bool gradient : {false, true}) register_case(backend, layer_norm_case(type, extents, gradient));
    }
    for (const Mode mode : {Mode::training, Mode::inference, Mode::gradient}) {
      for (const Extents& extents : images) register_case(backend, batch_norm_case(type, extents, "NCHW", mode));
      for (const Extents& extents : last) register_case(backend, batch_norm_case(type, extents, "NHWC", mode));
    }
  }
}

const Benchmarks benchmarks("normalization", register_cases);

}  // namespace
}  // namespace portops::perf
