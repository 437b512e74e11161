// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm_paths.hpp"

// Products of a matrix and a few vectors, f32 and f64: of few rows, or few columns. They take as long as it takes to
// read the matrix, and are computed without tensor cores, each sum by fused multiply-adds. On GPUs of compute
// capability 9.0, where the blocks of a cluster can add up their sums.

namespace portops::blas {

/// Whether the product has so few rows or columns, and a matrix that is large enough and lies at multiples of 16 bytes.
bool suits_thin(const Product& product, Math math);

/// On `stream`, a cudaStream_t of the device.
void multiply_thin(void* stream, const Product& product);

}  // namespace portops::blas
