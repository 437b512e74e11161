# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)

set(targets portops)
if(TARGET portops_comm)
  list(APPEND targets portops_comm)
endif()
install(TARGETS ${targets} EXPORT portopsTargets)
install(EXPORT portopsTargets NAMESPACE portops:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/portopsConfig.cmake.in
  ${PROJECT_BINARY_DIR}/portopsConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/portopsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/portopsConfig.cmake ${PROJECT_BINARY_DIR}/portopsConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)

# For pkg-config. A shared library finds the others by itself. With a static one `pkg-config --static` names them as far as
# they are known here, Kokkos and the BLAS by their paths; find_package knows them better.
file(RELATIVE_PATH PORTOPS_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(PORTOPS_PC_LIBRARIES "")
if(NOT BUILD_SHARED_LIBS)
  foreach(target KokkosKernels::kokkoskernels Kokkos::kokkoscontainers Kokkos::kokkoscore)
    list(APPEND PORTOPS_PC_LIBRARIES "$<$<TARGET_EXISTS:${target}>:$<TARGET_FILE:$<TARGET_NAME_IF_EXISTS:${target}>>>")
  endforeach()
  if(BLAS_LIBRARIES)
    list(APPEND PORTOPS_PC_LIBRARIES ${BLAS_LIBRARIES})
  endif()
  if("openmp" IN_LIST PORTOPS_BACKENDS)
    list(APPEND PORTOPS_PC_LIBRARIES -fopenmp)
  endif()
  list(APPEND PORTOPS_PC_LIBRARIES -ldl -lstdc++ -lm)
  list(JOIN PORTOPS_PC_LIBRARIES " " PORTOPS_PC_LIBRARIES)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/portops.pc.in ${PROJECT_BINARY_DIR}/portops.pc.generate @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/portops.pc INPUT ${PROJECT_BINARY_DIR}/portops.pc.generate)
install(FILES ${PROJECT_BINARY_DIR}/portops.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
