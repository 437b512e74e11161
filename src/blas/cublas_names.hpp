// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm_paths.hpp"
#include "core/types/fail.hpp"

#include <cublas_v2.h>

// What cuBLAS calls what a product has.

namespace portops::blas {

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    impl::fail("portops::gemm: ", call, " failed: ", cublasGetStatusString(status));
  }
}

inline cublasOperation_t cublas_name(Transpose transpose) {
  return transpose == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

inline cudaDataType_t cublas_name(ElementType type) {
  switch (type) {
    case ElementType::f64: return CUDA_R_64F;
    case ElementType::f32: return CUDA_R_32F;
    case ElementType::f16: return CUDA_R_16F;
    case ElementType::bf16:
    case ElementType::i64: break;
  }
  return CUDA_R_16BF;
}

/// f32 is pedantic unless tf32 is allowed, so that no setting from outside brings in narrower arithmetic.
inline cublasComputeType_t arithmetic(ElementType type, Math math) {
  if (type == ElementType::f64) return CUBLAS_COMPUTE_64F;
  if (type != ElementType::f32) return CUBLAS_COMPUTE_32F;
  return math == Math::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_PEDANTIC;
}

}  // namespace portops::blas
