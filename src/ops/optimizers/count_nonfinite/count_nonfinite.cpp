// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/optimizers/count_nonfinite/count_nonfinite.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/optimizers/optimizer_kernels.hpp"

namespace portops {

void count_nonfinite(const Context& ctx, std::span<const TensorRef> x, const TensorRef& count) {
  const impl::Region region("portops::count_nonfinite");
  impl::check_count_nonfinite(ctx, x, count);
  const impl::StepLists lists = impl::make_step_lists({x});
  impl::dispatch(ctx.backend(), x.front().type(), [&]<Backend B, class T>() {
    impl::OptimizerKernels<B, T>::count_nonfinite(ctx, lists, static_cast<std::int64_t*>(count.data()));
  });
}

}  // namespace portops
