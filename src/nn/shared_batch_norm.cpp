// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/shared_batch_norm.hpp"

#include "autograd/gradient_call.hpp"
#include "autograd/recording.hpp"
#include "core/types/fail.hpp"
#include "ops/normalization/batch_norm/batch_norm_parts.hpp"

#include <array>
#include <string>
#include <vector>

namespace portops::impl {
namespace {

using autograd::Variable;

constexpr const char* name = "portops::nn::BatchNorm2d";

struct SharedParams {
  BatchNormParams options;
  std::shared_ptr<const nn::SharedBatch> batch;
  std::int64_t count = 0;  ///< of a channel's elements, in all processes
};

/// `numbers` of each channel, of all processes.
Variable gathered(const Context& ctx, const nn::SharedBatch& batch, const Variable& own) {
  const Extents& extents = own.tensor().extents();
  Variable all(ctx, ElementType::f64, {batch.size(), extents[0], extents[1]});
  batch.gather(ctx, own.tensor(), all.tensor());
  return all;
}

// The operator batch_norm on variables, as the functions of portops::autograd are made, but that it hears of the other
// processes between its steps.

void backward(GradientCall& call) {
  const Context& ctx = call.ctx();
  const auto& its = call.params<SharedParams>();
  BatchNormParams params = its.options;
  params.scale = call.tensor(1);
  params.bias = call.tensor(2);
  const TensorRef x = call.tensor(0), saved_mean = call.tensor(3), saved_inv_std = call.tensor(4);
  const TensorRef scale_grad = call.gradient(1), bias_grad = call.gradient(2);
  const Variable sums(ctx, ElementType::f64, {saved_mean.extent(0), numbers_of_part_sums});
  batch_norm_sums(ctx, x, saved_mean, saved_inv_std, call.out_grad(), sums.tensor(), scale_grad, bias_grad, params);
  if (!call.wants(0)) return;
  const Variable all = gathered(ctx, *its.batch, sums);
  const TensorRef out_grad = call.out_grad();
  batch_norm_grad_by_sums(ctx, x, saved_mean, saved_inv_std, out_grad, all.tensor(), its.count,
                          call.gradient_over_out_grad(0), params);
}

constexpr const char* kept[] = {"x", "scale", "bias", "saved_mean", "saved_inv_std", nullptr};
constexpr int kept_operands[] = {0, 1, 2, no_operand, no_operand};
constexpr const char* variables[] = {"x", "scale", "bias", nullptr};
constexpr Operation operation{
    .name = "batch_norm",
    .grad_name = "batch_norm_grad",
    .label = name,
    .grad_label = name,
    .kept_names = kept,
    .kept_count = 5,
    .variables = variables,
    .output = "out",
    .kept_operands = kept_operands,
    .backward = &backward,
    .gradients = nullptr,
};

std::string channels_text(std::int64_t channels, std::int64_t type) {
  return std::to_string(channels) + " channels of " + std::string(name_of(static_cast<ElementType>(type)));
}

/// The elements of a channel in all processes, which have to agree on what they are about to normalise.
std::int64_t count_of_all(const nn::SharedBatch& batch, std::int64_t own_count, const TensorRef& x,
                          const TensorRef& mean) {
  const std::array<std::int64_t, 3> own{own_count, mean.extent(0), static_cast<std::int64_t>(x.type())};
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(batch.size()));
  batch.gather_numbers(own, all);
  std::int64_t count = 0;
  for (std::size_t at = 0; at < all.size(); at += own.size()) {
    count += all[at];
    if (all[at + 1] == all[1] && all[at + 2] == all[2]) continue;
    fail(name, ": process ", at / own.size(), " of ", batch.size(), " has ", channels_text(all[at + 1], all[at + 2]),
         ", process 0 has ", channels_text(all[1], all[2]));
  }
  if (count == 1) fail(name, ": the processes have one value per channel, expected more in training");
  return count;
}

}  // namespace

Variable shared_batch_norm(const Context& ctx, const std::shared_ptr<const nn::SharedBatch>& batch, const Variable& x,
                           const Variable& mean, const Variable& variance, const autograd::BatchNormParams& params) {
  Recording recording(ctx, operation, {&x, &params.scale, &params.bias});
  if (recording.is_observed()) {
    fail(name, ": a batch that processes share is no part of a program, expected training without a recorder");
  }
  recording.check_given("x", x);
  const BatchNormParams options{.scale = params.scale.tensor(),
                                .bias = params.bias.tensor(),
                                .momentum = params.momentum,
                                .epsilon = params.epsilon,
                                .data_layout = params.data_layout};
  const TensorRef& running_mean = params.mean_out.tensor();
  const TensorRef& running_variance = params.variance_out.tensor();
  const Variable out = recording.output("out", x.tensor().type(), x.tensor().extents());
  const Variable saved_mean = recording.output("saved_mean", mean.tensor().type(), mean.tensor().extents());
  const Variable saved_inv_std = recording.output("saved_inv_std", mean.tensor().type(), mean.tensor().extents());
  recording.keep(x);
  recording.keep(params.scale);
  recording.keep(params.bias, false);
  const std::int64_t own =
      check_batch_norm_part(ctx, x.tensor(), mean.tensor(), variance.tensor(), out.tensor(), saved_mean.tensor(),
                            saved_inv_std.tensor(), running_mean, running_variance, options);
  const std::int64_t count = count_of_all(*batch, own, x.tensor(), mean.tensor());
  const Variable moments(ctx, ElementType::f64, {mean.tensor().extent(0), numbers_of_part_moments});
  batch_norm_moments(ctx, x.tensor(), moments.tensor(), options);
  batch_norm_by_moments(ctx, x.tensor(), gathered(ctx, *batch, moments).tensor(), mean.tensor(), variance.tensor(),
                        out.tensor(), saved_mean.tensor(), saved_inv_std.tensor(), running_mean, running_variance,
                        options);
  recording.change(params.mean_out);
  recording.change(params.variance_out);
  recording.keep(saved_mean);
  recording.keep(saved_inv_std);
  BatchNormParams kept_options = options;
  kept_options.scale = {};
  kept_options.bias = {};
  recording.finish({&out}, SharedParams{kept_options, batch, count});
  return out;
}

}  // namespace portops::impl
