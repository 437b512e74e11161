// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "images.hpp"

#include <portops/core/error.hpp>

#include <zlib.h>

#include <filesystem>

namespace portops::apps {

namespace fs = std::filesystem;

namespace {

constexpr const char* images_ending = "-images-idx3-ubyte";
constexpr const char* labels_ending = "-labels-idx1-ubyte";
constexpr std::int64_t least_side = 8, most_side = 256;

std::string find_file(const std::string& folder, const std::string& name) {
  std::error_code error;
  for (const char* ending : {"", ".gz"}) {
    const fs::path file = fs::path(folder) / (name + ending);
    if (fs::exists(file, error)) return file.string();
  }
  throw Error((fs::path(folder) / name).string() + ": is not there, nor with .gz behind; expected the files of MNIST " +
              "or Fashion-MNIST (Debian: dataset-fashion-mnist) in the folder that --data names");
}

}  // namespace

void LabelledImages::keep(std::int64_t items) {
  if (items >= this->items()) return;
  labels.resize(static_cast<std::size_t>(items));
  pixels.resize(static_cast<std::size_t>(items * height * width));
}

StoredImages::StoredImages(const std::string& folder, const std::string& part, std::int64_t classes)
    : file_(find_file(folder, part + images_ending), 3) {
  const IdxFile labels_file(find_file(folder, part + labels_ending), 1);
  for (const std::int64_t side : {height(), width()}) {
    if (side < least_side || side > most_side) {
      throw Error(file_.name() + ": images are " + std::to_string(height()) + " by " + std::to_string(width()) +
                  ", expected 8 by 8 to 256 by 256");
    }
  }
  if (file_.items() == 0) throw Error(file_.name() + ": there are no images");
  if (file_.items() != labels_file.items()) {
    throw Error(labels_file.name() + ": there are " + std::to_string(labels_file.items()) + " labels, expected " +
                std::to_string(file_.items()) + ", one for each image");
  }
  const std::vector<std::uint8_t> found = labels_file.read_all();
  labels_.assign(found.begin(), found.end());
  for (std::size_t item = 0; item < labels_.size(); ++item) {
    if (labels_[item] < classes) continue;
    throw Error(labels_file.name() + ": item " + std::to_string(item) + " has the label " +
                std::to_string(labels_[item]) + ", expected less than " + std::to_string(classes) + " (--classes)");
  }
}

void StoredImages::keep(std::int64_t items) {
  if (items < this->items()) labels_.resize(static_cast<std::size_t>(items));
}

LabelledImages StoredImages::read(const std::vector<std::int64_t>& items) const {
  LabelledImages images{height(), width(), file_.read(items), {}};
  for (const std::int64_t item : items) images.labels.push_back(labels_[static_cast<std::size_t>(item)]);
  return images;
}

LabelledImages StoredImages::read_all() const {
  LabelledImages images{height(), width(), file_.read_all(), labels_};
  images.pixels.resize(static_cast<std::size_t>(items() * height() * width()));
  return images;
}

Checksum StoredImages::checksum_of_pixels(std::int64_t first, std::int64_t count) const {
  Checksum sum{.bytes = count * height() * width()};
  file_.scan(first, count, [&](std::span<const std::uint8_t> bytes) {
    sum.value = static_cast<std::uint32_t>(crc32_z(sum.value, bytes.data(), bytes.size()));
  });
  return sum;
}

std::uint32_t StoredImages::checksum(const std::vector<Checksum>& pixels) const {
  const std::int64_t side = width();
  uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(&side), sizeof(side));
  for (const Checksum& each : pixels) sum = crc32_combine(sum, each.value, static_cast<z_off_t>(each.bytes));
  return static_cast<std::uint32_t>(
      crc32_z(sum, reinterpret_cast<const Bytef*>(labels_.data()), labels_.size() * sizeof(std::int64_t)));
}

ImageData read_image_data(const std::string& folder, std::int64_t classes) {
  ImageData data{StoredImages(folder, "train", classes), StoredImages(folder, "t10k", classes).read_all()};
  if (data.test.height != data.train.height() || data.test.width != data.train.width()) {
    throw Error(folder + ": the images to test are " + std::to_string(data.test.height) + " by " +
                std::to_string(data.test.width) + ", expected " + std::to_string(data.train.height()) + " by " +
                std::to_string(data.train.width()) + ", as those to learn from");
  }
  return data;
}

std::vector<std::string> image_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string part : {"train", "t10k"}) {
    names.push_back(find_file(folder, part + images_ending));
    names.push_back(find_file(folder, part + labels_ending));
  }
  return names;
}

std::vector<std::string> class_names(const std::string& folder, std::int64_t classes) {
  const fs::path path = fs::path(folder).lexically_normal();
  const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
  if (classes == 10 && last == "fashion-mnist") {
    return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
  }
  std::vector<std::string> names;
  for (std::int64_t label = 0; label < classes; ++label) names.push_back(std::to_string(label));
  return names;
}

}  // namespace portops::apps
