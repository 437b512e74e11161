// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <cmath>
#include <limits>
#include <optional>

// Normalisation and its gradient, written plainly, in long double, and the errors that the pages promise.

namespace portops::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Elements in the order of their indices, and how far each may be off.
struct Expected {
  explicit Expected(std::int64_t size = 0)
      : value(static_cast<std::size_t>(size)), error(static_cast<std::size_t>(size)) {}

  std::vector<double> value;
  std::vector<double> error;
};

/// With no error.
inline Expected exactly(const std::vector<double>& values) {
  Expected expected(static_cast<std::int64_t>(values.size()));
  expected.value = values;
  return expected;
}

template <class T>
std::vector<double> values_of(const TestTensor<T>& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor[static_cast<std::int64_t>(i)];
  return values;
}

/// What elements are normalised together, and which element of scale and bias each has.
struct NormShape {
  std::int64_t groups;
  std::int64_t group_size;
  std::vector<std::int64_t> group_of;      ///< of each element of x
  std::vector<std::int64_t> parameter_of;  ///< of each element of x
  std::int64_t parameters;
};

struct NormReference {
  Expected out, mean, inv_std, variance, x_grad, scale_grad, bias_grad;
};

template <class T>
constexpr double norm_error() {
  return std::is_same_v<T, double> ? 1e-12 : 2e-6;
}
template <class T>
constexpr double mean_error() {
  return std::is_same_v<T, double> ? 2.3e-16 : 1.2e-7;
}
/// The least difference that counts, besides one rounding to T.
template <class T>
double rounded(double value) {
  const double least = std::is_same_v<T, f16> ? 0x1p-24 : std::is_same_v<T, double> ? 0x1p-1074 : 0x1p-133;
  return (sizeof(T) == 2 ? 1.01 * rounding<T>() * std::abs(value) : 0.0) + least;
}

/// What groups are normalised by.
struct Statistics {
  std::vector<long double> mean, variance;
};

/// out and inv_std. `error_of_mean` is that of the mean beside its magnitude: none where it is given.
template <class T>
void normalize_by(NormReference& to, const NormShape& shape, const std::vector<double>& x, const Statistics& by,
                  const std::vector<double>& scale, const std::vector<double>& bias, double epsilon,
                  double error_of_mean) {
  to.inv_std = Expected(shape.groups);
  to.out = Expected(static_cast<std::int64_t>(x.size()));
  for (std::size_t g = 0; g < by.mean.size(); ++g) {
    to.inv_std.value[g] = static_cast<double>(1.0L / std::sqrt(by.variance[g] + epsilon));
    to.inv_std.error[g] = (std::is_same_v<T, double> ? 1e-13 : 1e-6) * to.inv_std.value[g];
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto g = static_cast<std::size_t>(shape.group_of[i]), p = static_cast<std::size_t>(shape.parameter_of[i]);
    const double w = scale.empty() ? 1.0 : scale[p], b = bias.empty() ? 0.0 : bias[p];
    const auto normal = static_cast<double>((x[i] - by.mean[g]) / std::sqrt(by.variance[g] + epsilon));
    const auto mean_size = static_cast<double>(std::abs(by.mean[g])) * to.inv_std.value[g];
    to.out.value[i] = normal * w + b;
    to.out.error[i] = norm_error<T>() * (std::abs(normal * w) + std::abs(b)) +
                      error_of_mean * (mean_size + 1.0) * std::abs(w) + rounded<T>(to.out.value[i]);
  }
}

/// out, mean, inv_std and variance of x.
template <class T>
void normalize_plainly(NormReference& to, const NormShape& shape, const std::vector<double>& x,
                       const std::vector<double>& scale, const std::vector<double>& bias, double epsilon) {
  const auto groups = static_cast<std::size_t>(shape.groups);
  Statistics of_x{std::vector<long double>(groups), std::vector<long double>(groups)};
  std::vector<long double>&mean = of_x.mean, &variance = of_x.variance;
  std::vector<long double> largest(groups);
  const auto n = static_cast<long double>(shape.group_size);
  const auto group = [&](std::size_t i) { return static_cast<std::size_t>(shape.group_of[i]); };
  for (std::size_t i = 0; i < x.size(); ++i) mean[group(i)] += static_cast<long double>(x[i]) / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double distance = x[i] - mean[group(i)];
    variance[group(i)] += distance * distance / n;
    largest[group(i)] = std::max(largest[group(i)], std::abs(distance));
  }
  to.mean = to.variance = Expected(shape.groups);
  const bool wide = std::is_same_v<T, double>;
  for (std::size_t g = 0; g < groups; ++g) {
    to.mean.value[g] = static_cast<double>(mean[g]);
    to.mean.error[g] = (wide ? 1e-15 : 2e-7) * static_cast<double>(std::abs(mean[g]) + largest[g]) + 0x1p-148;
    to.variance.value[g] = static_cast<double>(variance[g]);
    to.variance.error[g] = (wide ? 2e-13 : 2e-6) * static_cast<double>(variance[g]) + 0x1p-148;
  }
  normalize_by<T>(to, shape, x, of_x, scale, bias, epsilon, mean_error<T>());
}

/// The gradients, of statistics as they were given: of x, or with `is_test` of whatever else. P is the type of scale
/// and bias.
template <class T, class P>
void differentiate_plainly(NormReference& to, const NormShape& shape, const std::vector<double>& x,
                           const std::vector<double>& mean, const std::vector<double>& inv_std,
                           const std::vector<double>& scale, const std::vector<double>& out_grad,
                           bool is_test = false) {
  const auto groups = static_cast<std::size_t>(shape.groups), parameters = static_cast<std::size_t>(shape.parameters);
  std::vector<long double> sum(groups), product(groups), size(groups), product_size(groups);
  std::vector<long double> of_scale(parameters), scale_size(parameters), of_bias(parameters), bias_size(parameters);
  const auto at = [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(shape.group_of[i]), p = static_cast<std::size_t>(shape.parameter_of[i]);
    return std::tuple(g, p, (static_cast<long double>(x[i]) - mean[g]) * inv_std[g],
                      out_grad[i] * static_cast<long double>(scale.empty() ? 1.0 : scale[p]));
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto [g, p, normal, weighted] = at(i);
    sum[g] += weighted;
    size[g] += std::abs(weighted);
    product[g] += weighted * normal;
    product_size[g] += std::abs(weighted * normal);
    of_scale[p] += out_grad[i] * normal;
    scale_size[p] += std::abs(out_grad[i] * normal);
    of_bias[p] += out_grad[i];
    bias_size[p] += std::abs(out_grad[i]);
  }
  const auto n = static_cast<long double>(shape.group_size);
  to.x_grad = Expected(static_cast<std::int64_t>(x.size()));
  to.scale_grad = to.bias_grad = Expected(shape.parameters);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto [g, p, normal, weighted] = at(i);
    const long double means = is_test ? 0.0L : sum[g] / n + normal * product[g] / n;
    const long double means_size = is_test ? 0.0L : size[g] / n + std::abs(normal) * product_size[g] / n;
    const auto value = static_cast<double>(inv_std[g] * (weighted - means));
    const auto magnitude = static_cast<double>(inv_std[g] * (std::abs(weighted) + means_size));
    to.x_grad.value[i] = value;
    to.x_grad.error[i] = norm_error<T>() * magnitude + rounded<T>(value);
  }
  for (std::size_t p = 0; p < parameters; ++p) {
    to.scale_grad.value[p] = static_cast<double>(of_scale[p]);
    to.scale_grad.error[p] = norm_error<T>() * static_cast<double>(scale_size[p]) + rounded<P>(to.scale_grad.value[p]);
    to.bias_grad.value[p] = static_cast<double>(of_bias[p]);
    to.bias_grad.error[p] = norm_error<T>() * static_cast<double>(bias_size[p]) + rounded<P>(to.bias_grad.value[p]);
  }
}

/// Numbers that T cannot hold are expected as Inf.
template <class T>
bool is_near(T found, double expected, double error) {
  const auto held = static_cast<double>(static_cast<T>(expected));
  if (std::isnan(held)) return std::isnan(static_cast<double>(found));
  if (std::isinf(held)) return static_cast<double>(found) == held;
  return std::abs(static_cast<double>(found) - expected) <= error;
}

template <class T>
void expect_near(TestTensor<T>& found, const Expected& expected, const std::string& what) {
  found.download();
  ASSERT_EQ(static_cast<std::size_t>(found.size()), expected.value.size()) << what;
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (is_near(found.element(i), expected.value[k], expected.error[k])) continue;
    ADD_FAILURE() << what << "[" << i << "] of " << found.extents().to_string() << " is " << found[i] << ", expected "
                  << expected.value[k] << " within " << expected.error[k];
    return;
  }
}

/// The type in which sums of T are accumulated.
template <class T>
using SumsOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace portops::test
