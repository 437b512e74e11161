// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace portops::impl {

/// A Kokkos profiling region from here to the end of the scope. Costs nothing unless a tool is loaded.
class Region {
 public:
  explicit Region(const char* name);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  bool active_;
};

}  // namespace portops::impl
