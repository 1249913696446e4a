# merak::merak, the umbrella over all folders, and what `cmake --install` puts
# where: libraries, headers, the program, and the package that
# find_package(Merak CONFIG) reads (docs/library.md).
include(CMakePackageConfigHelpers)

get_property(merak_libraries GLOBAL PROPERTY MERAK_LIBRARIES)
add_library(merak INTERFACE)
add_library(merak::merak ALIAS merak)
target_link_libraries(merak INTERFACE ${merak_libraries})

install(TARGETS merak ${merak_libraries} EXPORT MerakTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/merak DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h"
        PATTERN "testing" EXCLUDE
        PATTERN "testdata" EXCLUDE
        PATTERN "*_test.h" EXCLUDE
        PATTERN "*_test_*.h" EXCLUDE
        PATTERN "*testing.h" EXCLUDE
        PATTERN "*test_support.h" EXCLUDE
        PATTERN "*conformance.h" EXCLUDE)

if(MERAK_RUNTIME)
  # The program finds LibTorch where it was built with it.
  set_target_properties(merak_main PROPERTIES INSTALL_RPATH ${MERAK_TORCH_DIR}/lib)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Merak)
install(EXPORT MerakTargets NAMESPACE merak:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/MerakConfig.cmake.in ${PROJECT_BINARY_DIR}/MerakConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MerakConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/MerakConfig.cmake
  ${PROJECT_BINARY_DIR}/MerakConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/torch.cmake
  DESTINATION ${package_dir})
