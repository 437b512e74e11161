// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/operators.hpp"
#include "portops/autograd/variable.hpp"
#include "portops/nn/module.hpp"

#include <memory>

namespace portops::impl {

/// autograd::batch_norm, without is_test, of a batch of which x is this process's share: by the statistics of all of
/// it, and with the gradients of all of it. Throws Error as that does, and as BatchNorm2d says.
autograd::Variable shared_batch_norm(const Context& ctx, const std::shared_ptr<const nn::SharedBatch>& batch,
                                     const autograd::Variable& x, const autograd::Variable& mean,
                                     const autograd::Variable& variance, const autograd::BatchNormParams& params);

}  // namespace portops::impl
