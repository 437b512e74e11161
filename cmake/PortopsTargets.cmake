# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What all targets of the project are compiled with. Sums and products are never contracted to fma by the compiler:
# the operators write fma where they mean it, and so give the same bits on every backend. Nobody reads errno, or traps
# floating-point exceptions: loops with square roots and comparisons may be vectorised.
add_library(portops_flags INTERFACE)
target_compile_options(portops_flags INTERFACE -Wall -Wextra -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(PORTOPS_HAS_CUDA)
  # Division, square root and subnormal numbers stay as IEEE 754 has them, nvcc's default: --use_fast_math breaks that.
  # nvcc hands GCC's pragmas on, and need not warn of them (1675).
  set(PORTOPS_DEVICE_FLAGS --fmad=false -Xcudafe --diag_suppress=20012,--diag_suppress=1675)
  # Programs become less than half as large. Kokkos' compiler wrapper does not know the option, which nvcc takes from here too.
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env NVCC_APPEND_FLAGS=--compress-mode=size)
  endif()
endif()
if(PORTOPS_ENABLE_WERROR)
  target_compile_options(portops_flags INTERFACE -Werror)
endif()
if(PORTOPS_HOST_ARCH)
  target_compile_options(portops_flags INTERFACE -march=${PORTOPS_HOST_ARCH})
endif()
if(PORTOPS_SANITIZE)
  target_compile_options(portops_flags INTERFACE -fsanitize=${PORTOPS_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(portops_flags INTERFACE -fsanitize=${PORTOPS_SANITIZE})
endif()

# Public headers live beside the code that implements them and are included as <portops/...>, in this tree as after
# installation: portops_public_header(ops/lerp/lerp.hpp ops/lerp.hpp) gives <portops/ops/lerp.hpp>.
set(PORTOPS_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
file(REMOVE_RECURSE ${PORTOPS_INCLUDE_DIR}/portops/ops)  # an older configuration may have had more operators
function(portops_public_header source target)
  cmake_path(GET target PARENT_PATH folder)
  file(MAKE_DIRECTORY ${PORTOPS_INCLUDE_DIR}/portops/${folder})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${PORTOPS_INCLUDE_DIR}/portops/${target} SYMBOLIC)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/portops/${folder})
endfunction()

# The C++ types of the element types.
set(PORTOPS_CPP_TYPE_f64 double)
set(PORTOPS_CPP_TYPE_f32 float)
set(PORTOPS_CPP_TYPE_f16 portops::f16)
set(PORTOPS_CPP_TYPE_bf16 portops::bf16)

# Compiles a header's template for each backend and element type of the build: ops/lerp/lerp_kernels_impl.hpp holds
# LerpKernels. A host backend's types share a translation unit, because most of its time goes into Kokkos' headers; those
# of a device have one each, because their kernels take long themselves.
function(portops_instantiate header)
  cmake_path(GET header STEM template)
  string(REGEX REPLACE "_impl$" "" template ${template})
  string(REPLACE "_" ";" words ${template})
  set(template "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(TOUPPER ${first} first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(APPEND template ${first}${rest})
  endforeach()
  foreach(backend IN LISTS PORTOPS_BACKENDS)
    set(prefix "template struct portops::impl::${template}<portops::Backend::${backend},")
    set(units "")
    foreach(type IN LISTS portops_ELEMENT_TYPES)
      list(APPEND units "${PORTOPS_CPP_TYPE_${type}}>")
    endforeach()
    if(NOT backend STREQUAL "cuda")
      list(JOIN units " " units)
    endif()
    set(number 0)
    foreach(unit IN LISTS units)
      string(REGEX REPLACE "([^ ]+) ?" "${prefix} \\1;\n" instantiations "${unit}")
      math(EXPR number "${number} + 1")
      set(file ${PROJECT_BINARY_DIR}/instantiations/${template}_${backend}_${number}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${header}\"\n\n${instantiations}" @ONLY)
      target_sources(portops PRIVATE ${file})
    endforeach()
  endforeach()
endfunction()
