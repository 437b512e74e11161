// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace portops::apps {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The last place before f, which is positive at 0 and not at `high`, becomes 0 or less.
template <class Function>
double bisect(double high, Function&& f) {
  for (double low = 0.0;;) {
    const double middle = low + (high - low) / 2.0;
    if (middle <= low || middle >= high) return low;
    (f(middle) > 0.0 ? low : high) = middle;
  }
}

/// The positive roots of a·x² + b·x + c, ascending.
std::vector<double> positive_roots(double a, double b, double c) {
  const double root = std::sqrt(b * b - 4.0 * a * c);
  const double q = -0.5 * (b + std::copysign(root, b));
  std::vector<double> roots;
  for (const double x : {q / a, c / q}) {
    if (x > 0.0 && x < infinity) roots.push_back(x);  // no NaN either
  }
  std::sort(roots.begin(), roots.end());
  return roots;
}

class RadialModel {
 public:
  explicit RadialModel(const Lens& lens) : k1_(lens.k1), k2_(lens.k2), k3_(lens.k3), end_(end()) {
    if (end_ < infinity) distorted_end_ = end_ * factor(end_ * end_);
  }

  /// By how much the distance r grows; infinite where the lens shows nothing.
  double distortion(double r) const { return r > end_ ? infinity : factor(r * r); }

  double correction(double r) const {
    if (r == 0.0) return 1.0;
    return r > distorted_end_ ? infinity : undistorted(r) / r;
  }

 private:
  double factor(double r2) const { return 1.0 + r2 * (k1_ + r2 * (k2_ + r2 * k3_)); }
  /// The derivative of distorted(r).
  double slope(double r2) const { return 1.0 + r2 * (3.0 * k1_ + r2 * (5.0 * k2_ + r2 * 7.0 * k3_)); }

  /// The r where the slope becomes 0. It is 1 at the centre and monotone between its extremes.
  double end() const {
    std::vector<double> bounds = positive_roots(21.0 * k3_, 10.0 * k2_, 3.0 * k1_);
    const double leading = k3_ != 0.0 ? k3_ : k2_ != 0.0 ? k2_ : k1_;
    if (leading < 0.0) {
      double far = bounds.empty() ? 1.0 : 2.0 * bounds.back();
      while (slope(far) > 0.0) far *= 2.0;
      bounds.push_back(far);
    }
    for (const double high : bounds) {
      if (slope(high) <= 0.0) return std::sqrt(bisect(high, [this](double r2) { return slope(r2); }));
    }
    return infinity;
  }

  /// The distance that is distorted to r, by Newton's steps, or bisection where they would leave the bracket.
  double undistorted(double r) const {
    const auto missing = [this, r](double x) { return r - x * factor(x * x); };
    double low = 0.0;
    double high = end_;
    if (end_ == infinity) {
      for (high = r; missing(high) > 0.0;) high *= 2.0;
    }
    double x = std::min(r, high);
    for (int i = 0; i < 100; ++i) {
      const double error = missing(x);
      if (error == 0.0) return x;
      (error > 0.0 ? low : high) = x;
      double next = x + error / slope(x * x);
      if (!(next > low && next < high)) next = low + (high - low) / 2.0;
      if (std::abs(next - x) <= 1e-15 * x) return next;
      x = next;
    }
    return x;
  }

  double k1_;
  double k2_;
  double k3_;
  double end_;  // the largest r that the lens shows
  double distorted_end_ = infinity;
};

}  // namespace

Tensor lens_offsets(const Lens& lens, Direction direction, std::int64_t width, std::int64_t height) {
  const RadialModel model(lens);
  Tensor offsets(ElementType::f32, {1, 2, height, width});
  float* down = offsets.data<float>();
  float* across = down + height * width;
  for (std::int64_t row = 0; row < height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      const double y = static_cast<double>(row) - lens.centre_y;
      const double x = static_cast<double>(column) - lens.centre_x;
      const double r = std::hypot(x, y) / lens.radius;
      const double scale = direction == Direction::correct ? model.distortion(r) : model.correction(r);
      const bool shown = scale < infinity;
      *down++ = static_cast<float>(shown ? (scale - 1.0) * y : infinity);
      *across++ = static_cast<float>(shown ? (scale - 1.0) * x : infinity);
    }
  }
  return offsets;
}

}  // namespace portops::apps
