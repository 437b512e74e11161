// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm.hpp"

// The ways in which gemm computes, one a source file.

namespace portops::blas {

/// A checked product: c is rows × columns, and has elements; the strides are those of the rows as they lie in memory.
struct Product {
  ElementType type;
  ElementType c_type;
  Transpose a_transpose, b_transpose;
  std::int64_t rows, columns, inner;
  double alpha, beta;
  const void* a;
  const void* b;
  void* c;
  std::int64_t a_stride, b_stride, c_stride;
  Batch batch;
  const void* bias = nullptr;  ///< of c's type; beta is 0 then
  std::int64_t bias_stride = 0;
  impl::Prepared* kept_b = nullptr;  ///< may be null; of a product that is no batch
};

/// c = beta · c, on every backend.
void scale(const Context& ctx, const Product& product);

/// On hosts, for all element types: the same bits for any number of threads.
void multiply_by_fallback(const Context& ctx, const Product& product);

/// For f64 and f32, whose extents and strides an int can hold. Two source files define it, of which the build takes
/// one: through Kokkos Kernels on every backend, or through CBLAS on hosts.
void multiply_by_blas(const Context& ctx, const Product& product);
/// Whether it hands products of host memory to a BLAS: Kokkos Kernels has loops of its own where it was built without.
extern const bool has_host_blas;
/// The region in which multiply_by_blas runs.
extern const char* const blas_region;
/// The number of the GPU on which Kokkos Kernels computes.
int blas_device();

/// On cuda, for all element types, with a workspace of any length.
void multiply_by_cublas(const Context& ctx, const Product& product, Workspace workspace);
/// The same of a product with a bias, whose numbers are neighbours, and without a batch: the bias is added as c is
/// written. False, and nothing is done, where cuBLAS has no way to.
bool multiply_with_bias_by_cublas(const Context& ctx, const Product& product, Workspace workspace);
/// The workspace that cuBLAS wants on the device of a cuda context.
std::size_t cublas_workspace(const Context& ctx);

}  // namespace portops::blas
