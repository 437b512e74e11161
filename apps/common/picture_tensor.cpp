// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture_tensor.hpp"

#include "element_cast.hpp"

#include <algorithm>
#include <vector>

namespace portops::apps {

Tensor light_of(const Picture& picture, ElementType type, const Extents& extents) {
  Tensor tensor(type, extents);
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> light;
    for (const double value : light_of_levels()) light.push_back(element_cast<T>(value));
    std::transform(picture.rgb.begin(), picture.rgb.end(), tensor.data<T>(), [&](auto level) { return light[level]; });
  });
  return tensor;
}

Picture picture_of(const Tensor& light, std::int64_t width, std::int64_t height) {
  Picture picture{width, height, {}};
  const auto count = static_cast<std::size_t>(light.ref().size());
  picture.rgb.resize(count);
  with_type(light.ref().type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = light.data<T>();
    std::transform(values, values + count, picture.rgb.begin(),
                   [](T value) { return level_of_light(element_cast<double>(value)); });
  });
  return picture;
}

}  // namespace portops::apps
