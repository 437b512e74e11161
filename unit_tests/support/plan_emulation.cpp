// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan_emulation.hpp"

#include <optional>

namespace portops::test {
namespace {

using impl::Access;
using impl::FlatAccess;
using impl::FlatForm;
using impl::FlatOperand;
using impl::FlatPlan;
using impl::Loop;
using impl::SumPlan;
using impl::TileOperand;
using impl::TilePlan;
using impl::Walk;

std::uintptr_t address(const std::byte* data, std::int64_t offset, ElementType type) {
  return reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(offset) * size_of(type);
}

void write_once(Results& results, std::uintptr_t at, Value value) {
  EXPECT_TRUE(results.emplace(at, value).second) << "a result is written twice";
}

std::uintptr_t address(const FlatPlan& plan, const FlatOperand& operand, std::int64_t i, ElementType type) {
  if (operand.access == FlatAccess::single) return address(operand.data, 0, type);
  if (operand.access == FlatAccess::packs || operand.access == FlatAccess::neighbours) {
    return address(operand.data, i, type);
  }
  std::int64_t offset = 0;
  if (operand.access != FlatAccess::gathered) {
    const std::int64_t in_pack = i % impl::tile_shape(Backend::cuda, type).pack;
    if (operand.access == FlatAccess::rows) offset = in_pack;
    i -= in_pack;
  }
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    offset += i % plan.extent[axis] * operand.stride[axis];
    i /= plan.extent[axis];
  }
  return address(operand.data, offset, type);
}

bool is_known_to(FlatForm form, FlatAccess access) {
  if (access <= FlatAccess::packs) return true;
  const bool by_pack = access == FlatAccess::repeated || access == FlatAccess::rows;
  return by_pack ? form == FlatForm::rows : form == FlatForm::elements;
}

Results results_of(const Loop& loop, const FlatPlan& plan, Backend backend) {
  if (plan.form == FlatForm::rows) {
    EXPECT_EQ(backend, Backend::cuda);
    EXPECT_EQ(plan.head, 0);
    EXPECT_EQ(plan.extent[plan.rank - 1] % impl::tile_shape(backend, loop.type).pack, 0);
  }
  // On a GPU every pack must be aligned; on a host it helps if the first output's are.
  bool expects_alignment = std::any_of(plan.operand.begin() + loop.inputs, plan.operand.begin() + loop.operands(),
                                       [](const auto& output) { return output.access != FlatAccess::none; });
  for (int k = 0; k < loop.operands(); ++k) {
    const FlatOperand& operand = plan.operand[(loop.inputs + k) % loop.operands()];
    EXPECT_TRUE(is_known_to(plan.form, operand.access));
    if (operand.access == FlatAccess::rows) {
      for (std::int64_t i = 0; i < plan.size; i += impl::tile_shape(backend, loop.type).pack) {
        EXPECT_EQ(address(plan, operand, i, loop.type) % impl::gpu_pack_bytes, 0u) << "at element " << i;
      }
    }
    if (operand.access != FlatAccess::packs || plan.head == plan.size || !expects_alignment) continue;
    const auto alignment = static_cast<std::uintptr_t>(impl::pack_alignment(backend));
    EXPECT_EQ(address(operand.data, plan.head, loop.type) % alignment, 0u) << "behind the head";
    expects_alignment = backend == Backend::cuda;
  }
  Results results;
  for (std::int64_t i = 0; i < plan.size; ++i) {
    Value sum = 0;
    for (int k = 0; k < loop.inputs; ++k) {
      const FlatOperand& operand = plan.operand[k];
      sum += operand.access == FlatAccess::none ? value_of(operand.number)
                                                : value_at(address(plan, operand, i, loop.type));
    }
    for (int k = 0; k < loop.outputs; ++k) {
      const FlatOperand& operand = plan.operand[loop.inputs + k];
      EXPECT_TRUE(operand.access <= FlatAccess::packs || operand.access == FlatAccess::neighbours)
          << "outputs are contiguous";
      if (operand.access == FlatAccess::none) continue;
      write_once(results, address(plan, operand, i, loop.type), output_value(sum, k));
    }
  }
  return results;
}

/// The tiles of a plan, taken one after the other as the kernel's teams do.
class Tiles {
 public:
  Tiles(const Loop& loop, const TilePlan& plan, Backend backend)
      : loop_(loop),
        plan_(plan),
        backend_(backend),
        sums_(impl::make_sum_plans(loop, plan)),
        partials_(static_cast<std::size_t>(impl::partial_elements(plan, sums_))) {}

  Results run() {
    for (std::int64_t tile = 0; tile < plan_.tiles(); ++tile) {
      const std::int64_t column_block = tile % plan_.column_blocks;
      const std::int64_t rest = tile / plan_.column_blocks;
      run_tile(rest / plan_.row_blocks, rest % plan_.row_blocks, column_block);
    }
    for (const SumPlan& sum : sums_) add_partials(sum);
    return results_;
  }

 private:
  std::int64_t offset(const TileOperand& operand, std::int64_t index, int begin, int end) const {
    std::int64_t result = 0;
    for (int axis = end - 1; axis >= begin; --axis) {
      result += index % plan_.extent[axis] * operand.stride[axis];
      index /= plan_.extent[axis];
    }
    EXPECT_EQ(index, 0);
    return result;
  }
  std::int64_t outer_offset(const TileOperand& operand, std::int64_t outer) const {
    return offset(operand, outer, 0, plan_.outer_rank);
  }
  std::int64_t row_offset(const TileOperand& operand, std::int64_t outer, std::int64_t row) const {
    return outer_offset(operand, outer) + offset(operand, row, plan_.outer_rank, plan_.outer_rank + plan_.row_rank);
  }

  Value input(const TileOperand& operand, std::int64_t outer, std::int64_t row, std::int64_t column) const {
    const int pack = impl::tile_shape(backend_, loop_.type).pack;
    std::int64_t at = 0;
    switch (operand.access) {
      case Access::none: return value_of(operand.number);
      case Access::row: at = row_offset(operand, outer, row); break;
      case Access::packs:
        at = row_offset(operand, outer, row) + column;
        if (backend_ == Backend::cuda && (plan_.walk == Walk::down || plan_.walk == Walk::none) && column % pack == 0) {
          EXPECT_EQ(address(operand.data, at, loop_.type) % 16, 0u) << "a misaligned pack";
        }
        break;
      case Access::elements: at = row_offset(operand, outer, row) + column * operand.column_stride; break;
      case Access::staged: {
        const std::int64_t within = operand.period != 0 ? column % operand.period : column;
        at = outer_offset(operand, outer) + within * operand.column_stride;
        break;
      }
    }
    return value_at(address(operand.data, at, loop_.type));
  }

  void run_tile(std::int64_t outer, std::int64_t row_block, std::int64_t column_block) {
    const std::int64_t first_row = row_block * plan_.tile_rows;
    const std::int64_t end_row = std::min(first_row + plan_.tile_rows, plan_.rows);
    const std::int64_t first_column = column_block * plan_.tile_columns;
    const std::int64_t end_column = std::min(first_column + plan_.tile_columns, plan_.columns);
    if (plan_.walk == Walk::along) {
      for (std::int64_t row = first_row; row < end_row; ++row) check_packs_match(outer, row);
    }
    for (int k = 0; k < loop_.outputs; ++k) {
      const TileOperand& operand = plan_.operand[loop_.inputs + k];
      if (operand.access == Access::none) continue;
      std::map<std::int64_t, Value> of_column;
      for (std::int64_t column = first_column; column < end_column; ++column) of_column[column] = 0;
      Value total = 0;
      for (std::int64_t row = first_row; row < end_row; ++row) {
        const std::int64_t end = std::min(end_column, plan_.size - row * plan_.columns);
        const std::int64_t at = row_offset(operand, outer, row);
        Value of_row = 0;
        for (std::int64_t column = first_column; column < end; ++column) {
          Value sum = 0;
          for (int i = 0; i < loop_.inputs; ++i) sum += input(plan_.operand[i], outer, row, column);
          const Value value = output_value(sum, k);
          const std::int64_t column_at = at + column * operand.column_stride;
          of_row += value;
          of_column[column] += value;
          if (operand.sum == impl::TileSum::elements) {
            write_once(results_, address(operand.data, column_at, loop_.type), value);
          } else if (operand.sum == impl::TileSum::none) {
            write(operand, column_at, outer * plan_.rows + row, plan_.columns, column, value);
          }
        }
        total += of_row;
        if (operand.sum == impl::TileSum::columns) {
          write(operand, at, outer * plan_.rows + row, plan_.column_blocks, column_block, of_row);
        }
      }
      const std::int64_t block = outer * plan_.row_blocks + row_block;
      if (operand.sum == impl::TileSum::both) {
        write(operand, outer_offset(operand, outer), block, plan_.column_blocks, column_block, total);
      } else if (operand.sum == impl::TileSum::rows) {
        for (const auto& [column, value] : of_column) {
          write(operand, outer_offset(operand, outer) + column * operand.column_stride, block, plan_.columns, column,
                value);
        }
      }
    }
  }

  /// Along a row, all operands that are read and written by packs must miss a pack's alignment by as much.
  void check_packs_match(std::int64_t outer, std::int64_t row) {
    std::optional<std::uintptr_t> shared;
    for (int k = 0; k < loop_.operands(); ++k) {
      const TileOperand& operand = plan_.operand[k];
      if (operand.access != Access::packs || operand.sum != impl::TileSum::elements) continue;
      EXPECT_EQ(operand.column_stride, 1);
      const std::uintptr_t own = address(operand.data, row_offset(operand, outer, row), loop_.type) % 16;
      EXPECT_EQ(own, shared.value_or(own)) << "packs of one row that are not aligned alike";
      shared = own;
    }
  }

  void write(const TileOperand& operand, std::int64_t at, std::int64_t i, std::int64_t width, std::int64_t j,
             Value value) {
    if (operand.direct) return write_once(results_, address(operand.data, at, loop_.type), value);
    write_partial(operand.partial_at + i * width + j, value);
  }

  /// Adds up a sum's partial sums, or, of a first step, those of each part.
  void add_partials(const SumPlan& plan) {
    for (std::int64_t part = 0; part < plan.parts; ++part) {
      for (std::int64_t kept = 0; kept < plan.kept; ++kept) {
        std::int64_t rest = kept;
        std::int64_t first = plan.partial_at;
        std::int64_t out_at = 0;
        for (int axis = 0; axis < plan.kept_rank; ++axis) {
          first += rest % plan.kept_extent[axis] * plan.kept_stride[axis];
          out_at += rest % plan.kept_extent[axis] * plan.out_stride[axis];
          rest /= plan.kept_extent[axis];
        }
        const Value sum = sum_of_part(plan, first, part);
        if (plan.out != nullptr) {
          write_once(results_, address(plan.out, out_at, loop_.type), sum);
        } else {
          write_partial(plan.out_partial_at + part * plan.kept + kept, sum);
        }
      }
    }
  }

  Value sum_of_part(const SumPlan& plan, std::int64_t first, std::int64_t part) const {
    Value sum = 0;
    const std::int64_t end = std::min((part + 1) * plan.chunk, plan.summed);
    for (std::int64_t summed = part * plan.chunk; summed < end; ++summed) {
      std::int64_t rest = summed;
      std::int64_t at = first;
      for (int axis = 0; axis < plan.summed_rank; ++axis) {
        at += rest % plan.summed_extent[axis] * plan.summed_stride[axis];
        rest /= plan.summed_extent[axis];
      }
      const std::optional<Value>& partial = partials_.at(static_cast<std::size_t>(at));
      EXPECT_TRUE(partial.has_value()) << "a partial sum is read that nobody wrote";
      sum += partial.value_or(0);
    }
    return sum;
  }

  void write_partial(std::int64_t at, Value value) {
    std::optional<Value>& partial = partials_.at(static_cast<std::size_t>(at));
    EXPECT_FALSE(partial.has_value()) << "a partial sum is written twice";
    partial = value;
  }

  const Loop& loop_;
  const TilePlan& plan_;
  Backend backend_;
  std::vector<SumPlan> sums_;
  std::vector<std::optional<Value>> partials_;
  Results results_;
};

}  // namespace

Results results_of(const Loop& loop) {
  Results results;
  for (std::int64_t index = 0; index < loop.size(); ++index) {
    const auto at = [&](const impl::LoopOperand& operand) {
      std::int64_t offset = 0;
      std::int64_t rest = index;
      for (int axis = loop.rank - 1; axis >= 0; --axis) {
        offset += rest % loop.extent[axis] * operand.stride[axis];
        rest /= loop.extent[axis];
      }
      return address(operand.data, offset, loop.type);
    };
    Value sum = 0;
    for (int k = 0; k < loop.inputs; ++k) {
      const impl::LoopOperand& operand = loop.operand[k];
      sum += operand.data == nullptr ? value_of(operand.number) : value_at(at(operand));
    }
    for (int k = 0; k < loop.outputs; ++k) {
      const impl::LoopOperand& operand = loop.operand[loop.inputs + k];
      if (operand.data != nullptr) results[at(operand)] += output_value(sum, k);
    }
  }
  return results;
}

Results results_of_plan(const Loop& loop, Backend backend) {
  if (impl::is_flat(loop, backend)) return results_of(loop, impl::make_flat_plan(loop, backend), backend);
  const TilePlan plan = impl::make_tile_plan(loop, backend);
  return Tiles(loop, plan, backend).run();
}

}  // namespace portops::test
