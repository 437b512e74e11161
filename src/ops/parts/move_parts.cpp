// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/move_parts.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "ops/parts/move_parts_kernel.hpp"
#include "ops/parts/parts_groups.hpp"
#include "portops/core/config.hpp"
#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/table_launch.hpp"
#endif

namespace portops::impl {
namespace {

#if defined(PORTOPS_HAS_CUDA)

template <class Word, PartsForm form, class Index>
void launch_group(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  if constexpr (compiles_large_tables) {
    if (group.table.size() > small_table) {
      return launch_with_table(ctx, label, MoveParts<Backend::cuda, Word, form, large_table, Index>(plan, group));
    }
  }
  launch_with_table(ctx, label, MoveParts<Backend::cuda, Word, form, small_table, Index>(plan, group));
}

#endif

/// How many words a group's table may have. On hosts it stays where it is.
template <Backend B>
int most_words([[maybe_unused]] const Context& ctx) {
#if defined(PORTOPS_HAS_CUDA)
  if constexpr (B == Backend::cuda) return most_table_words(ctx);
#endif
  return 0;
}

template <Backend B, class Word, PartsForm form>
void launch(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, MoveParts<B, Word, form, 1, std::int64_t>(plan, group));
  } else {
#if defined(PORTOPS_HAS_CUDA)
    if constexpr (form != PartsForm::strided) {
      if (group.is_narrow(plan)) return launch_group<Word, form, int>(ctx, label, plan, group);
    }
    launch_group<Word, form, std::int64_t>(ctx, label, plan, group);
#endif
  }
}

template <Backend B, class Word>
void launch_form(const Context& ctx, const PartsLabels& labels, const PartsPlan& plan, const PartsGroup& group) {
  if constexpr (B == Backend::cuda) {
    if (group.form == PartsForm::equal_runs) {
      return launch<B, Word, PartsForm::equal_runs>(ctx, labels.equal_runs, plan, group);
    }
  }
  if (group.form == PartsForm::runs) return launch<B, Word, PartsForm::runs>(ctx, labels.runs, plan, group);
  if constexpr (sizeof(Word) <= 8) launch<B, Word, PartsForm::strided>(ctx, labels.strided, plan, group);
}

template <Backend B>
void move_parts_on(const Context& ctx, const PartsLabels& labels, const PartsPlan& plan) {
  for (PartsGroups groups(plan, B, most_words<B>(ctx)); groups.next();) {
    const PartsGroup& group = groups.group();
    switch (plan.word) {
      case 2: launch_form<B, std::uint16_t>(ctx, labels, plan, group); break;
      case 4: launch_form<B, std::uint32_t>(ctx, labels, plan, group); break;
      case 8: launch_form<B, std::uint64_t>(ctx, labels, plan, group); break;
      default:
        if constexpr (B == Backend::cuda) launch_form<B, Pack<std::uint32_t, 4>>(ctx, labels, plan, group);
    }
  }
}

}  // namespace

void move_parts(const Context& ctx, const PartsLabels& labels, const PartsPlan& plan) {
  dispatch_backend(ctx.backend(), [&]<Backend B>() { move_parts_on<B>(ctx, labels, plan); });
}

}  // namespace portops::impl
