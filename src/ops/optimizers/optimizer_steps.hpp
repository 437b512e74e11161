// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"
#include "core/types/tensor_ref.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

// What a step does to one element of a parameter and to what the optimizer keeps for it. Made of their numbers where
// they run: some of these lie in memory that only the device can read.

namespace portops::impl {

/// A number that is known when a call is made, or lies in a tensor that is read when its kernels run.
template <class T>
class StepNumber {
 public:
  StepNumber() = default;
  StepNumber(const TensorOrNumber& given)  // NOLINT: implicit by design
      : data_(static_cast<const T*>(given.tensor().data())),
        number_(given.is_tensor() ? T() : static_cast<T>(given.number())) {}

  KOKKOS_FORCEINLINE_FUNCTION T operator()() const { return data_ == nullptr ? number_ : *data_; }

 private:
  const T* data_ = nullptr;
  T number_{};
};

/// What all steps take.
template <class A>
struct StepNumbers {
  StepNumber<A> learning_rate;
  StepNumber<A> grad_scale;
  StepNumber<std::int64_t> skip;
  A weight_decay;
  bool is_decoupled;
  bool maximize;
};

/// The gradient of an element, and its decay.
template <class A>
class StepGradient {
 public:
  KOKKOS_FORCEINLINE_FUNCTION explicit StepGradient(const StepNumbers<A>& numbers)
      : learning_rate_(numbers.learning_rate()),
        factor_((numbers.maximize ? A(-1) : A(1)) / numbers.grad_scale()),
        weight_decay_(numbers.weight_decay),
        kept_(numbers.is_decoupled ? Kokkos::fma(-learning_rate_, numbers.weight_decay, A(1)) : A(1)),
        is_decoupled_(numbers.is_decoupled),
        is_skipped_(numbers.skip() != 0) {}

  KOKKOS_FORCEINLINE_FUNCTION A learning_rate() const { return learning_rate_; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_skipped() const { return is_skipped_; }
  /// Lets the parameter decay, or adds its decay to the gradient.
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A& param, A grad) const {
    const A gradient = factor_ * grad;
    if (weight_decay_ == A(0)) return gradient;
    if (!is_decoupled_) return Kokkos::fma(weight_decay_, param, gradient);
    param *= kept_;
    return gradient;
  }

 private:
  A learning_rate_, factor_, weight_decay_, kept_;
  bool is_decoupled_, is_skipped_;
};

template <class A>
class SgdStep {
 public:
  static constexpr int states = 0;
  using Numbers = StepNumbers<A>;

  KOKKOS_FORCEINLINE_FUNCTION explicit SgdStep(const Numbers& numbers) : gradient_(numbers) {}
  KOKKOS_FORCEINLINE_FUNCTION bool is_skipped() const { return gradient_.is_skipped(); }

  KOKKOS_FORCEINLINE_FUNCTION void operator()(A& param, A* /*state*/, A grad) const {
    const A gradient = gradient_(param, grad);
    param = Kokkos::fma(-gradient_.learning_rate(), gradient, param);
  }

 private:
  StepGradient<A> gradient_;
};

template <class A>
class MomentumStep {
 public:
  static constexpr int states = 1;
  struct Numbers {
    StepNumbers<A> common;
    A mu;
    bool use_nesterov;
  };

  KOKKOS_FORCEINLINE_FUNCTION explicit MomentumStep(const Numbers& numbers)
      : gradient_(numbers.common), mu_(numbers.mu), use_nesterov_(numbers.use_nesterov) {}
  KOKKOS_FORCEINLINE_FUNCTION bool is_skipped() const { return gradient_.is_skipped(); }

  KOKKOS_FORCEINLINE_FUNCTION void operator()(A& param, A* state, A grad) const {
    const A gradient = gradient_(param, grad);
    state[0] = Kokkos::fma(mu_, state[0], gradient);
    const A step = use_nesterov_ ? Kokkos::fma(mu_, state[0], gradient) : state[0];
    param = Kokkos::fma(-gradient_.learning_rate(), step, param);
  }

 private:
  StepGradient<A> gradient_;
  A mu_;
  bool use_nesterov_;
};

template <class A>
class AdamStep {
 public:
  static constexpr int states = 2;
  struct Numbers {
    StepNumbers<A> common;
    StepNumber<double> beta1_pow, beta2_pow;
    A beta1, one_minus_beta1;
    A beta2, one_minus_beta2;
    A epsilon;
  };

  /// The corrections of the moments are worked into the other constants: √(1 − beta2_pow) above and below the line.
  KOKKOS_FORCEINLINE_FUNCTION explicit AdamStep(const Numbers& numbers)
      : gradient_(numbers.common),
        beta1_(numbers.beta1),
        one_minus_beta1_(numbers.one_minus_beta1),
        beta2_(numbers.beta2),
        one_minus_beta2_(numbers.one_minus_beta2) {
    // 1 − a power is taken in double, where little of it is lost.
    const A root = Kokkos::sqrt(static_cast<A>(1.0 - numbers.beta2_pow()));
    learning_rate_ = gradient_.learning_rate() * root / static_cast<A>(1.0 - numbers.beta1_pow());
    epsilon_ = numbers.epsilon * root;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_skipped() const { return gradient_.is_skipped(); }

  KOKKOS_FORCEINLINE_FUNCTION void operator()(A& param, A* state, A grad) const {
    const A gradient = gradient_(param, grad);
    state[0] = Kokkos::fma(beta1_, state[0], one_minus_beta1_ * gradient);
    state[1] = Kokkos::fma(beta2_, state[1], one_minus_beta2_ * gradient * gradient);
    param = Kokkos::fma(-learning_rate_, state[0] / (Kokkos::sqrt(state[1]) + epsilon_), param);
  }

 private:
  StepGradient<A> gradient_;
  A learning_rate_, beta1_, one_minus_beta1_, beta2_, one_minus_beta2_, epsilon_;
};

}  // namespace portops::impl
