// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"

#include <portops/core/context.hpp>
#include <portops/core/tensor_ref.hpp>
#include <portops/graph/program.hpp>

namespace portops::apps {

/// What a network that has been trained does as a program, with its numbers as constants in host memory: the input
/// `images`, of these extents [N, 1, H, W] and of the network's type, grey from 0 to 1; the output `scores` [N,
/// classes], the probability of each class. `options` are those that the network was made with. Returns when all is
/// copied.
graph::Program inference_program(const Context& ctx, nn::Module& trained, const NetworkOptions& options,
                                 const Extents& images);

}  // namespace portops::apps
