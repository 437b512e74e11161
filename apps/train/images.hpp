// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace portops::apps {

/// Grey images of one size, and the class of each.
struct LabelledImages {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;  ///< [items, height, width]
  std::vector<std::int64_t> labels;

  std::int64_t items() const { return static_cast<std::int64_t>(labels.size()); }
  const std::uint8_t* image(std::int64_t item) const { return pixels.data() + item * height * width; }
  /// The first ones alone, where there are more.
  void keep(std::int64_t items);
  /// Of the sizes, the pixels and the labels.
  std::uint32_t checksum() const;
};

/// What is learned from, and what shows how much has been learned.
struct ImageData {
  LabelledImages train;
  LabelledImages test;
};

/// Reads a folder with the names of MNIST: {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each with
/// or without .gz behind. Throws Error, which names the file, where one is missing or refused by read_idx, images are
/// smaller than 8 by 8, which the network needs, or larger than 256 by 256, there are none, images and labels differ in
/// number, the images of the two parts in size, or a label is not below `classes`.
ImageData read_image_data(const std::string& folder, std::int64_t classes);

/// The four files that it reads.
std::vector<std::string> image_files(const std::string& folder);

/// The names of the classes: Fashion-MNIST's, or numbers.
std::vector<std::string> class_names(const std::string& folder, std::int64_t classes);

}  // namespace portops::apps
