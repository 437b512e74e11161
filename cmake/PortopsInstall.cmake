# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)

install(TARGETS portops EXPORT portopsTargets)
install(EXPORT portopsTargets NAMESPACE portops:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/portopsConfig.cmake.in
  ${PROJECT_BINARY_DIR}/portopsConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/portopsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/portopsConfig.cmake ${PROJECT_BINARY_DIR}/portopsConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/portops)
