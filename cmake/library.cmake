# merak_library(NAME schedule SOURCES a.cpp b.cpp DEPS base [EXTERNAL fmt::fmt] [TORCH])
#
# One static library a folder: merak_schedule, alias merak::schedule. DEPS are
# other folders, EXTERNAL are link targets from cmake/dependencies.cmake, TORCH
# allows LibTorch's headers: without it an include of them does not compile.
# PRECOMPILE names headers worth precompiling for this folder alone.
define_property(GLOBAL PROPERTY MERAK_LIBRARIES BRIEF_DOCS "all folders" FULL_DOCS "all folders")

set(MERAK_WARNINGS -Wall -Wextra -Wshadow -Wconversion)
# GCC 12 sees overlapping copies in "text" + std::string, where the length that
# it assumes cannot occur (GCC bug 105651, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND MERAK_WARNINGS -Wno-restrict)
endif()
if(MERAK_WERROR)
  list(APPEND MERAK_WARNINGS -Werror)
endif()

function(merak_library)
  cmake_parse_arguments(ARG "TORCH" "NAME" "SOURCES;DEPS;EXTERNAL;PRECOMPILE" ${ARGN})
  add_library(merak_${ARG_NAME} STATIC ${ARG_SOURCES})
  add_library(merak::${ARG_NAME} ALIAS merak_${ARG_NAME})
  set_target_properties(merak_${ARG_NAME} PROPERTIES EXPORT_NAME ${ARG_NAME})
  target_include_directories(merak_${ARG_NAME} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(merak_${ARG_NAME} PUBLIC cxx_std_20)
  target_compile_options(merak_${ARG_NAME} PRIVATE ${MERAK_WARNINGS})
  list(TRANSFORM ARG_DEPS PREPEND "merak_")
  target_link_libraries(merak_${ARG_NAME} PUBLIC ${ARG_DEPS} ${ARG_EXTERNAL})
  if(ARG_TORCH)
    merak_use_torch(merak_${ARG_NAME} PUBLIC)
  endif()
  if(ARG_PRECOMPILE)
    target_precompile_headers(merak_${ARG_NAME} PRIVATE ${ARG_PRECOMPILE})
  elseif(ARG_TORCH)
    merak_precompile(merak_${ARG_NAME} TORCH)
  endif()
  set_property(GLOBAL APPEND PROPERTY MERAK_LIBRARIES merak_${ARG_NAME})
endfunction()

# merak_test(NAME schedule SOURCES a_test.cpp DEPS schedule [TORCH] [LABELS slow])
#
# One GoogleTest program: schedule_test. It writes its results as XML beside
# itself, where scripts/run_tests.py counts them.
function(merak_test)
  if(NOT MERAK_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "TORCH" "NAME;TIMEOUT" "SOURCES;DEPS;EXTERNAL;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${ARG_NAME}_test ${ARG_SOURCES})
  target_compile_options(${ARG_NAME}_test PRIVATE ${MERAK_WARNINGS})
  list(TRANSFORM ARG_DEPS PREPEND "merak_")
  target_link_libraries(${ARG_NAME}_test PRIVATE ${ARG_DEPS} ${ARG_EXTERNAL}
                        GTest::gmock GTest::gtest_main)
  if(ARG_TORCH)
    merak_use_torch(${ARG_NAME}_test PRIVATE)
    merak_precompile(${ARG_NAME}_test TORCH TEST)
  else()
    merak_precompile(${ARG_NAME}_test TEST)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME}_test
           --gtest_output=xml:${PROJECT_BINARY_DIR}/test-results/${ARG_NAME}.xml
           WORKING_DIRECTORY ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
