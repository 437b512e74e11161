// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/fused/tap_products.hpp"

#include "core/exec/cuda/cuda_device.hpp"
#include "ops/convolution/conv2d/fused/tap_consumers_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_producers_sm90.hpp"
#include "ops/convolution/conv2d/fused/weight_parts_sm90.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

using namespace tap_products;
using blas::sm90::SharedAddress;

constexpr const char* label = "portops::conv2d_grad::weight_grad[taps]";

template <class F>
__global__ __launch_bounds__(F::threads, F::blocks) void multiply(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(128) char shared[];
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const Block block = Block::of<F>(arguments);
  blas::sm90::Ring ring{memory + arguments.barriers_at, stages};
  auto* const shapes = reinterpret_cast<int2*>(shared + arguments.barriers_at + stages * 16);
  if (threadIdx.x == 0) ring.make(F::producers, F::consumers);
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= F::consumers) {
    blas::sm90::leave_registers<F::producer_registers>();
    produce<F>(arguments, block, shared, memory, ring, shapes);
    blas::sm90::synchronize_cluster();
  } else {
    blas::sm90::take_registers<F::consumer_registers>();
    consume<F>(arguments, block, shared, memory, ring, shapes);
    blas::sm90::synchronize_cluster();
    leave_sums<F>(arguments, block, shared);
  }
  // The others may still be reading this block's sums.
  blas::sm90::synchronize_cluster();
}

template <class F>
void launch(cudaStream_t stream, const Windows& windows, const TapProductsPlan& plan,
            const TapProductsOperands& operands) {
  const auto divisor = [](int value) { return Divisor(static_cast<std::uint32_t>(value)); };
  const int of_image = plan.vertical_tiles * plan.horizontal_tiles;
  const int barriers_at = std::max(stages * plan.stage_bytes, SumsLayout(F::outs, F::channels).bytes());
  const Arguments arguments{.windows = windows,
                            .operands = operands,
                            .plan = plan,
                            .tiles = static_cast<int>(windows.images) * of_image,
                            .barriers_at = barriers_at,
                            .by_tiles_of_image = divisor(of_image),
                            .by_horizontal_tiles = divisor(plan.horizontal_tiles)};
  const int bytes = barriers_at + stages * static_cast<int>(16 + sizeof(int2));
  allow_shared_memory(reinterpret_cast<const void*>(multiply<F>), bytes, label);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, 1, static_cast<unsigned>(plan.cluster)};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(plan.channel_tiles * plan.tap_chunks),
                        static_cast<unsigned>(windows.groups) * static_cast<unsigned>(plan.out_tiles),
                        static_cast<unsigned>(plan.shares));
  config.blockDim = dim3(F::threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, multiply<F>, arguments), label, "cudaLaunchKernelEx");
  if (plan.parts() > 1) enqueue_sums_of_parts<float>(stream, label, windows, operands.parts, plan.parts());
}

}  // namespace

void multiply_taps(void* stream, const Windows& windows, const TapProductsPlan& plan,
                   const TapProductsOperands& operands) {
  auto* const to = static_cast<cudaStream_t>(stream);
  const auto with = [&]<int outs, int channels, bool splits>() {
    launch<Form<outs, channels, splits>>(to, windows, plan, operands);
  };
  if (!plan.rounds) {
    return plan.channels == 64 ? with.operator()<32, 64, true>() : with.operator()<32, 32, true>();
  }
  if (plan.outs == 64) {
    return plan.channels == 64 ? with.operator()<64, 64, false>() : with.operator()<64, 32, false>();
  }
  plan.channels == 64 ? with.operator()<32, 64, false>() : with.operator()<32, 32, false>();
}

}  // namespace portops::impl
