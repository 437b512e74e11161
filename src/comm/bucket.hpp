// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/process_sum.hpp"
#include "portops/autograd/variable.hpp"

#include <cstdint>
#include <vector>

namespace portops::impl {

/// Gradients of some parameters, of one element type, that are sent together.
class Bucket {
 public:
  explicit Bucket(ElementType type) : type_(type) {}

  ElementType type() const { return type_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(size_of(type_)); }
  /// The parameters that it has, by their numbers, in its order.
  const std::vector<std::size_t>& parameters() const { return parameters_; }
  void add(std::size_t parameter, const Extents& extents);

  /// Enqueues what brings the gradients together, and begins their sum: lists[node] has those of all parameters, in the
  /// bucket's order, each of any strides. One list where sums have no tree.
  void send(Engine& engine, const Context& ctx, const std::vector<std::vector<autograd::Variable>>& lists,
            const SumRules& rules);
  /// Goes on as far as it can without waiting; whether the next bucket may go on.
  bool advance();
  /// Whether all that it sends is there.
  bool is_done() const;
  /// After that, what is enqueued on the engine's wire comes after the sum.
  void wait();
  /// The gradients of the parameters, in the bucket's order, in memory of their own.
  std::vector<autograd::Variable> take(const Context& ctx);
  /// Whether memory has been sent and not been taken.
  bool is_under_way() const { return static_cast<bool>(memory_); }

 private:
  ElementType type_;
  std::int64_t size_ = 0;  ///< elements
  std::vector<std::size_t> parameters_;
  std::vector<Extents> extents_;
  autograd::Variable memory_;  ///< [nodes, size], from `send` to `take`
  std::vector<ProcessSum> sums_;
};

}  // namespace portops::impl
