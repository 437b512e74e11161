// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/tensor.hpp>

#include <cstdint>

namespace portops::apps {

/// The radial part of the Brown–Conrady model of a lens, with the coefficients of OpenCV. What an ideal lens would show
/// at the distance r from the centre is seen in the same direction at
///
///   distorted(r) = r · (1 + k1 · r² + k2 · r⁴ + k3 · r⁶)
///
/// Distances are in units of `radius` pixels; the middle of the first pixel is at 0,0. Where distorted(r) stops to grow
/// the picture of the lens ends: a lens does not show one thing twice.
struct Lens {
  double k1 = 0.0;
  double k2 = 0.0;
  double k3 = 0.0;
  double centre_x = 0.0;
  double centre_y = 0.0;
  double radius = 1.0;
};

enum class Direction { correct, distort };

/// For each pixel of a new picture how far from it, down and across, the picture at hand shows the same: f32
/// [1, 2, height, width], in host memory. Infinite where it does not, being beyond the end of the lens's picture.
Tensor lens_offsets(const Lens& lens, Direction direction, std::int64_t width, std::int64_t height);

}  // namespace portops::apps
