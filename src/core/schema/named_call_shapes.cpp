// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check/check.hpp"
#include "core/check/check_list.hpp"
#include "core/loop/axes.hpp"
#include "core/schema/named_call.hpp"

#include <algorithm>

// The arguments of a call by name, and the shape rules over them.

namespace portops::impl {

const TensorRef& NamedCall::tensor(std::string_view name) const {
  static const TensorRef none;
  const TensorOrNumber* value = arguments_.tensor(name);
  return value != nullptr ? value->tensor() : none;
}

std::span<const TensorRef> NamedCall::list(std::string_view name) const {
  const std::vector<TensorRef>* tensors = given_.list(name);
  return tensors != nullptr ? std::span<const TensorRef>(*tensors) : std::span<const TensorRef>();
}

// The schema sees to it that there is one where its type matters, and that it is always a tensor or a list of them.
const InputInfo& NamedCall::typed_input() const {
  return *std::find_if(info_.inputs.begin(), info_.inputs.end(), [](const InputInfo& input) {
    return !input.type && !input.type_of_sums && !input.type_of_parameters;
  });
}

ElementType NamedCall::type() const {
  const InputInfo& input = typed_input();
  return input.list ? list(input.name).front().type() : tensor(input.name).type();
}

ElementType NamedCall::type_of_parameters() const {
  for (const InputInfo& input : info_.inputs) {
    if (input.type_of_parameters && tensor(input.name)) return tensor(input.name).type();
  }
  return type();
}

std::vector<RaggedRef> NamedCall::ragged_list(std::string_view name) const {
  const std::span<const TensorRef> values = list(name);
  const std::vector<Levels>& levels = *given_.list_levels(name);
  std::vector<RaggedRef> result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back({values[i], levels[i]});
  return result;
}

std::vector<Extents> NamedCall::list_extents(std::string_view name) const {
  std::vector<Extents> result;
  result.reserve(list(name).size());
  for (const TensorRef& tensor : list(name)) result.push_back(tensor.extents());
  return result;
}

Extents NamedCall::joined(std::string_view name) const {
  return joined_shapes(info_.name, {name, list(name)}, attribute<std::int64_t>("axis")).whole;
}

std::vector<Extents> NamedCall::divided(std::string_view name) const {
  const PartShapes shapes =
      divided_shapes(info_.name, {name, tensor(name)}, attribute<std::vector<std::int64_t>>("sections"),
                     attribute<std::int64_t>("axis"));
  std::vector<Extents> result;
  result.reserve(shapes.lengths.size());
  for (std::size_t i = 0; i < shapes.lengths.size(); ++i) result.push_back(shapes.part(i));
  return result;
}

Extents NamedCall::broadcast(std::initializer_list<std::string_view> names) const {
  std::vector<Named> tensors;
  for (const std::string_view name : names) {
    if (tensor(name)) tensors.push_back({name, tensor(name)});
  }
  return broadcast_extents(info_.name, tensors);
}

Extents NamedCall::reduced(std::string_view name) const {
  const auto& axis = attribute<std::vector<std::int64_t>>("axis");
  const auto* const asvector = arguments_.attribute("asvector");
  const bool all = asvector != nullptr ? std::get<bool>(*asvector) : axis.empty();
  return reduction_of(info_.name, {name, tensor(name)}, axis, attribute<bool>("keepdim"), all).out.extents;
}

Levels NamedCall::shared_levels(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (const Levels found = levels(name)) return found;
  }
  return {};
}

void NamedCall::check_levels(std::string_view output, const Extents& extents, const Levels& levels) const {
  if (!levels || (extents.rank() > 0 && extents[0] == levels.rows())) return;
  fail("portops::", info_.name, ": ", output, " has extents ", extents.to_string(), ", but levels of ", levels.rows(),
       " rows");
}

void NamedCall::check_extents(std::string_view name, const Extents& expected, std::string_view rule) const {
  if (!tensor(name) || extents(name) == expected) return;
  fail("portops::", info_.name, ": ", name, " has extents ", extents(name).to_string(), ", expected ",
       expected.to_string(), " (", rule, ")");
}

void NamedCall::check_extents(std::string_view name, const std::vector<Extents>& expected,
                              std::string_view rule) const {
  const std::span<const TensorRef> tensors = list(name);
  if (tensors.empty()) return;
  if (tensors.size() != expected.size()) {
    fail("portops::", info_.name, ": ", name, " has ", tensors.size(), " tensors, expected ", expected.size(), " (",
         rule, ")");
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].extents() == expected[i]) continue;
    fail("portops::", info_.name, ": ", name_in_list(name, i), " has extents ", tensors[i].extents().to_string(),
         ", expected ", expected[i].to_string(), " (", rule, ")");
  }
}

}  // namespace portops::impl
