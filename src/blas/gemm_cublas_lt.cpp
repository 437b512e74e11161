// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/cublas_names.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/spaces.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <map>
#include <mutex>
#include <optional>

namespace portops::blas {
namespace {

constexpr std::size_t most_devices = 64;

/// One for each device. Unlike those of cuBLAS they have no state, and serve all threads at once.
class LtHandles {
 public:
  LtHandles() {
    Kokkos::push_finalize_hook([this] {
      const std::lock_guard lock(mutex_);
      for (cublasLtHandle_t& handle : handles_) {
        if (handle != nullptr) cublasLtDestroy(handle);
        handle = nullptr;
      }
    });
  }

  cublasLtHandle_t of_device(int device) {
    const std::lock_guard lock(mutex_);
    cublasLtHandle_t& handle = handles_.at(static_cast<std::size_t>(device));
    if (handle == nullptr) check(cublasLtCreate(&handle), "cublasLtCreate");
    return handle;
  }

 private:
  std::mutex mutex_;
  std::array<cublasLtHandle_t, most_devices> handles_{};
};

/// Never destroyed, so that it does not matter when Kokkos is finalised.
LtHandles& lt_handles() {
  static LtHandles& handles = *new LtHandles;
  return handles;
}

/// What an algorithm is chosen by, and so the bits: nothing else.
struct Problem {
  int device;
  Math math;
  ElementType type, c_type;
  Transpose a_transpose, b_transpose;
  std::int64_t rows, columns, inner, a_stride, b_stride, c_stride;
  unsigned a_alignment, b_alignment, c_alignment;
  std::size_t workspace;

  auto operator<=>(const Problem&) const = default;
};

/// The bytes to which an address is aligned, up to what algorithms ask for.
unsigned alignment_of(const void* data) {
  constexpr std::uintptr_t most = 256;
  return 1u << std::countr_zero(reinterpret_cast<std::uintptr_t>(data) | most);
}

Problem problem_of(const Context& ctx, const Product& p, std::size_t workspace) {
  return {.device = impl::cuda_device(ctx),
          .math = ctx.math(),
          .type = p.type,
          .c_type = p.c_type,
          .a_transpose = p.a_transpose,
          .b_transpose = p.b_transpose,
          .rows = p.rows,
          .columns = p.columns,
          .inner = p.inner,
          .a_stride = p.a_stride,
          .b_stride = p.b_stride,
          .c_stride = p.c_stride,
          .a_alignment = alignment_of(p.a),
          .b_alignment = alignment_of(p.b),
          // cuBLAS has no word for the bias' own.
          .c_alignment = std::min(alignment_of(p.c), alignment_of(p.bias)),
          .workspace = workspace};
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

/// The product as cuBLAS is told of it: transpose(c) = transpose(op(b)) · transpose(op(a)) + bias, because it counts
/// down the columns. What it has of the bias is a number for each row of transpose(c).
struct Descriptions {
  cublasLtMatmulDescOpaque_t product{};
  cublasLtMatrixLayoutOpaque_t a{}, b{}, c{};

  Descriptions(const Product& p, Math math) {
    const cudaDataType_t scalars = p.type == ElementType::f64 ? CUDA_R_64F : CUDA_R_32F;
    check(cublasLtMatmulDescInit(&product, arithmetic(p.type, math), scalars), "cublasLtMatmulDescInit");
    set(&product, CUBLASLT_MATMUL_DESC_TRANSA, cublas_name(p.b_transpose));
    set(&product, CUBLASLT_MATMUL_DESC_TRANSB, cublas_name(p.a_transpose));
    set(&product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(&product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const cudaDataType_t type = cublas_name(p.type);
    const bool a_turned = p.a_transpose == Transpose::yes, b_turned = p.b_transpose == Transpose::yes;
    init(a, type, a_turned ? p.rows : p.inner, a_turned ? p.inner : p.rows, p.a_stride);
    init(b, type, b_turned ? p.inner : p.columns, b_turned ? p.columns : p.inner, p.b_stride);
    init(c, cublas_name(p.c_type), p.columns, p.rows, p.c_stride);
  }

 private:
  static void init(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                   std::int64_t stride) {
    check(cublasLtMatrixLayoutInit(&layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                   stride),
          "cublasLtMatrixLayoutInit");
  }
};

using Choice = std::optional<cublasLtMatmulAlgo_t>;

/// The first algorithm that cuBLAS proposes. Partial sums stay in f32, also where several blocks share the inner axis.
Choice propose(cublasLtHandle_t handle, Descriptions& descriptions, const Problem& problem) {
  cublasLtMatmulPreferenceOpaque_t preference{};
  check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  set(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, problem.workspace);
  set(&preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{problem.b_alignment});
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{problem.a_alignment});
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{problem.c_alignment});
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{problem.c_alignment});
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &descriptions.product, &descriptions.b, &descriptions.a, &descriptions.c,
                                     &descriptions.c, &preference, 1, &result, &found);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0 || result.state != CUBLAS_STATUS_SUCCESS) return {};
  return result.algo;
}

/// Choosing takes longer than a launch: what was chosen is kept.
Choice choose(cublasLtHandle_t handle, Descriptions& descriptions, const Problem& problem) {
  constexpr std::size_t most_kept = 1024;
  static std::mutex mutex;
  static auto& kept = *new std::map<Problem, Choice>;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = kept.find(problem); found != kept.end()) return found->second;
  }
  const Choice choice = propose(handle, descriptions, problem);
  const std::lock_guard lock(mutex);
  if (kept.size() >= most_kept) kept.clear();
  kept.emplace(problem, choice);
  return choice;
}

/// Memory for hardly any sums that blocks leave to a second kernel.
constexpr std::size_t bytes_without_shares = 1 << 20;

/// Whether cuBLAS, in tf32, would have blocks share the inner axis although adding up what they leave takes longer than
/// that saves. With less memory it cannot.
bool shares_too_much(const Context& ctx, const Product& p) {
  constexpr std::int64_t most_bytes = 512 << 10;              // of c
  constexpr std::int64_t most_terms = std::int64_t{1} << 33;  // large products want the memory for something else
  return p.type == ElementType::f32 && ctx.math() == Math::tf32 &&
         p.rows * p.columns * static_cast<std::int64_t>(size_of(p.c_type)) > most_bytes &&
         p.rows * p.columns < most_terms / p.inner;
}

}  // namespace

bool multiply_with_bias_by_cublas(const Context& ctx, const Product& p, Workspace workspace) {
  const Kokkos::Cuda& space = impl::instance<Backend::cuda>(ctx);
  const impl::CurrentDevice device(ctx);
  const cublasLtHandle_t handle = lt_handles().of_device(space.cuda_device());
  Descriptions descriptions(p, ctx.math());
  if (shares_too_much(ctx, p)) workspace.bytes = std::min(workspace.bytes, bytes_without_shares);
  const Choice algorithm = choose(handle, descriptions, problem_of(ctx, p, workspace.bytes));
  if (!algorithm) return false;
  const auto run = [&](auto alpha, auto beta) {
    check(cublasLtMatmul(handle, &descriptions.product, &alpha, p.b, &descriptions.b, p.a, &descriptions.a, &beta, p.c,
                         &descriptions.c, p.c, &descriptions.c, &*algorithm, workspace.data, workspace.bytes,
                         space.cuda_stream()),
          "cublasLtMatmul");
  };
  p.type == ElementType::f64 ? run(p.alpha, 0.0) : run(static_cast<float>(p.alpha), 0.0f);
  return true;
}

}  // namespace portops::blas
