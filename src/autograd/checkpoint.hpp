// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"

#include <functional>
#include <vector>

namespace portops::autograd {

using Segment = std::function<std::vector<Variable>(const Context& ctx, const std::vector<Variable>& inputs)>;

/// Calls that keep nothing for their gradients: what `segment` gives for the inputs. A backward pass that comes to it
/// calls the segment once more, on the pass's context, for what its gradients read. The memory that the calls inside
/// would keep is paid for with their time.
///
/// The segment makes the same calls both times, on the inputs and on what else it captures, which must be there as it
/// is until then, and unchanged; random numbers come from seeds and offsets and are the same by themselves. The bits of
/// the gradients are those without a checkpoint.
///
/// A pass throws Error, in its course, when an input has been changed in place, or the segment makes other calls.
PORTOPS_EXPORT std::vector<Variable> checkpoint(const Context& ctx, const Segment& segment,
                                                const std::vector<Variable>& inputs);

}  // namespace portops::autograd
