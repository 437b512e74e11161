// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <portops/ops/p_norm.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

// p_norm and its gradient, written plainly in double.

namespace portops::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Orders that may have code of their own, and others.
inline const std::vector<double> all_orders{0.0, 1.0,  2.0,  3.0,  4.0,  0.5, 1.5, 2.5,
                                            2.3, 10.0, -1.0, -2.0, -0.7, inf, -inf};

/// For each axis of x, whether it is reduced.
inline std::array<bool, max_rank> reduced_axes_of(const Extents& x, const PNormParams& params) {
  std::array<bool, max_rank> reduced{};
  reduced.fill(params.asvector);
  if (params.asvector) return reduced;
  const int axes = std::max(x.rank(), 1);
  for (const std::int64_t axis : params.axis) reduced[static_cast<std::size_t>(axis < 0 ? axis + axes : axis)] = true;
  return reduced;
}

/// The extents of `out`.
inline Extents out_extents(const Extents& x, const PNormParams& params) {
  const std::array<bool, max_rank> reduced = reduced_axes_of(x, params);
  std::vector<std::int64_t> kept;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool is_reduced = reduced[static_cast<std::size_t>(axis)];
    if (!is_reduced || params.keepdim) kept.push_back(is_reduced ? 1 : x[axis]);
  }
  return Extents(std::span<const std::int64_t>(kept));
}

/// Which element of `out` each element of x belongs to.
struct Reduction {
  Extents extents;                 ///< of `out`
  std::vector<std::size_t> group;  ///< of each element of x: an index in `out`

  Reduction(const Extents& x, const PNormParams& params)
      : extents(out_extents(x, params)), group(static_cast<std::size_t>(x.product())) {
    const std::array<bool, max_rank> reduced = reduced_axes_of(x, params);
    Extents stride = Extents::of_rank(x.rank());  // in `out`
    std::int64_t next = 1;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      if (reduced[static_cast<std::size_t>(axis)]) continue;
      stride[axis] = next;
      next *= x[axis];
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      auto rest = static_cast<std::int64_t>(i);
      std::int64_t index = 0;
      for (int axis = x.rank() - 1; axis >= 0; --axis) {
        index += rest % x[axis] * stride[axis];
        rest /= x[axis];
      }
      group[i] = static_cast<std::size_t>(index);
    }
  }

  std::size_t groups() const { return static_cast<std::size_t>(extents.product()); }
};

/// The elements in the order of their indices, from the tensor's copy on the host.
template <class T>
std::vector<double> values_of(const TestTensor<T>& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.extents().product()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor[static_cast<std::int64_t>(i)];
  return values;
}

/// What p_norm must give. Sums are relative to the element that dominates them, so that no power matters that overflows
/// or underflows.
inline std::vector<double> reference_norms(const std::vector<double>& x, const Reduction& reduction, double p) {
  struct Group {
    double dominant = 0.0;
    long double sum = 0.0L;
    double nonzeros = 0.0;
    bool has_elements = false;
    bool has_nan = false;
  };
  Group none;
  none.dominant = p < 0.0 ? inf : 0.0;
  std::vector<Group> groups(reduction.groups(), none);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Group& group = groups[reduction.group[i]];
    const double magnitude = std::abs(x[i]);
    group.has_elements = true;
    group.has_nan = group.has_nan || std::isnan(magnitude);
    if (magnitude != 0.0) group.nonzeros += 1.0;
    group.dominant = p < 0.0 ? std::fmin(group.dominant, magnitude) : std::fmax(group.dominant, magnitude);
  }
  const bool is_sum = p != 0.0 && !std::isinf(p);
  for (std::size_t i = 0; is_sum && i < x.size(); ++i) {
    Group& group = groups[reduction.group[i]];
    group.sum += std::pow(std::abs(x[i]) / group.dominant, p);
  }
  std::vector<double> norms;
  for (const Group& group : groups) {
    if (!group.has_elements) {
      norms.push_back(0.0);
    } else if (p == 0.0) {
      norms.push_back(group.nonzeros);
    } else if (group.has_nan) {
      norms.push_back(nan);
    } else if (!is_sum || group.dominant == 0.0 || std::isinf(group.dominant)) {
      norms.push_back(group.dominant);
    } else {
      norms.push_back(group.dominant * std::pow(static_cast<double>(group.sum), 1.0 / p));
    }
  }
  return norms;
}

/// What p_norm_grad must give for x, out and out_grad.
inline std::vector<double> reference_gradients(const std::vector<double>& x, const std::vector<double>& out,
                                               const std::vector<double>& out_grad, const Reduction& reduction,
                                               const PNormParams& params) {
  const double p = params.porder;
  std::vector<double> ties(out.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::abs(x[i]) == out[reduction.group[i]]) ties[reduction.group[i]] += 1.0;
  }
  std::vector<double> gradients(x.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (p == 0.0 || x[i] == 0.0) continue;
    const std::size_t group = reduction.group[i];
    const double magnitude = std::abs(x[i]);
    const double signed_grad = x[i] < 0.0 ? -out_grad[group] : out_grad[group];
    if (std::isnan(magnitude)) {
      gradients[i] = nan;
    } else if (!std::isinf(p)) {
      gradients[i] = signed_grad * std::pow(magnitude / (out[group] + params.epsilon), p - 1.0);
    } else if (magnitude == out[group]) {
      gradients[i] = signed_grad / ties[group];
    }
  }
  return gradients;
}

/// How far a result may lie from `value`: 1e-12 (f64) or 2e-6 of it, so many times, one rounding of the half types, and
/// what rounding may leave where numbers are subnormal.
template <class T>
double tolerance(double value, double times = 1.0) {
  if (value == 0.0) return 0.0;
  const double computing = std::is_same_v<T, double> ? 1e-12 : 2e-6;
  const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
  const double subnormal = std::is_same_v<T, double>  ? 0x1p-1073
                           : std::is_same_v<T, float> ? 0x1p-148
                           : std::is_same_v<T, f16>   ? 0x1p-25
                                                      : 0x1.02p-134;
  return (times * computing + last) * std::abs(value) + subnormal;
}

/// From where on rounding to T gives Inf.
template <class T>
constexpr double too_large() {
  return std::is_same_v<T, double>  ? std::numeric_limits<double>::max()
         : std::is_same_v<T, float> ? 0x1.ffffffp127
         : std::is_same_v<T, f16>   ? 65520.0
                                    : 0x1.ffp127;
}

/// NaN for NaN, Inf where the element type holds no more, and else a number within a tolerance.
template <class T>
bool is_near(T found, double expected, double within) {
  const auto value = static_cast<double>(found);
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(value)) {
    return std::abs(expected) + within >= too_large<T>() && std::signbit(value) == std::signbit(expected);
  }
  return std::isfinite(expected) && std::abs(value - expected) <= within;
}

/// Reads a tensor back and expects that its elements are near others; `within` gives the tolerance for one.
template <class T, class Within>
void expect_elements(TestTensor<T>& tensor, const std::vector<double>& expected, const std::string& what,
                     const Within& within) {
  tensor.download();
  ASSERT_EQ(tensor.extents().product(), static_cast<std::int64_t>(expected.size())) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const T element = tensor.element(static_cast<std::int64_t>(i));
    if (is_near(element, expected[i], within(expected[i]))) continue;
    ADD_FAILURE() << what << ": element " << i << " is " << static_cast<double>(element) << ", expected " << expected[i]
                  << " within " << within(expected[i]);
    return;
  }
}

/// That norms are near to the reference; those of order 0 and ±inf are the very numbers.
template <class T>
void expect_norms(TestTensor<T>& out, std::vector<double> expected, double p, const std::string& what) {
  if (p == 0.0 || std::isinf(p)) {
    for (double& norm : expected) norm = static_cast<double>(static_cast<T>(norm));
    expect_elements(out, expected, what, [](double) { return 0.0; });
  } else {
    expect_elements(out, expected, what, [](double norm) { return tolerance<T>(norm); });
  }
}

/// That gradients are near to the reference. The power p − 1 multiplies the error of what it is taken of.
template <class T>
void expect_gradients(TestTensor<T>& x_grad, const std::vector<double>& expected, double p, const std::string& what) {
  const double times = std::isinf(p) ? 1.0 : std::max(1.0, std::abs(p - 1.0));
  expect_elements(x_grad, expected, what, [times](double gradient) { return tolerance<T>(gradient, times); });
}

/// For messages.
template <class T>
std::string describe(const Extents& x, const PNormParams& params) {
  const std::string axes =
      params.asvector ? "all axes" : "axes " + Extents(std::span<const std::int64_t>(params.axis)).to_string();
  return std::string(name_of(ElementTypeOf<T>::value)) + " " + x.to_string() + ", " + axes +
         ", p = " + std::to_string(params.porder);
}

/// Runs p_norm with each of the orders over a tensor whose elements are `values`, and expects the reference.
template <class T>
void check_norms(const Context& ctx, const TensorRef& x, const std::vector<double>& values, PNormParams params,
                 const std::vector<double>& orders, Layout out_layout = Layout::contiguous) {
  const Reduction reduction(x.extents(), params);
  for (const double p : orders) {
    params.porder = p;
    TestTensor<T> out(ctx, reduction.extents, out_layout);
    p_norm(ctx, x, out.ref(), params);
    expect_norms(out, reference_norms(values, reduction, p), p, describe<T>(x.extents(), params));
  }
}

template <class T>
void check_norms(const Context& ctx, const TestTensor<T>& x, const PNormParams& params,
                 const std::vector<double>& orders, Layout out_layout = Layout::contiguous) {
  check_norms<T>(ctx, x.ref(), values_of(x), params, orders, out_layout);
}

/// Runs p_norm and p_norm_grad with each of the orders over a tensor whose elements are `values`, and expects the
/// reference.
template <class T>
void check_gradients(const Context& ctx, const TensorRef& x, const std::vector<double>& values, PNormParams params,
                     const std::vector<double>& orders, Layout out_layout = Layout::contiguous,
                     Layout out_grad_layout = Layout::contiguous, Layout x_grad_layout = Layout::contiguous) {
  const Reduction reduction(x.extents(), params);
  TestTensor<T> out_grad(ctx, reduction.extents, out_grad_layout);
  out_grad.fill_randomly(7);
  const std::vector<double> out_grads = values_of(out_grad);
  for (const double p : orders) {
    params.porder = p;
    TestTensor<T> out(ctx, reduction.extents, out_layout), x_grad(ctx, x.extents(), x_grad_layout);
    p_norm(ctx, x, out.ref(), params);
    p_norm_grad(ctx, x, out.ref(), out_grad.ref(), x_grad.ref(), params);
    out.download();
    const std::vector<double> norms = values_of(out);
    // A norm that is too large for the element type, as of order 0.5 over many elements, has no gradient.
    const auto is_infinite = [](double norm) { return std::isinf(norm); };
    if (p != 1.0 && std::any_of(norms.begin(), norms.end(), is_infinite)) continue;
    expect_gradients(x_grad, reference_gradients(values, norms, out_grads, reduction, params), p,
                     "the gradient of " + describe<T>(x.extents(), params));
  }
}

template <class T>
void check_gradients(const Context& ctx, const TestTensor<T>& x, const PNormParams& params,
                     const std::vector<double>& orders, Layout out_layout = Layout::contiguous,
                     Layout out_grad_layout = Layout::contiguous, Layout x_grad_layout = Layout::contiguous) {
  check_gradients<T>(ctx, x.ref(), values_of(x), params, orders, out_layout, out_grad_layout, x_grad_layout);
}

/// Calls visit(x, its elements) for matrices with packs of every width, each of which starts at the first, second, ...
/// element of its storage.
template <class T, class Visit>
void for_each_misaligned(const Context& ctx, const Visit& visit) {
  constexpr std::int64_t shifts = 9;
  for (const Extents& shape : {Extents{7, 130}, Extents{7, 131}, Extents{7, 132}, Extents{7, 136}}) {
    for (std::int64_t shift = 0; shift < shifts; ++shift) {
      TestTensor<T> storage(ctx, {shape.product() + shifts});
      storage.fill_randomly(1);
      const TensorRef x(static_cast<T*>(storage.ref().data()) + shift, shape, storage.ref().space());
      const std::vector<double> all = values_of(storage);
      visit(x, std::vector<double>(all.begin() + shift, all.begin() + shift + shape.product()));
    }
  }
}

/// Vectors side by side in a matrix: its rows (axis 1) or its columns (axis 0).
struct Vectors {
  Extents extents;
  std::int64_t axis;

  PNormParams params() const { return {.axis = {axis}}; }
  std::int64_t length() const { return extents[static_cast<int>(axis)]; }
  /// The index of element i of a vector.
  std::int64_t at(std::int64_t vector, std::int64_t i) const {
    return axis == 1 ? vector * extents[1] + i : i * extents[1] + vector;
  }
};

inline const std::vector<Vectors> short_vectors{{{3, 1}, 1}, {{3, 2}, 1}, {{4, 33}, 1}, {{33, 4}, 0}};
/// So long that several threads share one.
inline const std::vector<Vectors> long_vectors{{{1, 20001}, 1}, {{3001, 2}, 0}};

/// Magnitudes near both ends of what an element type can hold, and such whose powers are near.
template <class T>
std::vector<double> extreme_magnitudes() {
  if (std::is_same_v<T, double>) return {1e300, 1e200, 1e-160, 1e-200, 1e-300, 1e-310};
  if (std::is_same_v<T, f16>) return {6e4, 3e2, 1e-4, 1e-6, 1e-7};
  if (std::is_same_v<T, bf16>) return {1e38, 1e30, 1e-22, 1e-30, 1e-39};
  return {1e38, 1e30, 1e-22, 1e-30, 1e-38, 1e-42};
}

/// A number of magnitude 0.5 to 1 and of either sign.
inline double scattered(std::int64_t i) {
  const double magnitude = 0.5 + static_cast<double>(i * 37 % 101) / 202.0;
  return i % 2 == 0 ? magnitude : -magnitude;
}

}  // namespace portops::test
