// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture.hpp"

#include <portops/core/error.hpp>

#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace portops::apps {

namespace {

/// libpng's description of a picture, freed with it.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

double light_of(double srgb) { return srgb <= 0.04045 ? srgb / 12.92 : std::pow((srgb + 0.055) / 1.055, 2.4); }

}  // namespace

Picture read_png(const std::string& name) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(name.c_str(), "rbe"), &std::fclose);
  if (!stream) throw Error(name + ": cannot be read: " + std::strerror(errno));
  PngImage image;
  if (png_image_begin_read_from_stdio(&image, stream.get()) == 0) {
    throw Error(name + ": cannot be read as PNG: " + image.message);
  }
  image.format = PNG_FORMAT_RGB;
  Picture picture{static_cast<std::int64_t>(image.width), static_cast<std::int64_t>(image.height), {}};
  picture.rgb.resize(static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) * 3);
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, picture.rgb.data(), 0, nullptr) == 0) {
    throw Error(name + ": cannot be read as PNG: " + image.message);
  }
  return picture;
}

void write_png(OutputFile& file, const Picture& picture) {
  PngImage image;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_stdio(&image, file.stream(), 0, picture.rgb.data(), 0, nullptr) == 0) {
    throw Error(file.name() + ": cannot be written: " + image.message);
  }
}

Picture crop_centre(const Picture& picture, std::int64_t width, std::int64_t height) {
  Picture cropped{width, height, {}};
  const std::int64_t left = (picture.width - width) / 2;
  const std::int64_t top = (picture.height - height) / 2;
  for (std::int64_t row = 0; row < height; ++row) {
    const auto start = picture.rgb.begin() + ((top + row) * picture.width + left) * 3;
    cropped.rgb.insert(cropped.rgb.end(), start, start + width * 3);
  }
  return cropped;
}

const std::vector<double>& light_of_levels() {
  static const std::vector<double> light = [] {
    std::vector<double> values;
    for (int level = 0; level < 256; ++level) values.push_back(light_of(level / 255.0));
    return values;
  }();
  return light;
}

std::uint8_t level_of_light(double light) {
  // The light half-way (in sRGB) between neighbouring levels: a search among 255 instead of a power for every value.
  static const std::vector<double> borders = [] {
    std::vector<double> values;
    for (int level = 0; level < 255; ++level) values.push_back(light_of((level + 0.5) / 255.0));
    return values;
  }();
  return static_cast<std::uint8_t>(std::upper_bound(borders.begin(), borders.end(), light) - borders.begin());
}

}  // namespace portops::apps
