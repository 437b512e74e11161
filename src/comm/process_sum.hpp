// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"
#include "portops/autograd/variable.hpp"

#include <cstdint>
#include <vector>

namespace portops::impl {

/// How a sum over processes is made.
struct SumRules {
  std::int64_t items;  ///< of the tree; processes have their share_of them, which came to nodes
  double factor;       ///< the result is the sum times this
  bool has_tree;       ///< else the sum is the engine's own, of one node each, whatever the items
};

/// The sum over all processes of a stretch of memory, under way. With a tree it takes two steps: every process is sent
/// its share of the elements, adds up what the processes have of these, and all shares go to all processes: as much
/// over the wire as any sum over processes takes, and elements are added in one order wherever they lie.
class ProcessSum {
 public:
  /// What the elements of x, [nodes, n], come to: [first, first + count) of each row, in the first row. x lives until
  /// the sum is done, and so does this until after the engine's end(ctx).
  ProcessSum(Engine& engine, const Context& ctx, const TensorRef& x, std::int64_t first, std::int64_t count,
             const SumRules& rules);

  /// Goes on as far as it can without waiting. True once all that it sends has been begun, and the sum after it may go
  /// on: processes begin what they send in one order.
  bool advance();
  /// Whether all that it sends is there. Never waits.
  bool is_done() const;
  /// When this returns, and what has been enqueued on the wire is done, the sum is there.
  void wait();

 private:
  TensorRef row(std::int64_t node) const;
  bool has_arrived() const;  ///< of the step at hand
  void add_and_gather();
  void scale(const TensorRef& x) const;
  void add(const void* nodes, const TensorRef& out) const;

  Engine& engine_;
  Context wire_;
  TensorRef x_;
  std::int64_t first_;
  std::int64_t count_;
  SumRules rules_;
  autograd::Variable received_;
  std::vector<TransferPtr> transfers_;
  bool is_exchanging_ = false;
};

/// So many elements at once: MPI counts by int.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 30;

/// Sums of all of x, in stretches that the engine can take, one after the other.
std::vector<ProcessSum> sums_of(Engine& engine, const Context& ctx, const TensorRef& x, const SumRules& rules);

/// As many elements one behind the other, [first, first + count) of a contiguous tensor.
TensorRef elements_of(const TensorRef& tensor, std::int64_t first, std::int64_t count);

}  // namespace portops::impl
