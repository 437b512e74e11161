// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/fused/fused.hpp"

#include <string>

namespace portops::test {

/// Which form of the fused path a failure is in.
inline std::string text_of(const impl::FusedForm& form) {
  const char* const residence = form.residence == impl::Residence::runs      ? ", resident, of runs"
                                : form.residence == impl::Residence::patches ? ", resident, of patches"
                                                                             : "";
  return std::to_string(form.rows) + " output channels, " + std::to_string(form.pixels) + " pixels, " +
         std::to_string(form.splits) + " splits" + residence;
}

}  // namespace portops::test
