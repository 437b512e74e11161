// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/full_like/full_like.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "core/map/broadcast_kernels.hpp"
#include "generated/checks.hpp"
#include "ops/full_like/full_like_kernels.hpp"

#include <array>

namespace portops {

void full_like(const Context& ctx, const TensorRef& x, const TensorOrNumber& fill_value, const TensorRef& out) {
  const impl::Region region("portops::full_like");
  impl::check_full_like(ctx, x, fill_value, out);
  if (out.size() == 0) return;

  // A loop's operands are of its type.
  const bool is_operand = !fill_value.is_tensor() || fill_value.tensor().type() == out.type();
  const TensorOrNumber none = 0.0;
  const impl::Loop loop =
      impl::make_loop(out.type(), out.extents(), std::array{is_operand ? &fill_value : &none}, std::array{&out});
  static const impl::MapLabels labels("full_like");
  impl::dispatch(ctx.backend(), out.type(), [&]<Backend B, class T>() {
    if (is_operand) return impl::BroadcastKernels<B, T>::copy(ctx, labels, loop);
    impl::FullLikeKernels<B, T>::fill_rounded(ctx, labels, loop, static_cast<const float*>(fill_value.tensor().data()));
  });
}

}  // namespace portops
