// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/optimizers/update_loss_scale/update_loss_scale.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/optimizers/optimizer_kernels.hpp"

#include <cmath>

namespace portops {
namespace {

void check_attributes(const UpdateLossScaleParams& params) {
  const auto check = [](const char* name, double number, bool fits, const char* expected) {
    if (!std::isfinite(number) || !fits) {
      impl::fail("portops::update_loss_scale: ", name, " is ", number, ", expected ", expected);
    }
  };
  check("growth_factor", params.growth_factor, params.growth_factor >= 1, "a finite number, at least 1");
  check("backoff_factor", params.backoff_factor, params.backoff_factor > 0 && params.backoff_factor < 1,
        "more than 0 and less than 1");
  check("largest", params.largest, params.largest > 0, "a finite number, more than 0");
  if (params.growth_interval < 1) {
    impl::fail("portops::update_loss_scale: growth_interval is ", params.growth_interval, ", expected at least 1");
  }
}

void check_counts(std::span<const TensorRef> nonfinite) {
  if (nonfinite.size() > impl::most_nonfinite) {
    impl::fail("portops::update_loss_scale: nonfinite has ", nonfinite.size(), " tensors, expected at most ",
               impl::most_nonfinite);
  }
  for (std::size_t i = 0; i < nonfinite.size(); ++i) {
    if (nonfinite[i].extents().rank() == 0) continue;
    impl::fail("portops::update_loss_scale: nonfinite[", i, "] has extents ", nonfinite[i].extents().to_string(),
               ", expected [] (those of a scalar)");
  }
}

}  // namespace

void update_loss_scale(const Context& ctx, const TensorRef& scale, const TensorRef& good_steps,
                       std::span<const TensorRef> nonfinite, const TensorRef& scale_out,
                       const TensorRef& good_steps_out, const TensorRef& grad_scale, const TensorRef& skip,
                       const UpdateLossScaleParams& params) {
  const impl::Region region("portops::update_loss_scale");
  check_attributes(params);
  impl::check_update_loss_scale(ctx, scale, good_steps, nonfinite, scale_out, good_steps_out, grad_scale, skip);
  check_counts(nonfinite);
  impl::ScaleUpdate update{.scale = scale.data(),
                           .scale_out = scale_out.data(),
                           .grad_scale = grad_scale.data(),
                           .good_steps = static_cast<const std::int64_t*>(good_steps.data()),
                           .good_steps_out = static_cast<std::int64_t*>(good_steps_out.data()),
                           .skip = static_cast<std::int64_t*>(skip.data()),
                           .lists = static_cast<int>(nonfinite.size()),
                           .growth_factor = params.growth_factor,
                           .backoff_factor = params.backoff_factor,
                           .growth_interval = params.growth_interval,
                           .largest = params.largest};
  for (std::size_t i = 0; i < nonfinite.size(); ++i) {
    update.nonfinite[i] = static_cast<const std::int64_t*>(nonfinite[i].data());
  }
  impl::dispatch(ctx.backend(), scale.type(), [&]<Backend B, class T>() {
    if (!std::isfinite(static_cast<double>(static_cast<T>(params.largest)))) {
      impl::fail("portops::update_loss_scale: largest is ", params.largest, ", which ", name_of(scale.type()),
                 " cannot hold");
    }
    impl::OptimizerKernels<B, T>::update_loss_scale(ctx, update);
  });
}

}  // namespace portops
