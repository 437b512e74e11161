// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/host_caches.hpp"

#include <atomic>

namespace portops::impl {
namespace {

std::atomic<std::int64_t> kept = std::int64_t{8} << 20;

}  // namespace

bool exceeds_host_caches(std::int64_t bytes) { return bytes > kept.load(std::memory_order_relaxed); }

std::int64_t set_kept_by_host_caches(std::int64_t bytes) { return kept.exchange(bytes); }

}  // namespace portops::impl
