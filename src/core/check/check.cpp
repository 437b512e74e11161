// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check/check.hpp"

#include "core/types/compiled_types.hpp"
#include "core/types/overlap.hpp"

namespace portops::impl {
namespace {

bool reaches(Backend backend, MemorySpace space) {
  switch (space) {
    case MemorySpace::host: return backend != Backend::cuda;
    case MemorySpace::cuda: return backend == Backend::cuda;
    case MemorySpace::cuda_pinned:
    case MemorySpace::cuda_managed: return true;
  }
  return false;
}

void check_data(std::string_view op, const Context& ctx, const Named& argument) {
  const auto& [name, tensor] = argument;
  if (tensor.size() == 0) return;
  if (!tensor.has_data()) fail("portops::", op, ": ", name, " has no data, but its elements are needed");
  if (!reaches(ctx.backend(), tensor.space())) {
    fail("portops::", op, ": ", name, " lies in ", name_of(tensor.space()), " memory, which the context's backend ",
         name_of(ctx.backend()), " cannot reach");
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.data()) % size_of(tensor.type()) != 0) {
    fail("portops::", op, ": the address of ", name, " is not a multiple of its element size, ",
         size_of(tensor.type()));
  }
}

void check_given(std::string_view op, const Named& argument) {
  if (!argument.tensor) fail("portops::", op, ": ", argument.name, " is empty, expected a tensor");
}

/// That kernels can compute with it.
void check_type(std::string_view op, ElementType type, std::string_view like) {
  if (is_compiled(type)) return;
  if (type == ElementType::i64) {
    fail("portops::", op, ": ", like, " has element type i64, expected f64, f32, f16 or bf16");
  }
  std::string types;
  for (const ElementType has : enabled_element_types())
    types += (types.empty() ? "" : ", ") + std::string(name_of(has));
  fail("portops::", op, ": ", like, " has element type ", name_of(type),
       ", which this build leaves out (PORTOPS_ELEMENT_TYPES), expected ", types);
}

void check_writable(std::string_view op, const Named& output) {
  const auto& [name, tensor] = output;
  if (tensor.read_only()) fail("portops::", op, ": ", name, " is an output, but its elements are const");
  if (may_overlap_itself(tensor)) {
    fail("portops::", op, ": ", name, " is an output, but with extents ", tensor.extents().to_string(), " and strides ",
         tensor.strides().to_string(), " some of its elements share an address");
  }
}

}  // namespace

void check_levels(std::string_view op, std::string_view name, const RaggedRef& input) {
  if (!input.levels) fail("portops::", op, ": ", name, " has no levels, expected a ragged tensor");
  const Extents& extents = input.values.extents();
  if (extents.rank() == 0) {
    fail("portops::", op, ": ", name, " has extents [], expected at least one axis, that of the rows");
  }
  if (extents[0] == input.levels.rows()) return;
  fail("portops::", op, ": ", name, " has extents ", extents.to_string(), ", expected ", input.levels.rows(),
       " rows (the last offset of its levels)");
}

void check_levels_given(std::string_view op, std::string_view name, const Levels& levels) {
  if (!levels) fail("portops::", op, ": ", name, " has no levels, expected levels");
}

void check_extents(std::string_view op, const Named& argument, const Extents& expected, std::string_view origin) {
  const auto& [name, tensor] = argument;
  if (tensor.extents() == expected) return;
  fail("portops::", op, ": ", name, " has extents ", tensor.extents().to_string(), ", expected ", expected.to_string(),
       " (", origin, ")");
}

void check_shape_only_input(std::string_view op, const Named& input, ElementType type, std::string_view like) {
  check_given(op, input);
  const auto& [name, tensor] = input;
  if (!like.empty()) check_type(op, type, like);
  if (tensor.type() == type) return;
  if (like.empty()) {
    fail("portops::", op, ": ", name, " has element type ", name_of(tensor.type()), ", expected ", name_of(type));
  }
  fail("portops::", op, ": ", name, " has element type ", name_of(tensor.type()), ", expected ", name_of(type),
       " (the element type of ", like, ")");
}

void check_input(std::string_view op, const Context& ctx, const Named& input, ElementType type, std::string_view like) {
  check_shape_only_input(op, input, type, like);
  check_data(op, ctx, input);
}

void check_output(std::string_view op, const Context& ctx, const Named& output, ElementType type, std::string_view like,
                  const Extents& expected, std::string_view origin) {
  check_shape_only_input(op, output, type, like);
  check_extents(op, output, expected, origin);
  check_data(op, ctx, output);
  check_writable(op, output);
}

void check_no_overlap(std::string_view op, const Named& output, std::span<const Named> others) {
  for (const auto& [name, tensor] : others) {
    if (may_overlap(output.tensor, tensor)) {
      fail("portops::", op, ": ", output.name, " overlaps ", name, " in memory, expected disjoint tensors");
    }
  }
}

void check_in_place(std::string_view op, const Named& output, const Named& input) {
  if (coincide(output.tensor, input.tensor) || !may_overlap(output.tensor, input.tensor)) return;
  fail("portops::", op, ": ", output.name, " overlaps ", input.name,
       " in memory, expected disjoint tensors or the same one (address, extents and strides)");
}

const TensorRef& shape_of(const TensorOrNumber& operand) {
  static const TensorRef scalar = TensorRef::without_data(ElementType::f32, {});
  return operand.is_tensor() ? operand.tensor() : scalar;
}

Extents broadcast_extents(std::string_view op, std::span<const Named> tensors) {
  int rank = 0;
  for (const Named& named : tensors) rank = std::max(rank, named.tensor.rank());
  Extents result = Extents::of_rank(rank);
  for (int axis = 0; axis < rank; ++axis) result[axis] = 1;
  for (const auto& [name, tensor] : tensors) {
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      std::int64_t& extent = result[rank - tensor.rank() + axis];
      if (tensor.extent(axis) == 1 || tensor.extent(axis) == extent) continue;
      if (extent != 1) {
        std::string found;
        for (const Named& named : tensors) {
          found += (found.empty() ? "" : ", ") + std::string(named.name) + " " + named.tensor.extents().to_string();
        }
        fail("portops::", op, ": the extents ", found,
             " do not broadcast; aligned at the last axis, extents must be equal or 1");
      }
      extent = tensor.extent(axis);
    }
  }
  return result;
}

}  // namespace portops::impl
