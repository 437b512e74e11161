// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "c_api/handles.hpp"

#include "c_api/status.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace portops::impl {
namespace {

static_assert(sizeof(void*) == sizeof(std::uint64_t));

struct Entry {
  HandleKind kind;
  HandleObject object;
};

/// A part of the table, with a lock of its own: threads that use handles of their own seldom meet.
struct alignas(64) Shard {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Entry> entries;
};

constexpr std::size_t shards = 64;
constexpr int shard_shift = 58;  // by the first bits of a key, which are as good as random

/// Never destroyed: static objects of the application may use handles until the very end.
Shard& shard_of(std::uintptr_t key) {
  static auto& table = *new std::array<Shard, shards>;
  return table[key >> shard_shift];
}

/// All are different: the number of the handle times an odd one. And all are odd, as no address of an object is.
std::uintptr_t next_key() {
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
  static std::atomic<std::uint64_t> last{0};
  return (2 * ++last + 1) * spread;
}

std::string_view name_of(HandleKind kind) {
  switch (kind) {
    case HandleKind::context: return "a context";
    case HandleKind::levels: return "levels";
    case HandleKind::arguments: return "arguments";
    case HandleKind::inferred: return "inferred outputs";
  }
  return "?";
}

[[noreturn]] void refuse(std::string_view where, std::string_view name, std::string_view found, HandleKind expected) {
  std::string message(where);
  message.append(": ").append(name).append(" is ").append(found).append(", expected ").append(name_of(expected));
  throw HandleError(message);
}

/// The entry, in a shard that is locked.
Entry& entry_of(Shard& shard, std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key) {
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) {
    refuse(where, name, key == 0 ? "NULL" : "no handle that is alive", kind);
  }
  if (found->second.kind != kind) {
    refuse(where, name, std::string("a handle of ").append(name_of(found->second.kind)), kind);
  }
  return found->second;
}

}  // namespace

std::uintptr_t add_handle(HandleKind kind, HandleObject object) {
  const std::uintptr_t key = next_key();
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  shard.entries.emplace(key, Entry{kind, std::move(object)});
  return key;
}

HandleObject find_handle(std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  return entry_of(shard, where, name, kind, key).object;
}

// In the two below, what was there ends after the lock, because it may take long: the instance of a stream waits.

void replace_handle(std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key,
                    HandleObject object) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  entry_of(shard, where, name, kind, key).object.swap(object);
}

void remove_handle(std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key) {
  HandleObject removed;
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  removed = std::move(entry_of(shard, where, name, kind, key).object);
  shard.entries.erase(key);
}

Levels levels_of(std::string_view where, std::string_view name, portops_levels handle) {
  return handle == nullptr ? Levels() : *object_of(where, name, handle);
}

}  // namespace portops::impl
