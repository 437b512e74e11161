# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Finds a BLAS with its C interface, OpenBLAS before others, as the target CBLAS::CBLAS.
#   BLA_VENDOR, BLA_STATIC  which BLAS to look for, as in FindBLAS
#   CBLAS_INCLUDE_DIR       the folder of cblas.h
#   CBLAS_LIBRARY           the library of the C interface, where the BLAS lacks it
include(CheckCXXSourceCompiles)
include(FindPackageHandleStandardArgs)

if(NOT BLA_VENDOR AND NOT BLAS_FOUND)
  set(BLA_VENDOR OpenBLAS)
  find_package(BLAS QUIET)
  unset(BLA_VENDOR)
endif()
if(NOT BLAS_FOUND)
  find_package(BLAS QUIET)
endif()
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)

# _cblas_check(VARIABLE LIBRARY...): whether a program that calls cblas_dgemm can be linked.
function(_cblas_check variable)
  set(CMAKE_REQUIRED_INCLUDES ${CBLAS_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("#include <cblas.h>
    int main() {
      double x = 1.0;
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 1, 1, 1, x, &x, 1, &x, 1, x, &x, 1);
    }" ${variable})
endfunction()

if(BLAS_FOUND AND CBLAS_INCLUDE_DIR)
  _cblas_check(CBLAS_IN_BLAS BLAS::BLAS)
  if(CBLAS_IN_BLAS)
    set(CBLAS_WORKS ON)
  else()
    find_library(CBLAS_LIBRARY cblas)
    if(CBLAS_LIBRARY)
      _cblas_check(CBLAS_WORKS ${CBLAS_LIBRARY} BLAS::BLAS)
    endif()
  endif()
endif()

find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS_INCLUDE_DIR BLAS_LIBRARIES CBLAS_WORKS)
mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  set_target_properties(CBLAS::CBLAS PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}")
  if(NOT CBLAS_IN_BLAS)
    set_property(TARGET CBLAS::CBLAS APPEND PROPERTY INTERFACE_LINK_LIBRARIES "${CBLAS_LIBRARY}")
  endif()
  set_property(TARGET CBLAS::CBLAS APPEND PROPERTY INTERFACE_LINK_LIBRARIES BLAS::BLAS)
endif()
