// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/move_parts.hpp"

#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "ops/parts/move_parts_kernel.hpp"
#include "ops/parts/parts_groups.hpp"
#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#endif

namespace portops::impl {
namespace {

#if defined(PORTOPS_HAS_CUDA)

/// Whether kernels can be compiled with more than 4 KB of arguments.
constexpr bool compiles_large_arguments = CUDART_VERSION >= 12010;

/// Whether they can also be launched: a newer toolkit runs on an older driver too, and GPUs before Volta cannot.
bool has_large_arguments(const Context& ctx) {
  static const int driver = [] {
    int version = 0;
    check_cuda(cudaDriverGetVersion(&version), "portops", "cudaDriverGetVersion");
    return version;
  }();
  return compiles_large_arguments && driver >= 12010 && compute_capability(ctx) >= 70;
}

template <class Kernel>
__global__ void __launch_bounds__(256, Kernel::blocks)
    run_items(const __grid_constant__ Kernel kernel, const std::int64_t items) {
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item < items) kernel(item);
}

/// Enqueues a kernel without Kokkos, for the sake of its arguments: more of them, and each at an address.
template <class Kernel>
void launch_on_cuda(const Context& ctx, const std::string& label, const Kernel& kernel) {
  static_assert(sizeof(Kernel) + sizeof(std::int64_t) <= (compiles_large_arguments ? 32764 : 4096),
                "travels as a kernel's arguments");
  constexpr std::int64_t threads = 256;
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, label.c_str());
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(ceil_div(kernel.items(), threads));
  config.blockDim = threads;
  config.stream = instance<Backend::cuda>(ctx).cuda_stream();
  check_cuda(cudaLaunchKernelEx(&config, run_items<Kernel>, kernel, kernel.items()), label, "cudaLaunchKernelEx");
}

template <class Word, PartsForm form, class Index>
void launch_with_table(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  if constexpr (compiles_large_arguments) {
    if (group.table.size() > small_parts_table) {
      return launch_on_cuda(ctx, label, MoveParts<Backend::cuda, Word, form, large_parts_table, Index>(plan, group));
    }
  }
  launch_on_cuda(ctx, label, MoveParts<Backend::cuda, Word, form, small_parts_table, Index>(plan, group));
}

#endif

/// How many words a table of parts can have.
template <Backend B>
int most_table_words([[maybe_unused]] const Context& ctx) {
#if defined(PORTOPS_HAS_CUDA)
  if constexpr (B == Backend::cuda) return has_large_arguments(ctx) ? large_parts_table : small_parts_table;
#endif
  return small_parts_table;
}

template <Backend B, class Word, PartsForm form>
void launch(const Context& ctx, const std::string& label, const PartsPlan& plan, const PartsGroup& group) {
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, MoveParts<B, Word, form, 1, std::int64_t>(plan, group));
  } else {
#if defined(PORTOPS_HAS_CUDA)
    if constexpr (form != PartsForm::strided) {
      if (group.is_narrow(plan)) return launch_with_table<Word, form, int>(ctx, label, plan, group);
    }
    launch_with_table<Word, form, std::int64_t>(ctx, label, plan, group);
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
  for (PartsGroups groups(plan, B, most_table_words<B>(ctx)); groups.next();) {
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
