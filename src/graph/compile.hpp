// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/graph/program.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace portops::graph {

struct CompiledData;

/// Which reshapes, transpositions, slices and splits move nothing: the calls behind them read the elements where they
/// lie. None; those whose elements lie one after the other and begin where a copy's could, a multiple of 256 bytes
/// behind what they show; or all that strides can say. A split's parts are views together or not at all. Operators that
/// add up may do so in another order where elements lie otherwise: with `all` they round as plain calls on transposed()
/// and sliced() do.
enum class Views : std::uint8_t { none, contiguous, all };

struct CompileParams {
  /// Whether calls on constants alone are made now. Those remain in the plan whose results have more than 1 MiB and
  /// more than four times the bytes of what they read, or would make all that is folded larger than 256 MiB and the
  /// program's constants together. The bits stay.
  bool fold_constants = true;
  /// Whether a batch norm of given statistics (is_test) that follows a convolution is taken into its weights, where all
  /// of these are constants. The result is then rounded otherwise.
  bool fold_batch_norm = true;
  /// Whether what is added to the result of a linear layer or of a convolution becomes its bias. The result is then
  /// rounded otherwise.
  bool fold_bias = true;
  /// Whether outputs are written over inputs where the schema allows it and nobody reads these any more.
  bool in_place = true;
  Views views = Views::all;
  /// Whether images that convolutions and their gradients make and read lie with their channels last where all calls
  /// that they go through take them so. Averages, sums over pixels, batch norms, gradients of weights, convolutions of
  /// hosts that go in tiles (docs/design.md) and those of GPUs may be rounded otherwise.
  bool channels_last = true;
  /// Whether values that do not live at one time may share memory. Without it every value has its own.
  bool reuse_memory = true;
  /// How many instances there are for calls that do not stand on each other; 1 to 64. On hosts one does for all.
  std::int32_t instances = 1;

  /// What changes no bit: the results are those of the plain calls of the program.
  static CompileParams same_bits() {
    CompileParams params;
    params.fold_batch_norm = params.fold_bias = false;
    params.views = Views::contiguous;
    params.channels_last = false;
    return params;
  }
};

/// A program with its plan: which calls run in which order, and where their results lie in one arena. The plan is
/// verified before it is handed out. Copies share it; any number of threads may have an Execution each.
class CompiledProgram {
 public:
  /// Drops the calls that no output needs, folds, plans and verifies. What is folded is computed by calls with this
  /// context, which are waited for; constants are copied to the memory of its backend.
  /// Throws Error when a parameter does not fit, when the values between inputs and outputs have more bytes than 64
  /// bits can count, and what the calls throw that are made.
  PORTOPS_EXPORT CompiledProgram(const Context& ctx, const Program& program, const CompileParams& params = {});

  /// As it runs: folded.
  PORTOPS_EXPORT const Program& program() const;
  PORTOPS_EXPORT Backend backend() const;
  /// Of what each execution allocates for the values between inputs and outputs.
  PORTOPS_EXPORT std::int64_t arena_bytes() const;
  /// The largest sum of the bytes of such values that live at one time: no arena can be smaller.
  PORTOPS_EXPORT std::int64_t live_bytes() const;
  /// How many calls a run makes, those included that others make where they write: relus and maxima behind a batch
  /// norm, on hosts additions, relus and clips behind a convolution.
  PORTOPS_EXPORT std::int32_t calls() const;
  /// A line for each step, with the places of what it writes, and which images lie with their channels last:
  ///
  ///   linear_0: arena 0..96 = linear
  ///   relu_1: arena 0..96 = relu
  PORTOPS_EXPORT std::string to_string() const;

  /// For the library's own use.
  const std::shared_ptr<const CompiledData>& data() const { return data_; }

 private:
  std::shared_ptr<const CompiledData> data_;
};

}  // namespace portops::graph
