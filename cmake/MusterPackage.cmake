# What an installed tree needs so that find_package(Muster) works.
include(CMakePackageConfigHelpers)

set(muster_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Muster)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/MusterConfig.cmake.in
  ${PROJECT_BINARY_DIR}/MusterConfig.cmake INSTALL_DESTINATION ${muster_package_dir})
# Until 1.0 a minor version may break what the one before allowed.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MusterConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MusterConfig.cmake ${PROJECT_BINARY_DIR}/MusterConfigVersion.cmake
  DESTINATION ${muster_package_dir})
install(EXPORT MusterTargets NAMESPACE muster:: DESTINATION ${muster_package_dir})
