# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Compiles every public header alone, and twice in a row: by the host compiler without Kokkos, but for the header that
# is there for Kokkos. That they compile is the test.
function(portops_add_header_tests)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PORTOPS_INCLUDE_DIR} ${PORTOPS_INCLUDE_DIR}/*.hpp)
  list(APPEND headers portops/autograd/operators.hpp)  # made by the build
  list(REMOVE_DUPLICATES headers)
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER ${header} name)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
    set(content "#include <${header}>\n#include <${header}>\n")
    if(header STREQUAL "portops/core/kokkos.hpp")
      list(APPEND with_kokkos ${source})
    else()
      string(APPEND content "#if defined(KOKKOS_VERSION)\n#error \"this header pulls in Kokkos\"\n#endif\n")
      list(APPEND without_kokkos ${source})
    endif()
    file(CONFIGURE OUTPUT ${source} CONTENT "${content}" @ONLY)
  endforeach()
  add_library(portops_headers OBJECT ${without_kokkos})
  target_link_libraries(portops_headers PRIVATE portops::portops portops_flags)
  if(TARGET portops_comm)
    target_link_libraries(portops_headers PRIVATE portops::comm)  # one of its headers includes that of MPI
  endif()
  add_library(portops_kokkos_headers OBJECT ${with_kokkos})
  target_link_libraries(portops_kokkos_headers PRIVATE portops::portops portops_flags Kokkos::kokkos)
endfunction()
