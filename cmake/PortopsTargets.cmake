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
  # Programs become less than half as large. Kokkos' compiler wrapper does not know the option, which nvcc takes from here
  # too.
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env NVCC_APPEND_FLAGS=--compress-mode=size)
  endif()
endif()
# Kokkos' compiler wrapper has nvcc read a source twice, for the host and for the device. What knows nothing of Kokkos it
# hands to the host compiler alone where it is told to, which takes a fraction of the time: targets that do not link
# Kokkos, and the sources that portops_compile_plain_sources finds.
if(PORTOPS_HAS_CUDA)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(--host-only PORTOPS_HAS_HOST_ONLY)
endif()
if(PORTOPS_HAS_HOST_ONLY)
  target_compile_options(portops_flags INTERFACE
    $<$<NOT:$<IN_LIST:Kokkos::kokkos,$<TARGET_PROPERTY:LINK_LIBRARIES>>>:--host-only>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(portops_flags INTERFACE -Wno-restrict)  # GCC 12 is wrong about string literals plus std::string
endif()
if(PORTOPS_ENABLE_WERROR)
  target_compile_options(portops_flags INTERFACE -Werror)
endif()
if(PORTOPS_HOST_ARCH)
  target_compile_options(portops_flags INTERFACE -march=${PORTOPS_HOST_ARCH})
endif()
if(PORTOPS_SANITIZE)
  set(flags -fsanitize=${PORTOPS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -Wno-maybe-uninitialized)  # wrong beside sanitizers, as its manual says
  endif()
  # A target with the property PORTOPS_NOT_SANITIZED is linked with sanitized objects, but compiled without.
  target_compile_options(portops_flags INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:PORTOPS_NOT_SANITIZED>>>:${flags}>")
  # Programs where they are linked to: to move three million addresses of a test program takes longer than most tests.
  target_link_options(portops_flags INTERFACE -fsanitize=${PORTOPS_SANITIZE}
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

# Public headers live beside the code that implements them and are included as <portops/...>, in this tree as after
# installation: portops_public_header(ops/lerp/lerp.hpp ops/lerp.hpp) gives <portops/ops/lerp.hpp>.
set(PORTOPS_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
file(REMOVE_RECURSE ${PORTOPS_INCLUDE_DIR}/portops/ops ${PORTOPS_INCLUDE_DIR}/portops/nn ${PORTOPS_INCLUDE_DIR}/portops/graph
  ${PORTOPS_INCLUDE_DIR}/portops/comm)  # an older configuration may have had more operators
function(portops_public_header source target)
  cmake_path(GET target PARENT_PATH folder)
  file(MAKE_DIRECTORY ${PORTOPS_INCLUDE_DIR}/portops/${folder})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${PORTOPS_INCLUDE_DIR}/portops/${target} SYMBOLIC)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/portops/${folder})
endfunction()

# Sets the variable to whether a file includes Kokkos, or CUDA's kernels, itself or by way of others.
function(portops_reaches_kokkos variable file)
  get_property(reaches GLOBAL PROPERTY "portops_reaches_kokkos:${file}")
  if("${reaches}" STREQUAL "")
    set(reaches OFF)
    cmake_path(GET file PARENT_PATH own_folder)
    file(STRINGS ${file} includes REGEX "^#include [<\"]")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include [<\"]([^>\"]+).*" "\\1" name "${include}")
      if(name MATCHES "^(Kokkos|cub/|thrust/)")
        set(reaches ON)
      endif()
      foreach(folder ${own_folder} ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PORTOPS_INCLUDE_DIR})
        if(NOT reaches AND EXISTS ${folder}/${name})
          portops_reaches_kokkos(reaches ${folder}/${name})
        endif()
      endforeach()
    endforeach()
    set_property(GLOBAL PROPERTY "portops_reaches_kokkos:${file}" ${reaches})
  endif()
  set(${variable} ${reaches} PARENT_SCOPE)
endfunction()

# Has the sources of a target in this folder that do not reach Kokkos compiled by the host compiler alone. A source that
# comes to reach it later, through a header, says so when it is compiled: run cmake again then.
function(portops_compile_plain_sources target)
  if(NOT PORTOPS_HAS_HOST_ONLY)
    return()
  endif()
  # nvcc finds its own headers.
  list(TRANSFORM CUDAToolkit_INCLUDE_DIRS PREPEND -idirafter OUTPUT_VARIABLE folders)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE file)
    set(reaches OFF)
    if(EXISTS ${file})  # else it will be generated, from the schema
      portops_reaches_kokkos(reaches ${file})
    endif()
    if(NOT reaches)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS --host-only ${folders})
    endif()
  endforeach()
endfunction()

# The C++ types of the element types.
set(PORTOPS_CPP_TYPE_f64 double)
set(PORTOPS_CPP_TYPE_f32 float)
set(PORTOPS_CPP_TYPE_f16 portops::f16)
set(PORTOPS_CPP_TYPE_bf16 portops::bf16)

# Compiles a header's template for each backend and element type of the build: ops/lerp/lerp_kernels_impl.hpp holds
# LerpKernels. The types share a translation unit, because much of its time goes into Kokkos' headers. They become part of
# portops, or of the target that is named.
function(portops_instantiate header)
  set(target portops)
  if(ARGC GREATER 1)
    set(target ${ARGV1})
  endif()
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
    set(instantiations "")
    foreach(type IN LISTS portops_ELEMENT_TYPES)
      string(APPEND instantiations
        "template struct portops::impl::${template}<portops::Backend::${backend}, ${PORTOPS_CPP_TYPE_${type}}>;\n")
    endforeach()
    set(file ${PROJECT_BINARY_DIR}/instantiations/${template}_${backend}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${header}\"\n\n${instantiations}" @ONLY)
    target_sources(${target} PRIVATE ${file})
  endforeach()
endfunction()
