// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/levels.hpp"

#include "c_api/handles.hpp"
#include "c_api/status.hpp"
#include "c_api/tensors.hpp"

#include <vector>

using portops::Levels;
using portops::impl::guarded;

namespace {

using Integers = std::vector<std::int64_t>;

portops_levels handle_of(Levels levels) {
  return portops::impl::make_handle<portops_levels>(std::make_shared<const Levels>(std::move(levels)));
}

Integers integers(const char* where, std::string_view name, const std::int64_t* items, std::size_t count) {
  portops::impl::check_list_pointer(where, name, items, count);
  return {items, items + count};
}

}  // namespace

portops_status portops_levels_create(size_t depth, const int64_t* const* offsets, const size_t* counts,
                                     portops_levels* levels) {
  return guarded([&] {
    constexpr const char* where = "portops_levels_create";
    portops::impl::check_pointer(where, "levels", levels);
    portops::impl::check_list_pointer(where, "offsets", offsets, depth);
    portops::impl::check_list_pointer(where, "counts", counts, depth);
    std::vector<Integers> all;
    for (std::size_t level = 0; level < depth; ++level) {
      all.push_back(integers(where, portops::impl::item_name("offsets", level), offsets[level], counts[level]));
    }
    *levels = handle_of(Levels(std::move(all)));
  });
}

portops_status portops_levels_create_from_lengths(const int64_t* lengths, size_t count, portops_levels* levels) {
  return guarded([&] {
    constexpr const char* where = "portops_levels_create_from_lengths";
    portops::impl::check_pointer(where, "levels", levels);
    *levels = handle_of(Levels::from_lengths(integers(where, "lengths", lengths, count)));
  });
}

portops_status portops_levels_destroy(portops_levels levels) {
  return guarded([&] { portops::impl::destroy("portops_levels_destroy", "levels", levels); });
}

portops_status portops_levels_depth(portops_levels levels, int32_t* depth) {
  return guarded([&] {
    constexpr const char* where = "portops_levels_depth";
    portops::impl::check_pointer(where, "depth", depth);
    *depth = portops::impl::object_of(where, "levels", levels)->depth();
  });
}

portops_status portops_levels_items(portops_levels levels, int32_t level, int64_t* items) {
  return guarded([&] {
    constexpr const char* where = "portops_levels_items";
    portops::impl::check_pointer(where, "items", items);
    *items = portops::impl::object_of(where, "levels", levels)->items(level);
  });
}

portops_status portops_levels_offsets(portops_levels levels, int32_t level, const int64_t** offsets, size_t* count) {
  return guarded([&] {
    constexpr const char* where = "portops_levels_offsets";
    portops::impl::check_pointer(where, "offsets", offsets);
    portops::impl::check_pointer(where, "count", count);
    const Integers& found = portops::impl::object_of(where, "levels", levels)->offsets(level);
    *offsets = found.data();
    *count = found.size();
  });
}
