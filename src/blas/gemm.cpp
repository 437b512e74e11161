// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm.hpp"

#include "blas/gemm_paths.hpp"
#include "blas/gemm_sm90.hpp"
#include "blas/gemm_thin_sm90.hpp"
#include "core/check/check.hpp"
#include "core/copy/strided_copy.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "portops/core/config.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace portops::blas {
namespace {

using impl::Named;

void check_rank(const Named& matrix) {
  if (matrix.tensor.rank() == 2) return;
  impl::fail("portops::gemm: ", matrix.name, " has extents ", matrix.tensor.extents().to_string(),
             ", expected a matrix (two axes)");
}

/// The stride of the rows, where it matters; else one that BLAS accepts.
std::int64_t row_stride(const Named& matrix) {
  const TensorRef& tensor = matrix.tensor;
  const std::int64_t length = std::max<std::int64_t>(tensor.extent(1), 1);
  const bool one_row = tensor.extent(0) == 1 || tensor.size() == 0;
  if ((length > 1 && tensor.stride(1) != 1) || (!one_row && tensor.stride(0) < length)) {
    impl::fail("portops::gemm: ", matrix.name, " has strides ", tensor.strides().to_string(),
               ", expected rows at least ", length, " apart (its columns) and a last axis of stride 1");
  }
  return one_row ? length : tensor.stride(0);
}

Product check(const Context& ctx, Transpose a_transpose, Transpose b_transpose, double alpha, const TensorRef& a,
              const TensorRef& b, double beta, const TensorRef& c, const Batch& batch, const TensorRef& bias) {
  constexpr std::string_view op = "gemm";
  const ElementType type = a.type();
  for (const Named& input : {Named{"a", a}, Named{"b", b}}) {
    impl::check_input(op, ctx, input, type, "a");
    check_rank(input);
  }
  const bool a_turned = a_transpose == Transpose::yes;
  const bool b_turned = b_transpose == Transpose::yes;
  const std::int64_t rows = a.extent(a_turned ? 1 : 0);
  const std::int64_t inner = a.extent(a_turned ? 0 : 1);
  const std::int64_t columns = b.extent(b_turned ? 0 : 1);
  const Extents expected = b_turned ? Extents{columns, inner} : Extents{inner, columns};
  if (b.extents() != expected) {
    impl::fail("portops::gemm: b has extents ", b.extents().to_string(), b_turned ? " and is transposed" : "",
               ", expected ", expected.to_string(), " (the inner extent of a, ", a.extents().to_string(),
               a_turned ? " transposed, is " : ", is ", inner, ")");
  }
  const bool widens = size_of(type) == 2 && c.type() == ElementType::f32;
  impl::check_output(op, ctx, {"c", c}, widens ? ElementType::f32 : type, "a", {rows, columns},
                     "the rows of op(a) and the columns of op(b)");
  impl::check_no_overlap(op, {"c", c}, std::array{Named{"a", a}, Named{"b", b}, Named{"bias", bias}});
  if (bias) {
    impl::check_input(op, ctx, {"bias", bias}, c.type(), "c");
    impl::check_extents(op, {"bias", bias}, {columns}, "the columns of c");
    if (beta != 0.0) impl::fail("portops::gemm: beta is ", beta, ", expected 0, because there is a bias");
  }
  check_products(op, ctx, type);
  return {.type = type,
          .c_type = c.type(),
          .a_transpose = a_transpose,
          .b_transpose = b_transpose,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .alpha = alpha,
          .beta = beta,
          .a = a.data(),
          .b = b.data(),
          .c = c.data(),
          .a_stride = row_stride({"a", a}),
          .b_stride = row_stride({"b", b}),
          .c_stride = row_stride({"c", c}),
          .batch = batch,
          .bias = bias ? bias.data() : nullptr,
          .bias_stride = bias ? bias.stride(0) : 0};
}

bool has_blas(ElementType type) { return type == ElementType::f64 || type == ElementType::f32; }

/// Whether a product is large enough to wake the threads of a BLAS: OpenBLAS has its own, which then look for more work
/// for some 20 ms, on the cores that the backend's next kernels run on. One of few rows or columns takes as long as its
/// matrix takes to be read, whoever multiplies.
bool is_worth_threads(const Product& product) {
  constexpr double least = 1 << 25;
  constexpr std::int64_t least_extent = 8;
  if (std::min(product.rows, product.columns) < least_extent) return false;
  return static_cast<double>(product.rows) * static_cast<double>(product.columns) *
             static_cast<double>(product.inner) >=
         least;
}

/// Whether the BLAS of the build can compute it, and the context wants it to. Where that leaves the choice, batches on
/// hosts are portops' own: a BLAS computes them one by one.
bool suits_blas(const Context& ctx, const Product& product) {
  const bool may_choose = ctx.products() == Products::automatic && ctx.backend() != Backend::cuda &&
                          !ctx.deterministic() && has_host_blas && product.batch.count == 1 &&
                          is_worth_threads(product);
  const std::int64_t largest =
      std::max({product.rows, product.columns, product.inner, product.a_stride, product.b_stride, product.c_stride});
  return (may_choose || ctx.products() == Products::kokkos_kernels) && has_blas(product.type) &&
         largest <= std::numeric_limits<int>::max();
}

/// The product without its bias, which is written to c first, in all rows.
Product with_bias_in_c(const Context& ctx, Product product, const TensorRef& bias, const TensorRef& c) {
  if (product.bias == nullptr) return product;
  static const impl::CopyLabels labels("gemm");
  const Extents extents{product.batch.count, product.rows, product.columns};
  const TensorRef from(bias.data(), bias.type(), extents, {0, 0, product.bias_stride}, bias.space());
  const TensorRef to(c.data(), c.type(), extents, {product.batch.c_stride, product.c_stride, 1}, c.space());
  impl::strided_copy(ctx, labels, impl::make_copy_plan(from, to));
  product.bias = nullptr;
  product.beta = 1.0;
  return product;
}

#if defined(PORTOPS_HAS_CUDA)
/// The workspace of a product: the caller's, or else so many bytes of the pool, which belong to this call and come back
/// in stream order.
class ProductMemory {
 public:
  ProductMemory(const Context& ctx, Workspace lent, std::size_t bytes) : workspace_(lent) {
    if (reinterpret_cast<std::uintptr_t>(lent.data) % 256 != 0) {
      impl::fail("portops::gemm: the workspace at ", lent.data, " is not aligned, expected a multiple of 256");
    }
    if (lent.data != nullptr || bytes == 0) return;
    workspace_ = {pooled_.emplace(Context(ctx).workspace({}), "portops::gemm::workspace", bytes).data(), bytes};
  }

  operator Workspace() const { return workspace_; }  // NOLINT: it is one

 private:
  std::optional<impl::Temporary> pooled_;
  Workspace workspace_;
};
#endif

}  // namespace

void gemm(const Context& ctx, Transpose a_transpose, Transpose b_transpose, double alpha, const TensorRef& a,
          const TensorRef& b, double beta, const TensorRef& c, const Batch& batch, [[maybe_unused]] Workspace workspace,
          const TensorRef& bias, impl::Prepared* kept_b) {
  Product product = check(ctx, a_transpose, b_transpose, alpha, a, b, beta, c, batch, bias);
  if (batch.count == 1) product.kept_b = kept_b;
  if (c.size() == 0 || batch.count == 0) return;
  if (product.inner == 0 || alpha == 0.0) {
    const impl::Region region("portops::gemm[scale]");
    return scale(ctx, with_bias_in_c(ctx, product, bias, c));
  }
  if (suits_blas(ctx, product)) {
    const impl::Region region(blas_region);
    return multiply_by_blas(ctx, with_bias_in_c(ctx, product, bias, c));
  }
#if defined(PORTOPS_HAS_SM90)
  const bool has_sm90 = ctx.backend() == Backend::cuda && impl::compute_capability(ctx) == 90;
  if (has_sm90 && suits_thin(product, ctx.math())) {
    const impl::Region region("portops::gemm[thin]");
    const impl::CurrentDevice device(ctx);
    const impl::LaunchEvent event(ctx, "portops::gemm[thin]");
    return multiply_thin(impl::cuda_stream(ctx), product);
  }
  if (has_sm90 && ctx.math() == Math::ieee && suits_sm90(product)) {
    const impl::Region region("portops::gemm[sm90]");
    const impl::CurrentDevice device(ctx);
    const int multiprocessors = impl::multiprocessors(ctx);
    const ProductMemory memory(ctx, workspace, sm90_workspace(multiprocessors, product));
    const impl::LaunchEvent event(ctx, "portops::gemm[sm90]");
    return multiply_by_sm90(impl::cuda_stream(ctx), multiprocessors, product, memory);
  }
#endif
#if defined(PORTOPS_HAS_CUDA)
  if (ctx.backend() == Backend::cuda) {
    const impl::Region region("portops::gemm[cublas]");
    const ProductMemory memory(ctx, workspace, cublas_workspace(ctx));
    const bool may_add_bias = product.bias != nullptr && product.bias_stride == 1 && batch.count == 1;
    if (may_add_bias && multiply_with_bias_by_cublas(ctx, product, memory)) return;
    return multiply_by_cublas(ctx, with_bias_in_c(ctx, product, bias, c), memory);
  }
#endif
  const impl::Region region("portops::gemm[fallback]");
  multiply_by_fallback(ctx, product);
}

void check_products(std::string_view op, const Context& ctx, [[maybe_unused]] ElementType type) {
  if (ctx.products() != Products::kokkos_kernels) return;
  const auto refuse = [&](const auto&... where) {
    impl::fail("portops::", op, ": the context's products are kokkos_kernels, expected automatic or own ", where...);
  };
#if defined(PORTOPS_HAS_KOKKOS_KERNELS)
  if (!has_blas(type)) refuse("for ", name_of(type), " (Kokkos Kernels multiplies f64 and f32)");
  if (ctx.deterministic()) refuse("in deterministic mode (Kokkos Kernels promises no order of additions)");
#if defined(PORTOPS_HAS_CUDA)
  if (ctx.backend() == Backend::cuda && impl::cuda_device(ctx) != blas_device()) {
    refuse("on GPU ", impl::cuda_device(ctx), " (Kokkos Kernels computes on Kokkos' own, ", blas_device(), ")");
  }
#endif
#else
  refuse("in a build without Kokkos Kernels (PORTOPS_ENABLE_KOKKOS_KERNELS)");
#endif
}

std::size_t gemm_workspace([[maybe_unused]] const Context& ctx) {
#if defined(PORTOPS_HAS_CUDA)
  if (ctx.backend() == Backend::cuda) return cublas_workspace(ctx);
#endif
  return 0;
}

}  // namespace portops::blas
