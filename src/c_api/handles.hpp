// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/schema/registry.hpp"
#include "core/types/levels.hpp"

#include <portops.h>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

// Handles are keys of a table of what is alive, not addresses: none is dereferenced, and none is given out twice. So a
// handle that is stale or garbage is found out, and one may be destroyed while another thread's call uses what it
// stands for.

namespace portops::impl {

/// What a portops_arguments stands for.
struct NamedArguments {
  mutable std::shared_mutex mutex;  ///< is set by one thread at a time, and called by many
  Arguments values;
  /// For the tensors of the argument: the number of the GPU that each lies on, -1 for none.
  std::map<std::string, std::vector<int>, std::less<>> devices;
};

/// What a portops_inferred stands for: an output's type, and its tensors, one where it is no list.
struct InferredOutput {
  ElementType type;
  std::vector<Extents> extents;
  std::vector<Levels> levels;
};
using InferredOutputs = std::map<std::string, InferredOutput, std::less<>>;

enum class HandleKind : std::uint8_t { context, levels, arguments, inferred };

/// A type of handle, and what it stands for. What is const is replaced as a whole, never changed.
template <class Handle>
struct HandleTraits;
template <>
struct HandleTraits<portops_context> {
  static constexpr HandleKind kind = HandleKind::context;
  using Object = const Context;
};
template <>
struct HandleTraits<portops_levels> {
  static constexpr HandleKind kind = HandleKind::levels;
  using Object = const Levels;
};
template <>
struct HandleTraits<portops_arguments> {
  static constexpr HandleKind kind = HandleKind::arguments;
  using Object = NamedArguments;
};
template <>
struct HandleTraits<portops_inferred> {
  static constexpr HandleKind kind = HandleKind::inferred;
  using Object = const InferredOutputs;
};

template <class Handle>
using ObjectOf = typename HandleTraits<Handle>::Object;

using HandleObject = std::shared_ptr<const void>;

// Those below with kinds are for those above with types.
std::uintptr_t add_handle(HandleKind kind, HandleObject object);
HandleObject find_handle(std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key);
void replace_handle(std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key,
                    HandleObject object);
void remove_handle(std::string_view where, std::string_view name, HandleKind kind, std::uintptr_t key);

template <class Handle>
std::uintptr_t key_of(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

template <class Handle>
Handle make_handle(std::shared_ptr<ObjectOf<Handle>> object) {
  return reinterpret_cast<Handle>(add_handle(HandleTraits<Handle>::kind, std::move(object)));
}

/// What the handle stands for, for as long as the caller needs it. Throws HandleError where that is nothing, or
/// something of another kind; messages begin with `where` and name the argument.
template <class Handle>
std::shared_ptr<ObjectOf<Handle>> object_of(std::string_view where, std::string_view name, Handle handle) {
  return std::static_pointer_cast<ObjectOf<Handle>>(
      std::const_pointer_cast<void>(find_handle(where, name, HandleTraits<Handle>::kind, key_of(handle))));
}

/// From now on the handle stands for this. Throws as object_of does.
template <class Handle>
void replace(std::string_view where, std::string_view name, Handle handle, std::shared_ptr<ObjectOf<Handle>> object) {
  replace_handle(where, name, HandleTraits<Handle>::kind, key_of(handle), std::move(object));
}

/// From now on the handle stands for nothing. NULL is passed over. Throws as object_of does.
template <class Handle>
void destroy(std::string_view where, std::string_view name, Handle handle) {
  if (handle != nullptr) remove_handle(where, name, HandleTraits<Handle>::kind, key_of(handle));
}

/// The levels of a handle; of NULL, no levels.
Levels levels_of(std::string_view where, std::string_view name, portops_levels handle);

}  // namespace portops::impl
