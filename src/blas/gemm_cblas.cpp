// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_paths.hpp"

#include <cblas.h>

namespace portops::blas {
namespace {

CBLAS_TRANSPOSE cblas_name(Transpose transpose) { return transpose == Transpose::yes ? CblasTrans : CblasNoTrans; }

template <class T, class Multiply>
void multiply(const Product& p, Multiply&& cblas_gemm) {
  for (std::int64_t k = 0; k < p.batch.count; ++k) {
    cblas_gemm(CblasRowMajor, cblas_name(p.a_transpose), cblas_name(p.b_transpose), static_cast<int>(p.rows),
               static_cast<int>(p.columns), static_cast<int>(p.inner), static_cast<T>(p.alpha),
               static_cast<const T*>(p.a) + k * p.batch.a_stride, static_cast<int>(p.a_stride),
               static_cast<const T*>(p.b) + k * p.batch.b_stride, static_cast<int>(p.b_stride), static_cast<T>(p.beta),
               static_cast<T*>(p.c) + k * p.batch.c_stride, static_cast<int>(p.c_stride));
  }
}

}  // namespace

const bool has_host_blas = true;
const char* const blas_region = "portops::gemm[cblas]";

void multiply_by_blas(const Context& /*ctx*/, const Product& product) {
  if (product.type == ElementType::f64) {
    multiply<double>(product, cblas_dgemm);
  } else {
    multiply<float>(product, cblas_sgemm);
  }
}

}  // namespace portops::blas
