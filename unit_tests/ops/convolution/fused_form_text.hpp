// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/fused/fused.hpp"

#include <string>

namespace portops::test {

/// Which form of the fused path a failure is in.
inline std::string text_of(const impl::FusedForm& form) {
  return std::to_string(form.rows) + " output channels, " + std::to_string(form.pixels) + " pixels, " +
         std::to_string(form.splits) + " splits";
}

}  // namespace portops::test
