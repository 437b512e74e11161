// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/activation_loop.hpp"

#include <array>

namespace portops::impl {

Loop make_activation_loop(const TensorRef& x, const TensorRef& out) {
  const TensorOrNumber of_x = x;
  return make_loop(out.type(), out.extents(), std::array{&of_x}, std::array{&out});
}

Loop make_activation_loop(const TensorRef& kept, const TensorRef& out_grad, const TensorRef& x_grad) {
  const TensorOrNumber of_kept = kept, of_out = out_grad;
  return make_loop(x_grad.type(), x_grad.extents(), std::array{&of_kept, &of_out}, std::array{&x_grad});
}

}  // namespace portops::impl
