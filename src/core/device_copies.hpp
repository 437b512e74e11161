// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/context.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace portops::impl {

/// The copies in devices' memories of something on the host that never changes. A device's copy is made when a call
/// first asks for it, and freed when all that may read it is done; neither waits for the device. (In a graph capture,
/// the first call waits until the copy is made: it would otherwise become a part of the graph.)
class DeviceCopies {
 public:
  /// `data` stays where it is for as long as this lives.
  DeviceCopies(const void* data, std::size_t bytes);
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  /// Where kernels on the context's instance, from now on, find it: on the host itself where they run there.
  const void* acquire(const Context& ctx) const;
  /// Called when the last kernel of a call that acquired it has been enqueued.
  void release(const Context& ctx) const;
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

/// A table in the hands of a call: it lives until the call's last kernel that reads the table has been enqueued.
template <class Entry>
class TableUse {
 public:
  TableUse(const Context& ctx, const Table<Entry>& table)
      : ctx_(ctx), table_(table), data_(static_cast<const Entry*>(table.copies().acquire(ctx))) {}
  ~TableUse() { table_.copies().release(ctx_); }
  TableUse(const TableUse&) = delete;
  TableUse& operator=(const TableUse&) = delete;

  const Entry* data() const { return data_; }
  std::int64_t size() const { return table_.size(); }

 private:
  const Context& ctx_;
  Table<Entry> table_;
  const Entry* data_;
};

}  // namespace portops::impl
