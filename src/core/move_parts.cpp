// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/move_parts.hpp"

#include "core/dispatch.hpp"
#include "core/launch.hpp"
#include "core/move_parts_kernel.hpp"
#include "core/parts_groups.hpp"

namespace portops::impl {
namespace {

template <Backend B, class Word, PartsForm form>
void launch(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  using Kernel = MoveParts<B, Word, form>;
  static_assert(B != Backend::cuda || sizeof(Kernel) < 4000, "travels as a kernel's arguments");
  launch_by_items<B>(ctx, label, Kernel(plan, group));
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
  for (PartsGroups groups(plan, B); groups.next();) {
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
