// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/element_type.hpp"

#include "core/types/compiled_types.hpp"

#include <iterator>

namespace portops {

std::vector<ElementType> enabled_element_types() {
  return {std::begin(impl::compiled_types), std::end(impl::compiled_types)};
}

}  // namespace portops
