// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/generator.hpp"

#include "core/lanes/philox.hpp"
#include "nn/host_numbers.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace portops::nn {
namespace {

using autograd::Gradient;

/// The words of one tensor, four at a time.
class Words {
 public:
  Words(std::int64_t seed, std::int64_t offset)
      : philox_(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed) >> 32)),
        offset_(static_cast<std::uint64_t>(offset)) {}

  /// Word i, in ascending order.
  std::uint32_t operator()(std::int64_t i) {
    if (i % 4 == 0) {
      const auto group = static_cast<std::uint64_t>(i / 4);
      const std::uint64_t counter[] = {group, group >> 32, offset_, offset_ >> 32};
      for (int word = 0; word < 4; ++word) words_[word] = static_cast<std::uint32_t>(counter[word]);
      philox_(words_);
    }
    return words_[i % 4];
  }

 private:
  impl::Philox philox_;
  std::uint64_t offset_;
  std::uint32_t words_[4] = {};
};

}  // namespace

State Generator::state() {
  return {{"seed", Variable(TensorRef(&seed_, {}))}, {"offset", Variable(TensorRef(&offset_, {}))}};
}

Variable uniform(const Context& ctx, Generator& random, ElementType type, const Extents& extents, double bound,
                 Gradient gradient) {
  std::vector<double> numbers(static_cast<std::size_t>(extents.product()));
  Words words(random.seed(), random.next_offset());
  std::int64_t i = 0;
  for (double& each : numbers) each = (2 * (words(i++) * 0x1p-32) - 1) * bound;
  return {impl::make_numbers(ctx, type, extents, numbers), gradient};
}

Variable normal(const Context& ctx, Generator& random, ElementType type, const Extents& extents, Gradient gradient) {
  std::vector<double> numbers(static_cast<std::size_t>(extents.product()));
  Words words(random.seed(), random.next_offset());
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    const auto word = static_cast<std::int64_t>(i);
    const double radius = std::sqrt(-2 * std::log((words(word) + 1.0) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * (words(word + 1) * 0x1p-32);
    numbers[i] = radius * std::cos(angle);
    if (i + 1 < numbers.size()) numbers[i + 1] = radius * std::sin(angle);
  }
  return {impl::make_numbers(ctx, type, extents, numbers), gradient};
}

Variable constant(const Context& ctx, ElementType type, const Extents& extents, double number, Gradient gradient) {
  return {impl::make_numbers(ctx, type, extents, number), gradient};
}

}  // namespace portops::nn
