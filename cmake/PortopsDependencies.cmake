# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Kokkos' version files allow one major version only, so the least version is compared here.
find_package(Kokkos REQUIRED)
if(Kokkos_VERSION VERSION_LESS 4.6)
  message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} found in ${Kokkos_DIR}, expected 4.6 or newer")
endif()

set(PORTOPS_BACKENDS "")
foreach(backend CUDA OPENMP SERIAL)
  if(Kokkos_ENABLE_${backend})
    set(PORTOPS_HAS_${backend} ON)
    string(TOLOWER ${backend} name)
    list(APPEND PORTOPS_BACKENDS ${name})
  endif()
endforeach()
if(NOT PORTOPS_BACKENDS)
  message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} has none of the backends CUDA, OPENMP and SERIAL")
endif()

# A static Kokkos would be in the library, and a second time in every application that uses Views: each with its own state,
# of which the application initialises one.
if(BUILD_SHARED_LIBS AND TARGET Kokkos::kokkoscore)
  get_target_property(type Kokkos::kokkoscore TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    message(FATAL_ERROR "portops: BUILD_SHARED_LIBS needs a Kokkos of shared libraries, which the library and applications "
                        "share; the one in ${Kokkos_DIR} is static. Configure Kokkos with -DBUILD_SHARED_LIBS=ON, or "
                        "build portops as a static library")
  endif()
endif()

if(PORTOPS_HAS_CUDA)
  find_package(CUDAToolkit 12 REQUIRED)
  if(NOT TARGET CUDA::cublas)
    message(FATAL_ERROR "portops: the CUDA toolkit in ${CUDAToolkit_LIBRARY_DIR} has no cuBLAS, which computes the matrix "
                        "products on GPUs (Debian: libcublas-dev-*)")
  endif()
  # Kokkos names its architecture in one of two ways, by version.
  if(Kokkos_ARCH_HOPPER90 OR "HOPPER90" IN_LIST Kokkos_ARCH OR Kokkos_CUDA_ARCHITECTURES MATCHES "90")
    set(PORTOPS_HAS_SM90 ON)
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
    endif()
    enable_language(CUDA)
    # Old versions of CMake do not know these of new versions of nvcc.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
  endif()
endif()

# --- matrix products: Kokkos Kernels, else CBLAS on hosts ----------------------------------------------------

if(PORTOPS_ENABLE_KOKKOS_KERNELS)
  # The one beside Kokkos before the system's, which may have been built with another Kokkos.
  find_package(KokkosKernels CONFIG QUIET HINTS ${Kokkos_DIR}/../KokkosKernels)
  if(NOT KokkosKernels_FOUND)
    message(FATAL_ERROR "portops: no Kokkos Kernels found, neither beside Kokkos (${Kokkos_DIR}) nor elsewhere. Install it, "
                        "name its folder (-DKokkosKernels_DIR=PATH), or use CBLAS on hosts instead: "
                        "-DPORTOPS_ENABLE_KOKKOS_KERNELS=OFF")
  endif()
  # Trilinos' package does not tell its version.
  if(KokkosKernels_VERSION AND KokkosKernels_VERSION VERSION_LESS 4.6)
    message(FATAL_ERROR "portops: Kokkos Kernels ${KokkosKernels_VERSION} found in ${KokkosKernels_DIR}, expected 4.6 or "
                        "newer, or CBLAS on hosts instead: -DPORTOPS_ENABLE_KOKKOS_KERNELS=OFF")
  endif()
  # Trilinos' name, then the standalone package's, which has the other one too in some of its versions.
  foreach(target KokkosKernels::all_libs Kokkos::kokkoskernels)
    if(TARGET ${target})
      set(PORTOPS_HOST_BLAS ${target})
    endif()
  endforeach()
  if(NOT PORTOPS_HOST_BLAS)
    message(FATAL_ERROR "portops: the Kokkos Kernels in ${KokkosKernels_DIR} has neither of the targets "
                        "Kokkos::kokkoskernels and KokkosKernels::all_libs")
  endif()
  set(PORTOPS_HAS_KOKKOS_KERNELS ON)
else()
  find_package(CBLAS QUIET)
  if(NOT CBLAS_FOUND)
    message(FATAL_ERROR "portops: no BLAS with the C interface found (cblas.h and cblas_dgemm), which computes the matrix "
                        "products on hosts where Kokkos Kernels is switched off. Install OpenBLAS (Debian: "
                        "libopenblas-dev), or name another: -DBLA_VENDOR=NAME -DCBLAS_INCLUDE_DIR=PATH")
  endif()
  set(PORTOPS_HOST_BLAS CBLAS::CBLAS)
  # An application that links a static libportops has to find it again.
  if(NOT BUILD_SHARED_LIBS)
    install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindCBLAS.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)
  endif()
endif()

# --- files of parameters (src/nn/safetensors.hpp) ------------------------------------------------------------

# Headers alone, which nothing but a source of the library includes.
find_package(nlohmann_json 3.9 QUIET)
if(nlohmann_json_FOUND)
  set(PORTOPS_HAS_JSON ON)
endif()

# --- programs as files (src/graph/onnx.hpp) ------------------------------------------------------------------

# ONNX' own classes of its format, made by protobuf, and its declarations of the operators.
if(PORTOPS_ENABLE_ONNX)
  find_package(ONNX 1.16 CONFIG QUIET)
  find_package(Protobuf QUIET)
  if(ONNX_FOUND AND TARGET protobuf::libprotobuf-lite)
    set(PORTOPS_HAS_ONNX ON)
    # By their paths, not as targets: these define macros, which the sources that include ONNX' headers alone are to have.
    set(PORTOPS_ONNX_LIBRARIES "")
    foreach(target ONNX::onnx ONNX::onnx_proto protobuf::libprotobuf-lite)
      get_target_property(path ${target} LOCATION)
      list(APPEND PORTOPS_ONNX_LIBRARIES ${path})
    endforeach()
    get_target_property(PORTOPS_ONNX_DEFINITIONS ONNX::onnx INTERFACE_COMPILE_DEFINITIONS)
    get_target_property(PORTOPS_ONNX_INCLUDE_DIRS ONNX::onnx INTERFACE_INCLUDE_DIRECTORIES)
    list(APPEND PORTOPS_ONNX_INCLUDE_DIRS ${Protobuf_INCLUDE_DIRS})
    list(REMOVE_ITEM PORTOPS_ONNX_INCLUDE_DIRS ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  endif()
endif()

# --- between processes (src/comm) ----------------------------------------------------------------------------

foreach(option PORTOPS_ENABLE_MPI PORTOPS_ENABLE_NCCL)
  if(NOT ${option} MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
    message(FATAL_ERROR "portops: ${option} is '${${option}}', expected AUTO, ON or OFF")
  endif()
endforeach()
if(PORTOPS_ENABLE_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(PORTOPS_HAS_MPI ON)
  elseif(NOT PORTOPS_ENABLE_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "portops: PORTOPS_ENABLE_MPI is on, and there is no MPI that compiles C++ programs (Debian: "
                        "libopenmpi-dev or libmpich-dev). MPI_HOME names the folder of one")
  endif()
endif()
if(PORTOPS_ENABLE_NCCL AND PORTOPS_HAS_CUDA)
  find_path(PORTOPS_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(PORTOPS_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
  mark_as_advanced(PORTOPS_NCCL_INCLUDE_DIR PORTOPS_NCCL_LIBRARY)
  if(PORTOPS_NCCL_INCLUDE_DIR AND PORTOPS_NCCL_LIBRARY)
    set(PORTOPS_HAS_NCCL ON)
  endif()
endif()
if(NOT PORTOPS_HAS_NCCL AND PORTOPS_ENABLE_NCCL AND NOT PORTOPS_ENABLE_NCCL STREQUAL "AUTO")
  message(FATAL_ERROR "portops: PORTOPS_ENABLE_NCCL is on, which needs a Kokkos with CUDA, nccl.h and libnccl (Debian: "
                      "libnccl-dev). -DPORTOPS_NCCL_INCLUDE_DIR=PATH and -DPORTOPS_NCCL_LIBRARY=FILE name them")
endif()
