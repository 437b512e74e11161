// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/kernel_table.hpp"
#include "core/exec/launch.hpp"

#include <string>

namespace portops::impl {

/// Whether kernels can be compiled with more than 4 KB of arguments.
inline constexpr bool compiles_large_tables = CUDART_VERSION >= 12010;

/// How many words a table can have. A newer toolkit runs on an older driver too, and GPUs before Volta cannot take
/// more.
inline int most_table_words(const Context& ctx) {
  static const int driver = [] {
    int version = 0;
    check_cuda(cudaDriverGetVersion(&version), "portops", "cudaDriverGetVersion");
    return version;
  }();
  return compiles_large_tables && driver >= 12010 && compute_capability(ctx) >= 70 ? large_table : small_table;
}

template <class Kernel>
__global__ void __launch_bounds__(256, Kernel::blocks)
    run_items(const __grid_constant__ Kernel kernel, const std::int64_t items) {
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item < items) kernel(item);
}

/// Enqueues kernel(item) for each of its items, in blocks of 256. Without Kokkos, for the sake of the arguments: more
/// of them, and each at an address.
template <class Kernel>
void launch_with_table(const Context& ctx, const std::string& label, const Kernel& kernel) {
  static_assert(sizeof(Kernel) + sizeof(std::int64_t) <= (compiles_large_tables ? 32764 : 4096),
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

}  // namespace portops::impl
