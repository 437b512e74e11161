// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/program.hpp"
#include "portops/core/context.hpp"

namespace portops::graph {

/// Convolutions whose result goes into a batch norm of given statistics (is_test) and nowhere else take it into their
/// weights: weight · s and (bias − mean) · s + shift with s = scale / √(variance + epsilon), where all of these are
/// constants. Computed on the host in f64 and rounded once to the element type; waits.
Program fold_batch_norms(const Context& ctx, const Program& program);

/// What is added to each channel of a convolution, or each column of a linear layer, without a bias, becomes its bias.
Program fold_biases(const Program& program);

}  // namespace portops::graph
