// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/strided_copy.hpp"

#include "core/copy/copy_to_packs.hpp"
#include "core/copy/copy_words.hpp"
#include "core/copy/copy_words_host.hpp"
#include "core/copy/rearrange.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"

#include <algorithm>
#include <optional>

namespace portops::impl {
namespace {

/// The copy as a rearrangement, where neighbours lie along different axes on both sides and the other axes are few
/// enough.
std::optional<Rearrangement> as_rearrangement(const CopyPlan& plan) {
  const StridedAxes &from = plan.from.axes, &to = plan.to.axes;
  const int last = to.rank - 1;
  if (!plan.same_axes || plan.word_bytes > 8 || to.rank < 2 || to.rank > 4) return {};
  const auto end = from.stride.begin() + last;
  const auto found = std::find(from.stride.begin(), end, 1);
  if (to.stride[last] != 1 || from.stride[last] == 1 || found == end) return {};
  const auto row = static_cast<int>(found - from.stride.begin());

  Rearrangement result;
  result.rows = to.extent[row];
  result.width = to.extent[last];
  result.from = {.data = plan.from.data, .row = from.stride[row], .x = from.stride[last]};
  result.to = {.data = plan.to.data, .row = to.stride[row], .x = to.stride[last]};
  bool has_batches = false;
  for (int axis = 0; axis < last; ++axis) {
    if (axis == row) continue;
    (has_batches ? result.height : result.batches) = to.extent[axis];
    (has_batches ? result.from.y : result.from.batch) = from.stride[axis];
    (has_batches ? result.to.y : result.to.batch) = to.stride[axis];
    has_batches = true;
  }
  return result;
}

/// On a GPU, of words of 2, 4 or 8 bytes. Returns whether it could.
template <Backend B, class Word>
bool copy_whole_packs(const Context& ctx, const CopyLabels& labels, const CopyPlan& plan) {
  std::optional<Rearrangement> what = as_rearrangement(plan);
  if (what) what->balance();
  // Blocks and lines, whose threads take neighbours on both sides.
  constexpr int long_line = 32;
  if (what && std::min(what->rows, what->columns()) >= long_line) {
    rearrange<B, Word, Word>(ctx, labels.turned, *what);
    return true;
  }
  using Packs = CopyToPacks<Word, int>;
  using PacksOfLarge = CopyToPacks<Word, std::int64_t>;
  if (!Packs::suits(plan)) return false;
  plan.is_small() ? launch_by_items<B>(ctx, labels.packs, Packs(plan))
                  : launch_by_items<B>(ctx, labels.packs, PacksOfLarge(plan));
  return true;
}

template <Backend B, class Word>
void copy_words(const Context& ctx, const CopyLabels& labels, const CopyPlan& plan) {
  const std::string& label = plan.same_axes ? labels.words : labels.gather;
  if constexpr (B == Backend::cuda) {
    if constexpr (sizeof(Word) <= 8) {
      if (copy_whole_packs<B, Word>(ctx, labels, plan)) return;
    }
    if (!plan.same_axes) {
      launch_by_items<B>(ctx, label, CopyWords<Word, false, std::int64_t>(plan));
    } else if (plan.is_small()) {
      launch_by_items<B>(ctx, label, CopyWords<Word, true, int>(plan));
    } else {
      launch_by_items<B>(ctx, label, CopyWords<Word, true, std::int64_t>(plan));
    }
  } else {
    if constexpr (sizeof(Word) <= 8) {
      if (const std::optional<Rearrangement> what = as_rearrangement(plan)) {
        return rearrange<B, Word, Word>(ctx, labels.turned, *what);
      }
    }
    launch_by_items<B>(ctx, label, CopyWordsHost<Word>(plan));
  }
}

}  // namespace

void strided_copy(const Context& ctx, const CopyLabels& labels, const CopyPlan& plan) {
  dispatch_backend(ctx.backend(), [&]<Backend B>() {
    switch (plan.word_bytes) {
      case 2: return copy_words<B, std::uint16_t>(ctx, labels, plan);
      case 4: return copy_words<B, std::uint32_t>(ctx, labels, plan);
      case 8: return copy_words<B, std::uint64_t>(ctx, labels, plan);
      default: return copy_words<B, WidestWord>(ctx, labels, plan);
    }
  });
}

}  // namespace portops::impl
