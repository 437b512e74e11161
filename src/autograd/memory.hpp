// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/workspace.hpp"
#include "core/types/levels.hpp"
#include "core/types/tensor_ref.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

namespace portops::impl {

/// The memory of variables, and how often it has been changed.
class Memory {
 public:
  /// The caller's, kept alive by `keeper`, or by the caller where that is null.
  explicit Memory(std::shared_ptr<void> keeper) : keeper_(std::move(keeper)) {}
  /// From the pool.
  Memory(const Context& ctx, const char* label, std::size_t bytes) { own_.emplace(ctx, label, bytes); }

  bool is_own() const { return own_.has_value(); }
  void* data() const { return own_->data(); }

  std::uint32_t version() const { return version_.load(std::memory_order_acquire); }
  /// Who changed it last.
  const char* changed_by() const { return changed_by_.load(std::memory_order_relaxed); }
  void change(const char* by) {
    changed_by_.store(by, std::memory_order_relaxed);
    version_.fetch_add(1, std::memory_order_release);
  }

 private:
  std::optional<Temporary> own_;
  std::shared_ptr<void> keeper_;
  std::atomic<std::uint32_t> version_ = 0;
  std::atomic<const char*> changed_by_ = nullptr;
};

/// A tensor with what its elements lie in. One without memory has no elements to be read: extents alone, or levels, or
/// nothing at all.
struct Value {
  TensorRef tensor;
  Levels levels;
  std::shared_ptr<Memory> memory;

  explicit operator bool() const { return static_cast<bool>(tensor); }
  /// Nobody else can read or write the elements.
  bool is_unshared() const { return memory != nullptr && memory.use_count() == 1 && memory->is_own(); }
};

/// A gradient of rows of a table, as autograd::SparseGradient describes it.
struct SparseValue {
  Value rows;
  Value values;
  Value count;

  explicit operator bool() const { return static_cast<bool>(rows); }
};

/// Whether the elements follow each other without gaps, last axis fastest.
bool is_contiguous(const TensorRef& tensor);

/// A contiguous tensor in memory from the pool, also where the context lends a workspace. Throws Error where there is
/// no memory. `label` lives for ever.
Value make_value(const Context& ctx, const char* label, ElementType type, const Extents& extents,
                 const Levels& levels = {});

}  // namespace portops::impl
