// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/partial_sums.hpp"
#include "comm/process_sum.hpp"
#include "portops/autograd/variable.hpp"
#include "portops/comm/communicator.hpp"
#include "portops/comm/share.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace portops::impl {

/// What the backward passes of a process have brought of a parameter whose gradient is wanted sparse.
class SparseTerms {
 public:
  /// Of the next pass: takes what the parameter has.
  void take(const Context& ctx, autograd::Variable& parameter);
  void clear() { terms_.clear(); }
  std::size_t size() const { return terms_.size(); }

  /// What the other processes have to know of a pass: how many rows it brought, or one of these.
  static constexpr std::int64_t dense = -1, none = -2;
  std::int64_t rows_of(std::size_t pass) const { return terms_[pass].rows; }

  /// The passes of all processes, by what rows_of said of them: all of one kind, or of none. `has_tree` in the rules is
  /// passed over: dense gradients are added by a tree.
  enum class Kind : std::uint8_t { none, sparse, dense, mixed };
  static Kind kind_of(std::span<const std::int64_t> rows);

  /// The sum over all processes' passes, which becomes the gradient of the parameter. `counts` are the processes' rows.
  void sum_rows(const Context& ctx, Engine& engine, std::span<const std::int64_t> counts, double factor,
                autograd::Variable& parameter) const;
  /// The same for dense gradients, of the passes from `first` on.
  void sum_dense(const Context& ctx, Engine& engine, std::int64_t first, const SumRules& rules,
                 autograd::Variable& parameter) const;

 private:
  struct Term {
    std::int64_t rows = none;
    autograd::SparseGradient sparse;
    autograd::Variable dense;
  };
  std::vector<Term> terms_;
};

/// Zeros of the element type and extents of a tensor.
autograd::Variable zeros_like(const Context& ctx, const TensorRef& tensor);

}  // namespace portops::impl
