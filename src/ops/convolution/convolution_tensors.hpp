// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/program_call.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <string>

namespace portops::impl {

/// The tensors of a convolution; offset and mask are those of deform_conv2d.
struct ConvolutionTensors {
  TensorRef x, offset, weight, mask, bias, out;
  const ProgramCall* program = nullptr;  ///< where the call is one of a program
  bool x_is_padded = false;  ///< on GPUs: whether what fills up the last 16 bytes of x's pixels is there, and is 0

  /// Whether the program has something made of the result.
  bool finishes() const { return program != nullptr && (program->addend || program->bounds); }
  /// Where the weight is kept as kernels take it, or null.
  Prepared* prepared() const { return program != nullptr ? program->weight : nullptr; }
};

/// Where a convolution leaves images from number `first` on.
inline ConvolutionOut convolution_out(const ConvolutionTensors& t, std::int64_t first = 0) {
  ConvolutionOut to{.out = tensor4(t.out, first),
                    .bias = t.bias ? t.bias.data() : nullptr,
                    .bias_stride = t.bias ? t.bias.stride(0) : 0};
  if (t.finishes()) {
    to.bounds = t.program->bounds;
    if (t.program->addend) to.addend = tensor4(t.program->addend, first).data;
  }
  return to;
}

/// The weight as make(to) writes it: where a program keeps it, or, where none does, in `memory`.
template <class Make>
const void* prepared_weight(const Context& ctx, const ConvolutionTensors& t, const std::string& label,
                            std::size_t bytes, void* memory, const Make& make) {
  if (t.prepared() != nullptr) return t.prepared()->get(ctx, label, bytes, make);
  make(memory);
  return memory;
}

}  // namespace portops::impl
