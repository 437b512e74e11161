// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_thin_sm90.hpp"

#include "blas/thin_product_sm90.hpp"
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace portops::blas {
namespace {

constexpr const char* label = "portops::gemm[thin]";

/// With more vectors products take longer than the matrix takes to be read, or, in tf32 and f64, longer than by tensor
/// cores.
constexpr int most_vectors = 8, most_vectors_by_tensor_cores = 4;
/// Of lines, and along the inner axis: below this, a warp has no use for its lanes.
constexpr std::int64_t least_extent = 64;
constexpr std::int64_t most_batches = 65535;
/// Numbers of a matrix whose lines are neighbours, of one vector: cuBLAS reads more of them 5 % faster.
constexpr std::int64_t most_of_one_vector = 1 << 22;
/// Additions one after the other, of a lane in a chunk, and of chunks: constant data drift by no more than 1.6e-6.
constexpr std::int64_t most_additions = 128, most_chunks = 16;

/// What the operands are: the one with more lines is the matrix.
struct Roles {
  bool has_few_rows;
  std::int64_t vectors, lines;
  bool lines_are_neighbours;

  explicit Roles(const Product& p)
      : has_few_rows(p.rows <= p.columns),
        vectors(std::min(p.rows, p.columns)),
        lines(std::max(p.rows, p.columns)),
        lines_are_neighbours(has_few_rows ? p.b_transpose == Transpose::no : p.a_transpose == Transpose::yes) {}
};

/// How the product is shared out: blocks for two a multiprocessor where there is work for so many, each with lines of
/// its own, or else, in a cluster, a share of the inner axis.
template <class F>
struct Plan {
  static constexpr std::int64_t blocks_at_once = impl::gpu_teams_at_once;
  // 32 lanes side by side have few lines: many small blocks then even out what each takes.
  static constexpr std::int64_t most_tiles = F::inner_lanes == 32 ? 4 * blocks_at_once : blocks_at_once;
  static constexpr std::int64_t least_share = F::is_down ? 1024 : F::inner_lanes == 32 ? 4096 : 2048;
  static constexpr std::int64_t most_blocks = 8;  ///< of a cluster
  static constexpr std::int64_t shared_bytes = 96 << 10;

  int groups = 1;
  std::int64_t tiles, cluster, share, chunk;

  Plan(std::int64_t lines, std::int64_t inner, std::int64_t count) {
    using T = typename F::Number;
    const auto tiles_of = [&] { return impl::ceil_div(lines, groups * F::lines); };
    while (groups < thin::warps && tiles_of() > 1 && tiles_of() * count > most_tiles) groups *= 2;
    tiles = tiles_of();
    cluster = std::clamp<std::int64_t>(std::min(blocks_at_once / (tiles * count), inner / least_share), 1, most_blocks);
    const auto steps = [](std::int64_t extent) { return impl::ceil_div(extent, F::step) * F::step; };
    share = steps(impl::ceil_div(inner, cluster));
    const std::int64_t most = std::min<std::int64_t>(most_additions * (thin::warps / groups * F::inner_lanes),
                                                     shared_bytes / (F::most_vectors * std::int64_t{sizeof(T)}));
    chunk = std::min(most / F::step * F::step, share);
  }

  std::size_t bytes() const {
    const std::int64_t of_vectors = chunk * F::most_vectors, of_sums = thin::warps * F::elements;
    return sizeof(typename F::Number) * static_cast<std::size_t>(std::max(of_vectors, of_sums));
  }
};

/// Calls action.operator()<F>() for the form that suits the product.
template <class T, class Action>
auto with_form(const Roles& roles, std::int64_t inner, const Action& action) {
  const auto of_vectors = [&]<int vectors>() {
    if (roles.lines_are_neighbours) return action.template operator()<thin::Form<T, vectors, true, 4>>();
    if constexpr (vectors <= 2) {
      if (inner >= 2048) return action.template operator()<thin::Form<T, vectors, false, 32>>();
    }
    return action.template operator()<thin::Form<T, vectors, false, 8>>();
  };
  if (roles.vectors == 1) return of_vectors.template operator()<1>();
  if (roles.vectors == 2) return of_vectors.template operator()<2>();
  if constexpr (std::is_same_v<T, float>) {
    if (roles.vectors > most_vectors_by_tensor_cores) return of_vectors.template operator()<most_vectors>();
  }
  return of_vectors.template operator()<most_vectors_by_tensor_cores>();
}

template <class T>
thin::Arguments<T> arguments_of(const Product& p, const Roles& roles) {
  thin::Arguments<T> result{.lines = roles.lines,
                            .count = static_cast<int>(roles.vectors),
                            .inner = p.inner,
                            .c = static_cast<T*>(p.c),
                            .c_batch = p.batch.c_stride,
                            .bias = static_cast<const T*>(p.bias),
                            .alpha = static_cast<T>(p.alpha),
                            .beta = static_cast<T>(p.beta)};
  const auto *const a = static_cast<const T*>(p.a), *const b = static_cast<const T*>(p.b);
  const auto set = [&](const T* matrix, std::int64_t stride, std::int64_t batch, const T* vectors,
                       std::int64_t vectors_stride, std::int64_t vectors_batch, bool vectors_are_neighbours) {
    result.matrix = matrix;
    result.matrix_stride = stride;
    result.matrix_batch = batch;
    result.vectors = vectors;
    result.vector_stride = vectors_are_neighbours ? 1 : vectors_stride;
    result.vector_inner = vectors_are_neighbours ? vectors_stride : 1;
    result.vectors_batch = vectors_batch;
  };
  if (roles.has_few_rows) {
    set(b, p.b_stride, p.batch.b_stride, a, p.a_stride, p.batch.a_stride, p.a_transpose == Transpose::yes);
    result.of_c = {.line = 1, .vector = p.c_stride};
    result.of_bias = {.line = p.bias_stride, .vector = 0};
  } else {
    set(a, p.a_stride, p.batch.a_stride, b, p.b_stride, p.batch.b_stride, p.b_transpose == Transpose::no);
    result.of_c = {.line = p.c_stride, .vector = 1};
    result.of_bias = {.line = 0, .vector = p.bias_stride};
  }
  return result;
}

template <class T>
void launch(cudaStream_t stream, const Product& product) {
  const Roles roles(product);
  thin::Arguments<T> arguments = arguments_of<T>(product, roles);
  with_form<T>(roles, product.inner, [&]<class F>() {
    const Plan<F> plan(roles.lines, product.inner, product.batch.count);
    arguments.groups = plan.groups;
    arguments.cluster = static_cast<int>(plan.cluster);
    arguments.share = plan.share;
    arguments.chunk = plan.chunk;
    const auto kernel = thin::multiply<F>;
    impl::allow_shared_memory(reinterpret_cast<const void*>(kernel), Plan<F>::shared_bytes, label);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(plan.tiles * plan.cluster), static_cast<unsigned>(product.batch.count));
    config.blockDim = thin::threads;
    config.dynamicSmemBytes = plan.bytes();
    config.stream = stream;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(plan.cluster), 1, 1};
    config.attrs = &cluster;
    config.numAttrs = plan.cluster > 1 ? 1 : 0;
    impl::check_cuda(cudaLaunchKernelEx(&config, kernel, arguments), label, "cudaLaunchKernelEx");
  });
}

}  // namespace

bool suits_thin(const Product& p, Math math) {
  const Roles roles(p);
  const bool has_tensor_cores = p.type == ElementType::f64 || math == Math::tf32;
  const int most = has_tensor_cores ? most_vectors_by_tensor_cores : most_vectors;
  if ((p.type != ElementType::f32 && p.type != ElementType::f64) || roles.vectors > most ||
      std::min(roles.lines, p.inner) < least_extent || p.batch.count > most_batches) {
    return false;
  }
  if (roles.vectors == 1 && roles.lines_are_neighbours && roles.lines * p.inner > most_of_one_vector / p.batch.count) {
    return false;
  }
  const auto [data, stride, batch_stride] = roles.has_few_rows ? std::tuple{p.b, p.b_stride, p.batch.b_stride}
                                                               : std::tuple{p.a, p.a_stride, p.batch.a_stride};
  const std::int64_t pack = p.type == ElementType::f32 ? 4 : 2;
  if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0 || stride % pack != 0 || batch_stride % pack != 0 ||
      (roles.lines_are_neighbours ? roles.lines : p.inner) % pack != 0) {
    return false;
  }
  const auto has_few_chunks = [&]<class F>() {
    const Plan<F> plan(roles.lines, p.inner, p.batch.count);
    return plan.tiles <= INT32_MAX / plan.cluster && impl::ceil_div(plan.share, plan.chunk) <= most_chunks;
  };
  return p.type == ElementType::f32 ? with_form<float>(roles, p.inner, has_few_chunks)
                                    : with_form<double>(roles, p.inner, has_few_chunks);
}

void multiply_thin(void* stream, const Product& product) {
  auto* const in_order = static_cast<cudaStream_t>(stream);
  product.type == ElementType::f32 ? launch<float>(in_order, product) : launch<double>(in_order, product);
}

}  // namespace portops::blas
