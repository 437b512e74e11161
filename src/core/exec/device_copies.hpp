// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace portops::impl {

/// The copies in devices' memories of something on the host that never changes. A device's copy is made when a call
/// first asks for it, and freed when all that may read it is done; neither waits for the device, nor for what any
/// instance works on. (In a graph capture, the first call waits until the copy is made: it would otherwise become a
/// part of the graph.) May be used by several host threads.
class DeviceCopies {
 public:
  /// A copy in the hands of a call.
  struct Held {
    const void* data;
    void* use;  ///< what to tell when the call has been enqueued; null where nobody needs to know
  };

  /// `data` stays where it is for as long as this lives.
  DeviceCopies(const void* data, std::size_t bytes);
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  /// Where kernels on the context's instance, from now on, find it: on the host itself where they run there.
  Held acquire(const Context& ctx) const;
  /// Called when the last kernel of a call that acquired it has been enqueued.
  void release(const Context& ctx, const Held& held) const;
  /// Whether a graph was captured that reads a copy: nobody can tell when it is launched for the last time.
  bool is_in_graph() const { return is_in_graph_; }

 private:
  class OnDevice;

  const void* data_;
  mutable std::atomic<bool> is_in_graph_ = false;
  std::unique_ptr<OnDevice> on_device_;  ///< none where there is nothing to copy
};

/// A list that kernels read: made once on the host.
template <class Entry>
class Table {
 public:
  Table() : Table(std::vector<Entry>()) {}
  explicit Table(std::vector<Entry> entries) : entries_(std::make_shared<const Entries>(std::move(entries))) {}

  std::int64_t size() const { return static_cast<std::int64_t>(entries_->list.size()); }
  const std::vector<Entry>& host() const { return entries_->list; }
  const DeviceCopies& copies() const { return entries_->copies; }
  bool is_in_graph() const { return entries_->copies.is_in_graph(); }

 private:
  struct Entries {
    explicit Entries(std::vector<Entry> entries) : list(std::move(entries)) {}
    std::vector<Entry> list;
    DeviceCopies copies{list.data(), list.size() * sizeof(Entry)};
  };
  std::shared_ptr<const Entries> entries_;
};

/// A table in the hands of a call: made before the call's first kernel is enqueued, because there may be no memory for
/// the copy, and kept until the last one that reads the table has been.
template <class Entry>
class TableUse {
 public:
  TableUse(const Context& ctx, const Table<Entry>& table)
      : ctx_(ctx), table_(table), held_(table.copies().acquire(ctx)) {}
  ~TableUse() { table_.copies().release(ctx_, held_); }
  TableUse(const TableUse&) = delete;
  TableUse& operator=(const TableUse&) = delete;

  const Entry* data() const { return static_cast<const Entry*>(held_.data); }
  std::int64_t size() const { return table_.size(); }

 private:
  const Context& ctx_;
  Table<Entry> table_;
  DeviceCopies::Held held_;
};

}  // namespace portops::impl
