# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

option(BUILD_SHARED_LIBS "Build libportops as a shared library" OFF)
option(PORTOPS_ENABLE_KOKKOS_KERNELS "Offer the matrix products of Kokkos Kernels (hosts need a CBLAS without it)" ON)
option(PORTOPS_ENABLE_APPS "Build the portops command and the applications" ${PROJECT_IS_TOP_LEVEL})
option(PORTOPS_ENABLE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(PORTOPS_ENABLE_BENCHMARKS "Build the benchmarks" OFF)
set(PORTOPS_ENABLE_MPI AUTO CACHE STRING "Carry data between processes by MPI: ON, OFF, or AUTO, where CMake finds one")
set_property(CACHE PORTOPS_ENABLE_MPI PROPERTY STRINGS AUTO ON OFF)
set(PORTOPS_ENABLE_NCCL AUTO CACHE STRING "Carry data between GPUs by NCCL: ON, OFF, or AUTO, where CMake finds it")
set_property(CACHE PORTOPS_ENABLE_NCCL PROPERTY STRINGS AUTO ON OFF)
option(PORTOPS_ENABLE_PYTHON "Build the Python package" OFF)
option(PORTOPS_ENABLE_ONNX "Read and write programs as ONNX, where its library is found" ON)
option(PORTOPS_ENABLE_WERROR "Make compiler warnings errors" OFF)
set(PORTOPS_ELEMENT_TYPES f64 f32 f16 bf16 CACHE STRING "Element types that are compiled: a list")
set(PORTOPS_OPERATORS all CACHE STRING "Operators, and families of operators, that are compiled: a list, or all")
set(PORTOPS_HOST_ARCH native CACHE STRING
  "Instruction set of host code, as in -march=; empty leaves the compiler's default")
set(PORTOPS_SANITIZE "" CACHE STRING "Sanitizers of host code, as in -fsanitize=")

# Debug checks are for debugging: a build without a type is a fast one.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# An installed program finds libportops beside it, wherever the two are moved, and both find other libraries where they are.
file(RELATIVE_PATH libraries_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN/${libraries_from_bin}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
