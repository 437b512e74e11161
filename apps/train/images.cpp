// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "images.hpp"

#include "idx.hpp"

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

LabelledImages read_part(const std::string& folder, const std::string& part, std::int64_t classes) {
  const std::string images_name = find_file(folder, part + images_ending);
  const std::string labels_name = find_file(folder, part + labels_ending);
  IdxArray images = read_idx(images_name, 3);
  const IdxArray labels = read_idx(labels_name, 1);
  LabelledImages result{images.extents[1], images.extents[2], std::move(images.bytes), {}};
  for (const std::int64_t side : {result.height, result.width}) {
    if (side < least_side || side > most_side) {
      throw Error(images_name + ": images are " + std::to_string(result.height) + " by " +
                  std::to_string(result.width) + ", expected 8 by 8 to 256 by 256");
    }
  }
  if (images.extents[0] == 0) throw Error(images_name + ": there are no images");
  if (images.extents[0] != labels.extents[0]) {
    throw Error(labels_name + ": there are " + std::to_string(labels.extents[0]) + " labels, expected " +
                std::to_string(images.extents[0]) + ", one for each image");
  }
  result.labels.assign(labels.bytes.begin(), labels.bytes.end());
  for (std::size_t item = 0; item < result.labels.size(); ++item) {
    if (result.labels[item] < classes) continue;
    throw Error(labels_name + ": item " + std::to_string(item) + " has the label " +
                std::to_string(result.labels[item]) + ", expected less than " + std::to_string(classes) +
                " (--classes)");
  }
  return result;
}

}  // namespace

void LabelledImages::keep(std::int64_t items) {
  if (items >= this->items()) return;
  labels.resize(static_cast<std::size_t>(items));
  pixels.resize(static_cast<std::size_t>(items * height * width));
}

std::uint32_t LabelledImages::checksum() const {
  uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(&width), sizeof(width));
  sum = crc32_z(sum, pixels.data(), pixels.size());
  return static_cast<std::uint32_t>(
      crc32_z(sum, reinterpret_cast<const Bytef*>(labels.data()), labels.size() * sizeof(std::int64_t)));
}

ImageData read_image_data(const std::string& folder, std::int64_t classes) {
  ImageData data{read_part(folder, "train", classes), read_part(folder, "t10k", classes)};
  if (data.test.height != data.train.height || data.test.width != data.train.width) {
    throw Error(folder + ": the images to test are " + std::to_string(data.test.height) + " by " +
                std::to_string(data.test.width) + ", expected " + std::to_string(data.train.height) + " by " +
                std::to_string(data.train.width) + ", as those to learn from");
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
