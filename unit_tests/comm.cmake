# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The tests of src/comm: a program that is run by one process, and with MPI by two, three and four.
if(NOT TARGET portops_comm)
  return()
endif()
file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} comm/test_*.cpp)
if(NOT PORTOPS_HAS_MPI)
  list(FILTER sources EXCLUDE REGEX "/test_mpi_")
endif()
portops_keep_chosen(sources)
add_executable(portops_comm_tests ${sources} comm/main.cpp support/sanitized.cpp)
target_include_directories(portops_comm_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(portops_comm_tests PRIVATE portops_comm_internals portops_flags GTest::gtest GTest::gmock)
add_executable(portops_comm_failing comm/failing.cpp)
target_link_libraries(portops_comm_failing PRIVATE portops::comm portops_flags)

# How many processes there are is for the machine to say, not for what Open MPI thinks of it: more than processors, as
# root, in a container.
set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
  OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
  OMP_PROC_BIND=false)
if(PORTOPS_SANITIZE MATCHES "address")
  # The engines leave memory behind that is not portops'.
  list(APPEND environment ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0)
endif()

add_test(NAME comm_1 COMMAND portops_comm_tests)
set_tests_properties(comm_1 PROPERTIES TIMEOUT 300 LABELS comm ENVIRONMENT "${environment}")
if(NOT PORTOPS_HAS_MPI)
  return()
endif()
# portops_add_comm_test(NAME PROCESSES COMMAND...)
function(portops_add_comm_test name processes)
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${processes} ${MPIEXEC_PREFLAGS} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS comm PROCESSORS 2 ENVIRONMENT "${environment}")
endfunction()
foreach(processes 2 3 4)
  portops_add_comm_test(comm_${processes} ${processes} $<TARGET_FILE:portops_comm_tests>)
endforeach()
add_executable(portops_comm_ending comm/ending.cpp)
target_link_libraries(portops_comm_ending PRIVATE portops::comm portops_flags)
portops_add_comm_test(comm_ending 2 $<TARGET_FILE:portops_comm_ending>)
set_tests_properties(comm_ending PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION "unexpected")
foreach(way caught passed killed)
  portops_add_comm_test(comm_failing_${way} 3 $<TARGET_FILE:portops_comm_failing> ${way})
  set_tests_properties(comm_failing_${way} PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION "unexpected")
endforeach()
set_tests_properties(comm_failing_caught PROPERTIES
  PASS_REGULAR_EXPRESSION "portops: process 1 of 3 [(][^)]*[)]: no more data")
set_tests_properties(comm_failing_passed PROPERTIES
  PASS_REGULAR_EXPRESSION "portops: process 1 of 3 [(][^)]*[)]: ends by an exception")
# It is the launcher that tells of it: MPICH's names at times the signal by which it has ended the others.
set_tests_properties(comm_failing_killed PROPERTIES
  PASS_REGULAR_EXPRESSION "process 1 of 3 aborts now.*(BAD TERMINATION|signal 6|Aborted)")
# As if the launcher of another MPI had started three.
add_test(NAME comm_failing_lone COMMAND portops_comm_failing lone)
set_tests_properties(comm_failing_lone PROPERTIES TIMEOUT 60 LABELS comm
  ENVIRONMENT "${environment};OMPI_COMM_WORLD_SIZE=3"
  PASS_REGULAR_EXPRESSION "OMPI_COMM_WORLD_SIZE says that 3 processes were started, and MPI knows of this one alone")
