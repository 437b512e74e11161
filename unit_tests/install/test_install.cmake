# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Installs a build into a scratch prefix, builds applications against it from nothing but that prefix, and runs them, and
# the installed command:
#   cmake -D BUILD=FOLDER -D SCRATCH=FOLDER -D EXAMPLES=FOLDER -D LERP=BOOLEAN -D ELEMENT_TYPES=f32,…
#         -D OPERATORS=lerp,… -D GENERATOR=NAME -D COMPILER=PATH [-D FLAGS=...] [-D BUILD_TYPE=...]
#         [-D COMMAND=bin/portops] [-D LIBRARY=lib/libportops.so.VERSION]
#         [-D PKG_CONFIG=PATH -D C_COMPILER=PATH] -P test_install.cmake
cmake_minimum_required(VERSION 3.22)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run("Installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
# The prefix is moved: nothing installed may name where it was.
file(RENAME ${SCRATCH}/prefix ${SCRATCH}/moved)
if(LIBRARY AND NOT EXISTS ${SCRATCH}/moved/${LIBRARY})
  message(FATAL_ERROR "there is no ${LIBRARY}, by which applications would find the shared library")
endif()
run("Configuring" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -G ${GENERATOR}
  -D CMAKE_PREFIX_PATH=${SCRATCH}/moved -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
  -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_C_FLAGS=${FLAGS} -D EXAMPLES=${EXAMPLES} -D LERP=${LERP}
  -D ELEMENT_TYPES=${ELEMENT_TYPES} -D OPERATORS=${OPERATORS})
run("Building" ${CMAKE_COMMAND} --build ${SCRATCH}/build)

function(expect program expected)
  run("Running ${program}" ${SCRATCH}/${program} ${ARGN})
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "${program} printed\n${output}\nexpected ${expected}")
  endif()
endfunction()
if(LERP)
  expect(build/with_views "out\\[0\\]\\[0\\] = 2, weight_grad\\[0\\] = 24")
  expect(build/without_kokkos "[0-9]+ operators, right on [1-9] backends")
  set(in_c "out = 2 2 2 2.*refused: portops::lerp: out has extents")
  expect(build/in_c "${in_c}")
  if(EXISTS ${SCRATCH}/build/inference)
    expect(build/inference "[0-9]+ calls, 100 requests, scores sum to 100.000")
  endif()
endif()
# What a makefile does. A static library needs more than pkg-config knows for certain.
if(LERP AND LIBRARY AND PKG_CONFIG)
  cmake_path(GET LIBRARY PARENT_PATH libraries)
  set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/moved/${libraries}/pkgconfig)
  run("pkg-config" ${PKG_CONFIG} --cflags --libs portops)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(sanitizer UNIX_COMMAND "${FLAGS}")
  run("Compiling by pkg-config" ${C_COMPILER} -std=c99 ${sanitizer} ${EXAMPLES}/lerp.c -o ${SCRATCH}/by_pkg_config ${flags}
    -Wl,-rpath,${SCRATCH}/moved/${libraries})
  expect(by_pkg_config "${in_c}")
endif()
if(COMMAND)
  string(REGEX REPLACE ",.*" "" operator "${OPERATORS}")
  expect(moved/${COMMAND} "${operator}_grad" list)
endif()
# Whether there is one the installed library says, not the configuration file.
file(GLOB_RECURSE comm ${SCRATCH}/moved/libportops_comm.*)
if(comm)
  # Alone, whatever started this test; and MPI leaves memory behind that is not portops'.
  set(ENV{PORTOPS_COMM} none)
  set(ENV{ASAN_OPTIONS} "$ENV{ASAN_OPTIONS}:detect_leaks=0")
  expect(build/with_comm "process 0 of 1, the sum is 1")
endif()
file(REMOVE_RECURSE ${SCRATCH})
