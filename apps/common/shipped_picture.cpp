// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shipped_picture.hpp"

#include "images_from_bin.hpp"

#include <portops/core/error.hpp>

#include <filesystem>

namespace portops::apps {

std::string shipped_picture(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* images : {"images", PORTOPS_IMAGES_FROM_BIN}) {
    const fs::path picture = (folder / images / name).lexically_normal();
    if (fs::exists(picture)) return picture.string();
  }
  throw Error("the photograph " + name + " that comes with this program is not there, expected it in " +
              (folder / PORTOPS_IMAGES_FROM_BIN).lexically_normal().string() + " (or name pictures of your own)");
}

}  // namespace portops::apps
