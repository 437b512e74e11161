// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The checks of check.hpp for lists of tensors. They are made for lists of a thousand: what is plainly right costs a
// few comparisons, and names are put together only where something has to be said.

namespace portops::impl {

/// A list of tensors and its name in the operator's signature.
struct NamedList {
  std::string_view name;
  std::span<const TensorRef> tensors;
};

/// The values of ragged tensors.
std::vector<TensorRef> values_of(std::span<const RaggedRef> list);

/// "x[3]"
std::string name_in_list(std::string_view list, std::size_t index);

/// The list has a tensor or more; its first one is given.
void check_list_given(std::string_view op, const NamedList& list);

/// All of its tensors are given.
void check_all_given(std::string_view op, const NamedList& list);

/// check_input for each tensor, or check_shape_only_input.
void check_list_inputs(std::string_view op, const Context& ctx, const NamedList& inputs, ElementType type,
                       std::string_view like);
void check_list_shape_only_inputs(std::string_view op, const NamedList& inputs, ElementType type,
                                  std::string_view like);

/// The extents of tensors that follow each other along an axis: the same but for that axis.
struct PartShapes {
  int axis = 0;
  Extents whole;                      ///< of all of them together
  std::vector<std::int64_t> lengths;  ///< along the axis

  Extents part(std::size_t index) const {
    Extents result = whole;
    result[axis] = lengths[index];
    return result;
  }
};

/// The shapes of the list's tensors, all of which are given. Throws Error where they do not fit each other.
PartShapes joined_shapes(std::string_view op, const NamedList& list, std::int64_t axis);

/// The shapes into which `sections` divides a tensor along an axis: the lengths of the parts, of which one may be -1,
/// what the others leave. Throws Error where they do not fit.
PartShapes divided_shapes(std::string_view op, const Named& whole, std::span<const std::int64_t> sections,
                          std::int64_t axis);

/// The list has as many tensors; `one_for_each` says in the message what of.
void check_list_size(std::string_view op, const NamedList& list, std::size_t expected, std::string_view one_for_each);

/// check_extents for each tensor, whose extents are those of other tensors, one for each; `origin` says in the message
/// where those of tensor 3 come from, but for its end: "[3]".
void check_list_extents(std::string_view op, const NamedList& list, std::span<const TensorRef> tensors,
                        std::string_view origin);

/// check_output for each tensor that is given; `origin` says in the message where the extents of tensor 3 come from,
/// but for its end: "[3]".
void check_list_outputs(std::string_view op, const Context& ctx, const NamedList& outputs, ElementType type,
                        std::string_view like, const PartShapes& shapes, std::string_view origin);
/// The same for outputs of the extents of other tensors, one for each.
void check_list_outputs(std::string_view op, const Context& ctx, const NamedList& outputs, ElementType type,
                        std::string_view like, std::span<const TensorRef> tensors, std::string_view origin);

/// check_no_overlap of the output with each tensor; of each output with each input; and of each output with the input.
void check_no_overlap(std::string_view op, const Named& output, const NamedList& inputs);
void check_no_overlap(std::string_view op, const NamedList& outputs, const NamedList& inputs);
void check_no_overlap(std::string_view op, const NamedList& outputs, const Named& input);
/// check_in_place for each output and the input in the same place of the other list; check_no_overlap of the output
/// with the other inputs.
void check_in_place(std::string_view op, const NamedList& outputs, const NamedList& inputs);
/// check_no_overlap of each output with the other ones.
void check_disjoint(std::string_view op, const NamedList& outputs);

}  // namespace portops::impl
