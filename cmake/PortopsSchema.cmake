# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the build makes from the operator schema, src/ops/ops.yaml.

set(PORTOPS_SCHEMA_ROOT "${CMAKE_CURRENT_LIST_DIR}/..")

# Finds a Python that can read the schema, and stops with a clear message where there is none.
macro(_portops_find_schema_python)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  if(NOT PORTOPS_SCHEMA_PYTHON STREQUAL "${Python3_EXECUTABLE}")
    execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import yaml" RESULT_VARIABLE _portops_no_yaml
                    OUTPUT_QUIET ERROR_QUIET)
    if(_portops_no_yaml)
      message(FATAL_ERROR "portops: ${Python3_EXECUTABLE} cannot import yaml, which the operator schema is read with. "
                          "Install it (Debian: python3-yaml, PyPI: PyYAML) or name another Python: "
                          "-DPython3_EXECUTABLE=PATH")
    endif()
    set(PORTOPS_SCHEMA_PYTHON "${Python3_EXECUTABLE}" CACHE INTERNAL "A Python that can import yaml")
  endif()
endmacro()

# Sets the variable to the names of the operators in the schema, gradients left out.
function(portops_operator_families variable)
  _portops_find_schema_python()
  set(scripts "${PORTOPS_SCHEMA_ROOT}/scripts")
  set(schema "${PORTOPS_SCHEMA_ROOT}/src/ops/ops.yaml")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${schema}")
  execute_process(COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" families "${schema}"
    OUTPUT_VARIABLE families ERROR_VARIABLE messages RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${messages}")
  endif()
  string(REPLACE "\n" ";" families "${families}")
  set(${variable} ${families} PARENT_SCOPE)
endfunction()

# Adds the tables of the operators that were chosen to a library that holds core/schema/registry.cpp, the checks of their
# arguments, which its sources include as generated/checks.hpp, the operators on variables, and the functions in C, which
# portops.h declares.
function(portops_add_schema target)
  _portops_find_schema_python()
  set(scripts "${PORTOPS_SCHEMA_ROOT}/scripts")
  set(schema "${PORTOPS_SCHEMA_ROOT}/src/ops/ops.yaml")
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/generated")
  list(JOIN portops_OPERATORS "," operators)
  file(GLOB modules CONFIGURE_DEPENDS "${scripts}/portops_schema/*.py")
  add_custom_command(
    OUTPUT "${generated}/registry_tables.cpp" "${generated}/checks.cpp" "${generated}/checks.hpp"
    # -B: no byte code beside the sources, which may be read-only.
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" generate "${schema}" "${generated}/registry_tables.cpp"
            --only "${operators}"
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" checks "${schema}" "${generated}"
            --only "${operators}"
    DEPENDS "${schema}" "${scripts}/schema.py" ${modules}
    COMMENT "Generating the operator registry"
    VERBATIM)
  set(autograd_header "${PORTOPS_INCLUDE_DIR}/portops/autograd/operators.hpp")
  add_custom_command(
    OUTPUT "${autograd_header}" "${generated}/autograd.cpp"
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" autograd "${schema}" "${autograd_header}"
            "${generated}/autograd.cpp" --only "${operators}"
    DEPENDS "${schema}" "${scripts}/schema.py" ${modules}
    COMMENT "Generating the operators on variables"
    VERBATIM)
  install(FILES "${autograd_header}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/portops/autograd)
  set(c_api "${PORTOPS_SCHEMA_ROOT}/src/c_api")
  set(released "${PORTOPS_SCHEMA_ROOT}/src/ops/released.yaml")
  add_custom_command(
    OUTPUT "${PORTOPS_INCLUDE_DIR}/portops.h" "${generated}/c_operators.cpp"
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" c "${schema}" "${released}" "${c_api}" ${PROJECT_VERSION}
            "${PORTOPS_INCLUDE_DIR}/portops.h" "${generated}/c_operators.cpp" --only "${operators}"
    DEPENDS "${schema}" "${released}" "${c_api}/portops.h.in" "${c_api}/released_names.txt" "${scripts}/schema.py" ${modules}
    COMMENT "Generating the C interface"
    VERBATIM)
  install(FILES "${PORTOPS_INCLUDE_DIR}/portops.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  target_sources(${target} PRIVATE "${generated}/registry_tables.cpp" "${generated}/checks.cpp" "${generated}/checks.hpp"
    "${autograd_header}" "${generated}/autograd.cpp" "${generated}/c_operators.cpp" "${PORTOPS_INCLUDE_DIR}/portops.h")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
endfunction()

# Adds the modules of the Python package that are made from the schema, in the folder of that, to what building the target
# makes.
function(portops_add_python_functions target folder)
  _portops_find_schema_python()
  set(scripts "${PORTOPS_SCHEMA_ROOT}/scripts")
  set(schema "${PORTOPS_SCHEMA_ROOT}/src/ops/ops.yaml")
  list(JOIN portops_OPERATORS "," operators)
  file(GLOB modules CONFIGURE_DEPENDS "${scripts}/portops_schema/*.py")
  add_custom_command(
    OUTPUT "${folder}/_operators.py" "${folder}/_schema.py" "${folder}/torch/_functions.py"
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" python "${schema}" "${folder}" --only "${operators}"
    DEPENDS "${schema}" "${scripts}/schema.py" ${modules}
    COMMENT "Generating the functions of the Python package"
    VERBATIM)
  target_sources(${target} PRIVATE "${folder}/_operators.py" "${folder}/_schema.py" "${folder}/torch/_functions.py")
endfunction()

# Adds to a test what c_api/named_values.hpp declares: calls of the functions in C, with arguments by name.
function(portops_add_c_calls target)
  set(scripts "${PORTOPS_SCHEMA_ROOT}/scripts")
  set(ops "${PORTOPS_SCHEMA_ROOT}/src/ops")
  set(c_api "${PORTOPS_SCHEMA_ROOT}/src/c_api")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/c_calls.cpp")
  list(JOIN portops_OPERATORS "," operators)
  file(GLOB modules CONFIGURE_DEPENDS "${scripts}/portops_schema/*.py")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" c-calls "${ops}/ops.yaml" "${ops}/released.yaml" "${c_api}"
            "${output}" --only "${operators}"
    DEPENDS "${ops}/ops.yaml" "${ops}/released.yaml" "${c_api}/released_names.txt" "${scripts}/schema.py" ${modules}
    COMMENT "Generating calls of the C interface"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# Adds the tests of the scripts, among them those of the schema (its rules, the committed reference pages, the promises of
# the last release) and of the includes. That of scripts/sweep needs more than Python itself, and is left out.
function(portops_add_script_tests)
  _portops_find_schema_python()
  file(GLOB files CONFIGURE_DEPENDS "${PORTOPS_SCHEMA_ROOT}/unit_tests/scripts/test_*.py")
  list(FILTER files EXCLUDE REGEX "/test_sweep\\.py$")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM test)
    add_test(NAME ${test} COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${file}")
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "CMAKE=${CMAKE_COMMAND}")
  endforeach()
  set(ops "${PORTOPS_SCHEMA_ROOT}/src/ops")
  add_test(NAME released_schema
           COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${PORTOPS_SCHEMA_ROOT}/scripts/schema.py" check "${ops}/released.yaml"
                   "${ops}/ops.yaml")
endfunction()
