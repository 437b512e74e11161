// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/program_call.hpp"
#include "core/types/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

// Matrix products behind one interface, whichever library computes them.

namespace portops::blas {

/// Whether a matrix enters a product as it lies or transposed.
enum class Transpose : bool { no, yes };

/// Products of the same form: how many, and how many elements the matrices of one lie after those of the one before.
struct Batch {
  std::int64_t count = 1;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
  std::int64_t c_stride = 0;
};

/// c = alpha · op(a) · op(b) + beta · c, op being the transposition where it is asked for; or, with a bias,
/// c = alpha · op(a) · op(b) + bias, which has a number for each column of c.
///
/// Matrices are tensors of two axes, of one element type, with neighbours along the last axis at neighbouring
/// addresses and rows at least as far apart as they are long; where a and b are of a half type, c may be f32. Products
/// of f32 and of half types accumulate in f32 and round once (cuBLAS may round halves again before it adds c); on cuda
/// ctx.math() may let f32 operands be rounded to tf32. c must not overlap a or b. With a batch, a, b and c are the
/// first product's; nobody checks that the others do not overlap.
/// - beta = 0 writes c without reading it, so that c may hold anything, NaN included.
/// - A bias is a tensor of one axis, of any stride and of c's element type. It must not overlap c; beta must be 0.
///   thin, sm90 and the fallback add it as they write c, and so does cublas where it has no gaps and the product is no
///   batch; for the others it is written to c first.
/// - alpha = 0, or an inner extent of 0, gives beta · c, or the bias, without reading a or b.
/// - A c without elements is left alone.
///
/// It enqueues on the context's instance and returns, in the region portops::gemm[PATH], where PATH is one of
/// - thin: on GPUs of compute capability 9.0, products of up to 8 rows or columns in f32 (4 where its math is tf32), or
///   4 in f64, where the other operand lies at multiples of 16 bytes and has 64 rows and columns or more; one row or
///   column of a large one whose neighbours are not along the inner axis stays with cublas.
/// - sm90: on GPUs of compute capability 9.0, f32 products whose math is ieee, as sums of products of bf16 terms on
///   the tensor cores; an Inf among the products then gives Inf or NaN.
/// - cublas: on cuda. After a first call on each device it can be captured in a CUDA graph.
/// - kokkos_kernels: f64 and f32 on every backend where ctx.products() asks for it; and on hosts, where it is automatic
///   and Kokkos Kernels was built with a BLAS, large products that are no batch and have 8 rows and columns or more.
///   That BLAS takes the threads that it is configured for. After a first call it can be captured in a CUDA graph.
/// - cblas: the latter in a build without Kokkos Kernels.
/// - fallback: on hosts, what those lack: half types, extents above 2^31, and ctx.deterministic(), because a BLAS may
///   add up in another order when its number of threads changes; batches; and where ctx.products() asks for own.
/// - scale: alpha = 0, or an inner extent of 0.
///
/// `kept_b` is where a program keeps what is made of its b, which is the same in each run; the fallback alone takes it.
///
/// `workspace` is memory for sm90 and cublas, as long as gemm_workspace says or shorter (at some cost in speed, and
/// perhaps with other bits); without it the library's pool lends some. The context's own workspace is never touched: it
/// belongs to the operator that calls.
///
/// Throws Error, before anything is enqueued, for arguments that do not fit together, and as check_products does.
void gemm(const Context& ctx, Transpose a_transpose, Transpose b_transpose, double alpha, const TensorRef& a,
          const TensorRef& b, double beta, const TensorRef& c, const Batch& batch = {}, Workspace workspace = {},
          const TensorRef& bias = {}, impl::Prepared* kept_b = nullptr);

/// Throws Error where the context asks for products of Kokkos Kernels that it cannot have of this element type.
/// Operators call it among their checks.
void check_products(std::string_view op, const Context& ctx, ElementType type);

/// The bytes of the workspace with which gemm runs at full speed; 0 on hosts.
std::size_t gemm_workspace(const Context& ctx);

}  // namespace portops::blas
