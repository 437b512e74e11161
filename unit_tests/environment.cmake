# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

function(set_default variable value)
  if(NOT DEFINED ENV{${variable}})
    set(ENV{${variable}} ${value})
  endif()
endfunction()

# Several tests run at once: OpenMP's threads must neither be bound to the same cores nor spin on them.
set_default(OMP_PROC_BIND false)
set_default(OMP_WAIT_POLICY passive)
# MPI's transport rewrites every function that gives memory back when a process begins, which takes longer than most
# tests do; on one machine it need not know of these.
set_default(UCX_MEM_EVENTS n)
# An allocation that is too large must fail as it does without sanitizers: there are tests of that.
set_default(ASAN_OPTIONS allocator_may_return_null=1)
set_default(TSAN_OPTIONS allocator_may_return_null=1:suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp)
set_default(UBSAN_OPTIONS print_stacktrace=1)
