// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/fail.hpp"
#include "core/types/levels.hpp"
#include "core/types/tensor_ref.hpp"

#include <span>
#include <string>
#include <string_view>

// The checks that every operator makes of its arguments. All throw Error with a message that starts with the
// operator's name and says what was found and what was expected.

namespace portops::impl {

/// The element type in which sums of elements are accumulated: Arithmetic<T> of pack.hpp, at run time.
constexpr ElementType sum_type(ElementType type) { return type == ElementType::f64 ? type : ElementType::f32; }

/// A tensor argument and its name in the operator's signature.
struct Named {
  std::string_view name;
  const TensorRef& tensor;
};

/// The extents that a tensor must have; `origin` says in messages where these come from: "the extents of y".
struct ExpectedExtents {
  Extents extents;
  std::string origin;
};

/// The tensor is given and lies where the context's backend reaches it; its element type is `type`, that of the
/// argument called `like`, which is one that this build computes with: not i64. Without a name it is a type that the
/// operator says of this one tensor.
void check_input(std::string_view op, const Context& ctx, const Named& input, ElementType type, std::string_view like);

/// The same, for an input of which only the extents are read.
void check_shape_only_input(std::string_view op, const Named& input, ElementType type, std::string_view like);

/// The input is ragged, and its rows are those of its levels.
void check_levels(std::string_view op, std::string_view name, const RaggedRef& input);
/// The argument, which is levels alone, has some.
void check_levels_given(std::string_view op, std::string_view name, const Levels& levels);

/// The tensor has the expected extents.
void check_extents(std::string_view op, const Named& argument, const Extents& expected, std::string_view origin);

/// The same as check_input, and that the tensor can be written: not read-only, no two elements at one address, and of
/// the expected extents.
void check_output(std::string_view op, const Context& ctx, const Named& output, ElementType type, std::string_view like,
                  const Extents& expected, std::string_view origin);

/// No element of the output lies in any of the other tensors, whether their elements are read or not. Empty references
/// and those without data are passed over.
void check_no_overlap(std::string_view op, const Named& output, std::span<const Named> others);

/// As check_no_overlap for one tensor, which the output may coincide with, element for element.
void check_in_place(std::string_view op, const Named& output, const Named& input);

/// The extents to which the tensors broadcast, aligned at the last axis: along each axis all extents are equal or 1.
Extents broadcast_extents(std::string_view op, std::span<const Named> tensors);

/// The tensor, or a stand-in of the extents that a number has.
const TensorRef& shape_of(const TensorOrNumber& operand);

}  // namespace portops::impl
