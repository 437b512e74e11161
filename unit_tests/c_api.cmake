# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The tests of the C interface. Programs in C99, each an entry in ctest, and so are the examples in C and Fortran. They may
# use the operators and element types of the build alone.
enable_language(C)
include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
endif()
find_package(Threads REQUIRED)

# Of C itself, whatever compiles C++.
add_library(portops_c_flags INTERFACE)
target_compile_options(portops_c_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Werror>)
if(PORTOPS_SANITIZE)
  target_compile_options(portops_c_flags INTERFACE -fsanitize=${PORTOPS_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(portops_c_flags INTERFACE -fsanitize=${PORTOPS_SANITIZE})
endif()
target_link_libraries(portops_c_flags INTERFACE portops::portops Threads::Threads m)

# portops_add_c_program(TARGET SOURCE): it is linked by the C++ compiler, which a static library needs.
function(portops_add_c_program target source)
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:_POSIX_C_SOURCE=200809L>)
  target_link_libraries(${target} PRIVATE portops_c_flags)
  set_target_properties(${target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF LINKER_LANGUAGE CXX)
endfunction()

file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} c_api/test_*.c)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM test)
  portops_add_c_program(portops_${test} ${source})
  add_test(NAME ${test} COMMAND portops_${test})
  set_tests_properties(${test} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS c_api)
endforeach()

# The header alone, in the languages that it is for, with DLPack's declarations before it and without.
foreach(standard C_99 C_11 CXX_20)
  foreach(case alone behind_dlpack)
    string(REGEX MATCH "^[A-Z]+" language ${standard})
    string(REGEX REPLACE "[A-Z_]+" "" year ${standard})
    string(TOLOWER "portops_header_${standard}_${case}" target)
    set(extension c)
    if(language STREQUAL CXX)
      set(extension cpp)
    endif()
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${target}.${extension})
    set(before "")
    if(case STREQUAL behind_dlpack)
      set(before "#include \"c_api/dlpack_copy.h\"\n")
    endif()
    file(CONFIGURE OUTPUT ${source} CONTENT
      "${before}#include <portops.h>\n#include <portops.h>\nint ${target}(void);\nint ${target}(void) { return PORTOPS_VERSION_MAJOR; }\n")
    add_library(${target} OBJECT ${source})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PORTOPS_INCLUDE_DIR})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Werror)
    set_target_properties(${target} PROPERTIES ${language}_STANDARD ${year} ${language}_STANDARD_REQUIRED ON
      ${language}_EXTENSIONS OFF)
    add_dependencies(${target} portops)
  endforeach()
endforeach()

# The examples of the documentation.
set(examples ${PROJECT_SOURCE_DIR}/docs/examples)
if("lerp" IN_LIST portops_OPERATORS AND "f32" IN_LIST portops_ELEMENT_TYPES AND NOT PORTOPS_BACKENDS STREQUAL "cuda")
  set(languages c)
  if(CMAKE_Fortran_COMPILER)
    list(APPEND languages f90)
  endif()
  foreach(language IN LISTS languages)
    portops_add_c_program(portops_example_${language} ${examples}/lerp.${language})
    add_test(NAME example_${language} COMMAND portops_example_${language})
    set_tests_properties(example_${language} PROPERTIES TIMEOUT 60 LABELS c_api
      PASS_REGULAR_EXPRESSION "out = +2.*refused: portops::lerp: out has extents \\[3\\], expected \\[4\\]")
  endforeach()
endif()
