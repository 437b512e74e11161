// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_images.hpp"

#include "common/element_cast.hpp"
#include "common/transfer.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/ops/embedding.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace portops::apps {

DeviceImages::DeviceImages(const Context& ctx, const LabelledImages& images, ElementType type,
                           const Augmentation& augmentation)
    : augmentation_(augmentation),
      items_(images.items()),
      height_(images.height),
      width_(images.width),
      pitch_(width_ + 2 * augmentation.shift),
      stride_(pitch_ * (height_ + 2 * augmentation.shift)) {
  const std::int64_t copies = augmentation.flips ? 2 : 1, border = augmentation.shift;
  // The window of the last image that is shifted most ends behind it.
  const Tensor host(type, {copies * items_ * stride_ + 2 * border});
  with_type(type, [&]<class T>(std::type_identity<T>) {
    std::array<T, 256> value;
    for (int level = 0; level < 256; ++level) value[static_cast<std::size_t>(level)] = element_cast<T>(level / 255.0);
    std::fill_n(host.data<T>(), host.ref().size(), value[0]);
    for (std::int64_t item = 0; item < items_; ++item) {
      for (std::int64_t line = 0; line < height_; ++line) {
        const std::uint8_t* const from = images.image(item) + line * width_;
        T* const to = host.data<T>() + item * stride_ + (border + line) * pitch_ + border;
        std::transform(from, from + width_, to, [&](std::uint8_t level) { return value[level]; });
        if (augmentation_.flips) std::reverse_copy(to, to + width_, to + items_ * stride_);
      }
    }
  });
  elements_ = to_backend(ctx, host);
}

std::vector<std::int64_t> DeviceImages::rows_of(const std::vector<std::size_t>& items, std::mt19937_64& random) const {
  const auto shifts = static_cast<std::uint64_t>(2 * augmentation_.shift + 1);
  std::vector<std::int64_t> rows;
  for (const std::size_t item : items) {
    const std::uint64_t chance = random();
    const std::int64_t copy = augmentation_.flips && chance % 2 != 0 ? items_ : 0;
    const auto down = static_cast<std::int64_t>(chance / 2 % shifts);
    const auto across = static_cast<std::int64_t>(chance / 2 / shifts % shifts);
    rows.push_back((copy + static_cast<std::int64_t>(item)) * stride_ + down * pitch_ + across);
  }
  return rows;
}

ImageBatch DeviceImages::gather(const Context& ctx, const TensorRef& rows) const {
  const TensorRef elements = elements_;
  const std::int64_t window = height_ * pitch_;
  const TensorRef table(elements.data(), elements.type(), {elements.size() - window + 1, window}, {1, 1},
                        elements.space());
  ImageBatch batch;
  batch.rows = autograd::embedding(ctx, table, rows);
  batch.images = TensorRef(batch.rows.tensor().data(), elements.type(), {rows.extent(0), 1, height_, width_},
                           {window, window, pitch_, 1}, elements.space());
  return batch;
}

}  // namespace portops::apps
