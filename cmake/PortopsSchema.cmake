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

# Adds the tables of all operators to a library that holds core/registry.cpp.
function(portops_add_schema target)
  _portops_find_schema_python()
  set(scripts "${PORTOPS_SCHEMA_ROOT}/scripts")
  set(schema "${PORTOPS_SCHEMA_ROOT}/src/ops/ops.yaml")
  set(tables "${CMAKE_CURRENT_BINARY_DIR}/generated/registry_tables.cpp")
  file(GLOB modules CONFIGURE_DEPENDS "${scripts}/portops_schema/*.py")
  add_custom_command(
    OUTPUT "${tables}"
    # -B: no byte code beside the sources, which may be read-only.
    COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${scripts}/schema.py" generate "${schema}" "${tables}"
    DEPENDS "${schema}" "${scripts}/schema.py" ${modules}
    COMMENT "Generating the operator registry"
    VERBATIM)
  target_sources(${target} PRIVATE "${tables}")
endfunction()

# Adds the tests of the schema: its rules, the committed reference pages, and the promises of the last release.
function(portops_add_schema_tests)
  _portops_find_schema_python()
  set(ops "${PORTOPS_SCHEMA_ROOT}/src/ops")
  foreach(test test_schema test_schema_compatibility test_schema_gradients test_schema_lists test_schema_output)
    add_test(NAME ${test} COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${PORTOPS_SCHEMA_ROOT}/unit_tests/${test}.py")
  endforeach()
  add_test(NAME released_schema
           COMMAND "${PORTOPS_SCHEMA_PYTHON}" -B "${PORTOPS_SCHEMA_ROOT}/scripts/schema.py" check "${ops}/released.yaml"
                   "${ops}/ops.yaml")
endfunction()
