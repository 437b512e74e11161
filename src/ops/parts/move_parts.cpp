// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/move_parts.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "ops/parts/move_packs_kernel.hpp"
#include "ops/parts/move_parts_kernel.hpp"
#include "ops/parts/parts_groups.hpp"
#include "portops/core/config.hpp"
#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/table_launch.hpp"
#endif

namespace portops::impl {
namespace {

#if defined(PORTOPS_HAS_CUDA)

/// Calls action<words>() with room for the group's table.
template <class Action>
void with_table_words(const PartsGroup& group, const Action& action) {
  if constexpr (compiles_large_tables) {
    if (group.table.size() > small_table) return action.template operator()<large_table>();
  }
  action.template operator()<small_table>();
}

template <class Word, PartsForm form, class Index>
void launch_parts(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  with_table_words(group, [&]<int words>() {
    launch_with_table(ctx, label, MoveParts<Backend::cuda, Word, form, words, Index>(plan, group));
  });
}

template <class Word, PartsForm form>
void launch_packs(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  with_table_words(group,
                   [&]<int words>() { launch_with_table(ctx, label, MovePacks<Word, form, words>(plan, group)); });
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
void launch(const Context& ctx, const PartsLabels& labels, const PartsPlan& plan, const PartsGroup& group) {
  const std::string& label = labels.of(form);
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, MoveParts<B, Word, form, 1, std::int64_t>(plan, group));
  } else {
#if defined(PORTOPS_HAS_CUDA)
    if constexpr (form != PartsForm::strided) {
      if constexpr (sizeof(Word) < gpu_pack_bytes) {
        if (MovePacks<Word, form, small_table>::suits(plan, group)) {
          return launch_packs<Word, form>(ctx, labels.packs, plan, group);
        }
      }
      if (group.is_narrow(plan)) return launch_parts<Word, form, int>(ctx, label, plan, group);
    }
    launch_parts<Word, form, std::int64_t>(ctx, label, plan, group);
#endif
  }
}

template <Backend B, class Word>
void launch_form(const Context& ctx, const PartsLabels& labels, const PartsPlan& plan, const PartsGroup& group) {
  if constexpr (B == Backend::cuda) {
    if (group.form == PartsForm::equal_runs) return launch<B, Word, PartsForm::equal_runs>(ctx, labels, plan, group);
  }
  if (group.form == PartsForm::runs) return launch<B, Word, PartsForm::runs>(ctx, labels, plan, group);
  if constexpr (sizeof(Word) <= 8) launch<B, Word, PartsForm::strided>(ctx, labels, plan, group);
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
