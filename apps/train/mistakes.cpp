// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mistakes.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace portops::apps {

namespace {

constexpr std::int64_t none = -1;

/// Of each class the item that is told to be of it with the largest probability, and is.
std::vector<std::int64_t> best_items(const LabelledImages& images, std::span<const Told> told, std::int64_t classes) {
  std::vector<std::int64_t> best(static_cast<std::size_t>(classes), none);
  for (std::size_t item = 0; item < told.size(); ++item) {
    if (told[item].label != images.labels[item]) continue;
    std::int64_t& place = best[static_cast<std::size_t>(told[item].label)];
    if (place == none || told[item].share > told[static_cast<std::size_t>(place)].share) {
      place = static_cast<std::int64_t>(item);
    }
  }
  return best;
}

/// Of a class the items that were told wrongly, the most confident first.
std::vector<std::int64_t> worst_items(const LabelledImages& images, std::span<const Told> told, std::int64_t label) {
  std::vector<std::int64_t> worst;
  for (std::size_t item = 0; item < told.size(); ++item) {
    if (images.labels[item] == label && told[item].label != label) worst.push_back(static_cast<std::int64_t>(item));
  }
  const auto share = [&](std::int64_t item) { return told[static_cast<std::size_t>(item)].share; };
  std::stable_sort(worst.begin(), worst.end(), [&](std::int64_t a, std::int64_t b) { return share(a) > share(b); });
  return worst;
}

/// White paper with a grid of images on it.
class Sheet {
 public:
  Sheet(const LabelledImages& images, std::int64_t rows, std::int64_t columns)
      : images_(images), scale_(std::max<std::int64_t>(56 / images.height, 1)) {
    picture_.width = columns * cell(images.width) + gap;
    picture_.height = rows * cell(images.height) + gap;
    picture_.rgb.assign(static_cast<std::size_t>(picture_.width * picture_.height * 3), 255);
  }

  /// At a place of the grid, moved to the right by some pixels.
  void put(std::int64_t item, std::int64_t row, std::int64_t column, std::int64_t right) {
    if (item == none) return;
    const std::uint8_t* const pixels = images_.image(item);
    const std::int64_t top = row * cell(images_.height) + gap, left = column * cell(images_.width) + gap + right;
    for (std::int64_t y = 0; y < images_.height * scale_; ++y) {
      for (std::int64_t x = 0; x < images_.width * scale_; ++x) {
        const std::uint8_t level = pixels[y / scale_ * images_.width + x / scale_];
        std::fill_n(picture_.rgb.begin() + ((top + y) * picture_.width + left + x) * 3, 3, level);
      }
    }
  }

  const Picture& picture() const { return picture_; }

  static constexpr std::int64_t gap = 8;

 private:
  std::int64_t cell(std::int64_t side) const { return side * scale_ + gap; }

  const LabelledImages& images_;
  std::int64_t scale_;
  Picture picture_;
};

}  // namespace

Picture picture_of_mistakes(const LabelledImages& images, std::span<const Told> told, std::int64_t classes,
                            std::int64_t mistakes) {
  Sheet sheet(images, classes, 1 + 2 * mistakes);
  const std::vector<std::int64_t> best = best_items(images, told, classes);
  for (std::int64_t label = 0; label < classes; ++label) {
    sheet.put(best[static_cast<std::size_t>(label)], label, 0, 0);
    const std::vector<std::int64_t> worst = worst_items(images, told, label);
    for (std::int64_t i = 0; i < std::min(mistakes, static_cast<std::int64_t>(worst.size())); ++i) {
      const std::int64_t item = worst[static_cast<std::size_t>(i)];
      const std::int64_t taken_for = told[static_cast<std::size_t>(item)].label;
      sheet.put(item, label, 1 + 2 * i, 0);
      // Close to each other: the gap between the two is that of a hair.
      sheet.put(best[static_cast<std::size_t>(taken_for)], label, 2 + 2 * i, 1 - Sheet::gap);
    }
  }
  return sheet.picture();
}

}  // namespace portops::apps
