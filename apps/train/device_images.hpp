// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "images.hpp"

#include <portops/autograd/variable.hpp>
#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/core/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace portops::apps {

/// What images are moved and mirrored by as they are learned from, so that a network sees more of them than there are.
struct Augmentation {
  std::int64_t shift = 0;  ///< pixels at most, down, up, left and right
  bool flips = false;      ///< whether half of them are mirrored, left to right
};

/// Images of a batch, [items, 1, height, width].
struct ImageBatch {
  autograd::Variable rows;    ///< the elements, which must live as long as the images
  autograd::Variable images;  ///< a view of them
};

/// Images where the context's backend has its tensors, as numbers from 0 to 1; black, which surrounds them, is 0.
///
/// They lie one behind the other, each with a border as wide as it may be shifted, and all of them once more where they
/// may be mirrored. A shifted image is then a row of a table whose rows overlap: from its first pixel on as many
/// elements as a window has with the borders between its lines. So a batch is gathered by one call of embedding, where
/// each item has a shift of its own, and read as a view without these borders.
class DeviceImages {
 public:
  /// Returns when they are there.
  DeviceImages(const Context& ctx, const LabelledImages& images, ElementType type, const Augmentation& augmentation);

  /// Rows of the table for items, by their numbers among these images: each shifted and mirrored by chance.
  std::vector<std::int64_t> rows_of(const std::vector<std::size_t>& items, std::mt19937_64& random) const;
  std::size_t bytes() const {
    return static_cast<std::size_t>(elements_.ref().size()) * size_of(elements_.ref().type());
  }
  /// The images in these rows of the table, i64 [items].
  ImageBatch gather(const Context& ctx, const TensorRef& rows) const;

 private:
  Augmentation augmentation_;
  std::int64_t items_, height_, width_;
  std::int64_t pitch_;   // elements from a line to the next
  std::int64_t stride_;  // elements from an image to the next
  Tensor elements_;
};

}  // namespace portops::apps
