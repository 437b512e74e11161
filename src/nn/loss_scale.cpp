// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/loss_scale.hpp"

#include "core/exec/runtime.hpp"
#include "core/types/fail.hpp"
#include "nn/host_numbers.hpp"
#include "portops/ops/count_nonfinite.hpp"
#include "portops/ops/full_like.hpp"
#include "portops/ops/update_loss_scale.hpp"

namespace portops::nn {
namespace {

constexpr int most_lists = 4;  // one for each element type

Tensor make_count(const Context& ctx, const Extents& extents) {
  static const std::int64_t zeros[most_lists] = {};
  Tensor count(ElementType::i64, extents, default_memory_space(ctx.backend()));
  copy(ctx, TensorRef(zeros, extents), count);
  return count;
}

}  // namespace

LossScale::LossScale(const Context& ctx, const LossScaleParams& params)
    : params_(params),
      scale_(impl::make_numbers(ctx, ElementType::f32, {}, params.initial)),
      grad_scale_(impl::make_numbers(ctx, ElementType::f32, {}, params.initial)),
      good_steps_(make_count(ctx, {})),
      skip_(make_count(ctx, {})),
      counts_(make_count(ctx, {most_lists})) {
  const bool is_right = params.initial > 0 && params.initial <= params.largest && params.largest < 3e38 &&
                        params.growth_factor >= 1 && params.growth_factor < 3e38 && params.backoff_factor > 0 &&
                        params.backoff_factor < 1 && params.growth_interval >= 1;
  if (!is_right) {
    impl::fail("portops::nn::LossScale: initial is ", params.initial, ", largest ", params.largest, ", growth_factor ",
               params.growth_factor, ", backoff_factor ", params.backoff_factor, " and growth_interval ",
               params.growth_interval,
               ", expected 0 < initial <= largest, growth_factor >= 1, 0 < backoff_factor < 1, growth_interval >= 1");
  }
}

Variable LossScale::loss_grad(const Context& ctx, const Variable& loss) const {
  const TensorRef& tensor = loss.tensor();
  if (!tensor || tensor.type() == ElementType::f64 || tensor.type() == ElementType::i64) {
    impl::fail("portops::nn::LossScale::loss_grad: the loss is ",
               tensor ? "of " + std::string(name_of(tensor.type())) : "empty", ", expected f32, f16 or bf16");
  }
  Variable grad(ctx, tensor.type(), tensor.extents());
  full_like(ctx, tensor, scale_, grad.tensor());
  return grad;
}

double LossScale::value(const Context& ctx) const { return impl::read_numbers(ctx, scale_)[0]; }

State LossScale::state() const { return {{"scale", scale_}, {"good_steps", good_steps_}}; }

void LossScale::follow(const Context& ctx, const std::vector<std::span<const TensorRef>>& gradients) {
  std::vector<TensorRef> counts;
  for (const std::span<const TensorRef> list : gradients) {
    const std::size_t at = counts.size();
    counts.emplace_back(counts_.data<std::int64_t>() + at, ElementType::i64, Extents(), Extents(),
                        counts_.ref().space());
    count_nonfinite(ctx, list, counts.back());
  }
  update_loss_scale(ctx, scale_, good_steps_, counts, scale_, good_steps_, grad_scale_, skip_,
                    {.growth_factor = params_.growth_factor,
                     .backoff_factor = params_.backoff_factor,
                     .growth_interval = params_.growth_interval,
                     .largest = params_.largest});
}

}  // namespace portops::nn
