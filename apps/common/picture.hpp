// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "output_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace portops::apps {

/// An sRGB picture: 8 bits a channel, three channels a pixel, rows from the top.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgb;

  /// "451 x 300"
  std::string size() const { return std::to_string(width) + " x " + std::to_string(height); }
};

/// Reads any PNG. Grey, palette and 16-bit pictures become 8-bit RGB; what is transparent becomes white. Throws
/// portops::Error with the file's name.
Picture read_png(const std::string& name);

/// Throws portops::Error with the file's name.
void write_png(OutputFile& file, const Picture& picture);

/// The middle of a picture that is at least as large.
Picture crop_centre(const Picture& picture, std::int64_t width, std::int64_t height);

/// The amount of light of each 8-bit level, 0 to 1, by the transfer function of sRGB (IEC 61966-2-1).
const std::vector<double>& light_of_levels();

/// The 8-bit level whose sRGB value is nearest to that of `light`; 0 and 255 for what lies outside of 0 to 1.
std::uint8_t level_of_light(double light);

}  // namespace portops::apps
