// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/optimizers/count_elements.hpp"
#include "ops/optimizers/optimizer_kernels.hpp"
#include "ops/optimizers/optimizer_steps.hpp"
#include "ops/optimizers/update_lists.hpp"
#include "ops/optimizers/update_scale.hpp"

#include <string>

namespace portops::impl {

/// The labels of a step's kernels.
struct StepLabels {
  explicit StepLabels(const std::string& op)
      : chunks("portops::" + op + "::step[chunks]"),
        strided("portops::" + op + "::step[strided]"),
        powers("portops::" + op + "::powers") {}

  std::string chunks, strided, powers;
};

template <Backend B, class T, class Step, bool has_master>
void update_lists(const Context& ctx, const StepLabels& labels, const StepLists& lists,
                  const typename Step::Numbers& numbers) {
  using Operands = StepOperands<T, Step, has_master>;
  constexpr int chunk = UpdateShape<B, Arithmetic<T>>::chunk;
  launch_over_lists<B, Operands::count, chunk>(ctx, labels.chunks, lists.dense, [&]<class Table>(const Table& table) {
    return UpdateChunks<B, T, Step, has_master, Table>(table, numbers);
  });
  for (const StepItem& item : lists.strided) {
    launch_by_items<B>(ctx, labels.strided, UpdateStrided<B, T, Step, has_master>(item, numbers));
  }
}

template <Backend B, class T, class Step>
void update_lists(const Context& ctx, const StepLabels& labels, const StepLists& lists, bool has_master,
                  const typename Step::Numbers& numbers) {
  has_master ? update_lists<B, T, Step, true>(ctx, labels, lists, numbers)
             : update_lists<B, T, Step, false>(ctx, labels, lists, numbers);
}

template <class A>
StepNumbers<A> numbers_of(const StepOptions& options) {
  return {options.learning_rate,
          options.grad_scale ? TensorOrNumber(options.grad_scale) : TensorOrNumber(1.0),
          options.skip ? TensorOrNumber(options.skip) : TensorOrNumber(0.0),
          static_cast<A>(options.weight_decay),
          options.is_decoupled,
          options.maximize};
}

/// Makes the powers of the next step of those of this one.
struct AdvancePowers {
  static constexpr int blocks = 0;
  StepNumber<double> power[2];
  double beta[2];
  double* out[2];
  StepNumber<std::int64_t> skip;

  static std::int64_t items() { return 2; }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (out[i] != nullptr) *out[i] = skip() != 0 ? power[i]() : power[i]() * beta[i];
  }
};

template <Backend B, class T>
void OptimizerKernels<B, T>::sgd(const Context& ctx, const StepLists& lists, bool has_master,
                                 const StepOptions& options) {
  using A = Arithmetic<T>;
  static const StepLabels labels("sgd");
  update_lists<B, T, SgdStep<A>>(ctx, labels, lists, has_master, numbers_of<A>(options));
}

template <Backend B, class T>
void OptimizerKernels<B, T>::momentum(const Context& ctx, const StepLists& lists, bool has_master,
                                      const StepOptions& options, const MomentumOptions& own) {
  using A = Arithmetic<T>;
  static const StepLabels labels("momentum");
  update_lists<B, T, MomentumStep<A>>(ctx, labels, lists, has_master,
                                      {numbers_of<A>(options), static_cast<A>(own.mu), own.use_nesterov});
}

template <Backend B, class T>
void OptimizerKernels<B, T>::adam(const Context& ctx, const StepLists& lists, bool has_master,
                                  const StepOptions& options, const AdamOptions& own) {
  using A = Arithmetic<T>;
  static const StepLabels labels("adam");
  const typename AdamStep<A>::Numbers numbers{numbers_of<A>(options),
                                              own.beta1_pow,
                                              own.beta2_pow,
                                              static_cast<A>(own.beta1),
                                              static_cast<A>(1.0 - own.beta1),
                                              static_cast<A>(own.beta2),
                                              static_cast<A>(1.0 - own.beta2),
                                              static_cast<A>(own.epsilon)};
  update_lists<B, T, AdamStep<A>>(ctx, labels, lists, has_master, numbers);
  if (!own.beta1_pow_out && !own.beta2_pow_out) return;
  // They may be written where they are read: after the steps.
  launch_by_items<B>(
      ctx, labels.powers,
      AdvancePowers{{own.beta1_pow, own.beta2_pow},
                    {own.beta1, own.beta2},
                    {static_cast<double*>(own.beta1_pow_out.data()), static_cast<double*>(own.beta2_pow_out.data())},
                    numbers.common.skip});
}

template <Backend B, class T>
void OptimizerKernels<B, T>::count_nonfinite(const Context& ctx, const StepLists& lists, std::int64_t* count) {
  static const std::string zero_label = "portops::count_nonfinite::zero";
  static const std::string chunks_label = "portops::count_nonfinite::count[chunks]";
  static const std::string strided_label = "portops::count_nonfinite::count[strided]";
  launch_by_items<B>(ctx, zero_label, ZeroCount{count});
  launch_over_lists<B, 1, CountChunks<B, T, int>::chunk>(
      ctx, chunks_label, lists.dense,
      [&]<class Table>(const Table& table) { return CountChunks<B, T, Table>(table, count); });
  for (const StepItem& item : lists.strided) {
    launch_by_items<B>(ctx, strided_label, CountStrided<B, T>(item, count));
  }
}

template <Backend B, class T>
void OptimizerKernels<B, T>::update_loss_scale(const Context& ctx, const ScaleUpdate& update) {
  static const std::string label = "portops::update_loss_scale::update";
  launch_by_items<B>(ctx, label, UpdateScale<T>(update));
}

}  // namespace portops::impl
