// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm_paths.hpp"

// f32 products at the error of f32 on the tensor cores of compute capability 9.0: each number is the sum of three bf16
// terms. Twice as fast as products of f32, which leave the tensor cores idle.

namespace portops::blas {

/// Whether the product is large enough, and its operands lie at multiples of 16 bytes.
bool suits_sm90(const Product& product);

/// The workspace with which the product runs at full speed on a device with so many multiprocessors.
std::size_t sm90_workspace(int multiprocessors, const Product& product);

/// On `stream`, a cudaStream_t of the device. With less workspace it takes longer.
void multiply_by_sm90(void* stream, int multiprocessors, const Product& product, Workspace workspace);

}  // namespace portops::blas
