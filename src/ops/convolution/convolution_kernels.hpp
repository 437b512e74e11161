// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copies.hpp"
#include "core/exec/context.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <string>

namespace portops::impl {

/// The kernels that convolutions and their gradients share, however they sample x, on one backend for one element type.
template <Backend B, class T>
struct ConvolutionKernels {
  /// Copies elements into another layout.
  static void rearrange(const Context& ctx, const std::string& label, const Rearrangement& what);
  /// Copies elements into other layouts, and sets memory to zero.
  static void copy(const Context& ctx, const std::string& label, const Copies& copies);
  /// Copies sums, which are f32 or f64, into elements of other layouts, each rounded once.
  static void copy_sums(const Context& ctx, const std::string& label, const Copies& copies);
  /// Zeros, up to a multiple of 16 bytes: see core/copy/zeros.hpp.
  static void zero(const Context& ctx, const std::string& label, void* data, std::size_t bytes);
  /// Adds sums to as many others or, where these are the first, writes them there.
  static void add_sums(const Context& ctx, const std::string& label, void* to, const void* from, std::int64_t count,
                       bool first);
  /// Operands: out_grad → bias_grad, for the operator `op`.
  static void bias_grad(const Context& ctx, const char* op, const ReducePlan& plan);
  /// On hosts only: writes to `to` what Finish makes of a contiguous result of so many elements.
  static void finish(const Context& ctx, const std::string& label, const void* from, const ConvolutionOut& to,
                     std::int64_t count);
  /// Whether tiles finish what they write.
  static bool finishes_tiles(const Windows& windows, bool samples_strips);
  // On hosts only: the weight as tiles take it that sample x in strips, or do not.
  static std::size_t packed_weight_bytes(const Windows& windows, bool samples_strips);
  static void pack_weight(const Context& ctx, const std::string& label, const Windows& windows, bool samples_strips,
                          const Tensor4& weight, void* packed_weight);
};

}  // namespace portops::impl
