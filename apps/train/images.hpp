// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "idx.hpp"

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
};

/// That of so many bytes, by CRC-32.
struct Checksum {
  std::uint32_t value = 0;
  std::int64_t bytes = 0;
};

/// Images in a file, of which those are read that are asked for; the class of each is in memory.
class StoredImages {
 public:
  /// Of the files PART-images-idx3-ubyte and PART-labels-idx1-ubyte in a folder, each with or without .gz behind.
  /// Throws Error, which names the file, where one is missing or refused by IdxFile, images are smaller than 8 by 8,
  /// which the network needs, or larger than 256 by 256, there are none, images and labels differ in number, or a label
  /// is not below `classes`. So do all functions that read, where a file is cut off.
  StoredImages(const std::string& folder, const std::string& part, std::int64_t classes);

  std::int64_t height() const { return file_.extents()[1]; }
  std::int64_t width() const { return file_.extents()[2]; }
  const std::vector<std::int64_t>& labels() const { return labels_; }
  std::int64_t items() const { return static_cast<std::int64_t>(labels_.size()); }
  /// The first ones alone, where there are more.
  void keep(std::int64_t items);

  /// These items, whose numbers ascend.
  LabelledImages read(const std::vector<std::int64_t>& items) const;
  LabelledImages read_all() const;

  /// Of the pixels of items [first, first + count), which are read for it and not kept. A gzipped file is read as a
  /// whole, and refused where its end is missing or something follows it.
  Checksum checksum_of_pixels(std::int64_t first, std::int64_t count) const;
  /// Of the sizes, the pixels and the labels: of pixels those of stretches, one behind the other, that are all of them.
  std::uint32_t checksum(const std::vector<Checksum>& pixels) const;

 private:
  IdxFile file_;
  std::vector<std::int64_t> labels_;
};

/// What is learned from, and what shows how much has been learned.
struct ImageData {
  StoredImages train;
  LabelledImages test;
};

/// A folder with the names of MNIST: the parts train and t10k, of which that to test is read. Throws Error as
/// StoredImages does, and where the images of the two parts differ in size.
ImageData read_image_data(const std::string& folder, std::int64_t classes);

/// The four files that it reads.
std::vector<std::string> image_files(const std::string& folder);

/// The names of the classes: Fashion-MNIST's, or numbers.
std::vector<std::string> class_names(const std::string& folder, std::int64_t classes);

}  // namespace portops::apps
