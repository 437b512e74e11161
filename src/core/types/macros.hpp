// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Marks a function that host and device code both call. Plain host compilers see nothing of it.
#if defined(__CUDACC__)
#define PORTOPS_FUNCTION __host__ __device__ inline
#else
#define PORTOPS_FUNCTION inline
#endif

/// Marks a function that is part of the public interface and defined in the library, and a class whose type
/// applications catch: a shared library exports these alone.
#define PORTOPS_EXPORT __attribute__((visibility("default")))

/// Before a loop over an array that must live in registers: these have no addresses. Before one of any length, four of
/// whose reads are to be under way at once. And before a loop that is worth no copies of its code, or that a host's
/// compiler should make vectors of: it unrolls a short one instead.
#if defined(__CUDA_ARCH__)
#define PORTOPS_UNROLL _Pragma("unroll")
#define PORTOPS_UNROLL_BY_4 _Pragma("unroll 4")
#define PORTOPS_NO_UNROLL _Pragma("unroll 1")
#else
#define PORTOPS_UNROLL
#define PORTOPS_UNROLL_BY_4
#if defined(__clang__)
#define PORTOPS_NO_UNROLL
#else
#define PORTOPS_NO_UNROLL _Pragma("GCC unroll 1")
#endif
#endif
