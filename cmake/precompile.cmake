# Precompiled headers of what is slow to read: LibTorch (20 s a file without),
# GoogleTest. One for all targets of a kind, since each takes long to make;
# libraries and programs differ in -fPIC and -fPIE, which a precompiled header
# must share with its users. A target without TORCH sees none of LibTorch. The
# tidy preset goes without, so that headers stay self-contained.
set(MERAK_PCH_TORCH
  <ATen/core/Tensor.h> <ATen/core/dispatch/Dispatcher.h> <torch/library.h>
  <torch/nn/module.h> <nlohmann/json.hpp>)
set(MERAK_PCH_TEST <gmock/gmock.h> <gtest/gtest.h>)

# merak_precompile(TARGET [TORCH] [TEST])
function(merak_precompile target)
  cmake_parse_arguments(ARG "TORCH;TEST" "" "" ${ARGN})
  set(owner merak_pch)
  set(headers)
  set(links fmt::fmt spdlog::spdlog)
  if(ARG_TORCH)
    string(APPEND owner _torch)
    list(APPEND headers ${MERAK_PCH_TORCH})
    list(APPEND links merak_libtorch nlohmann_json::nlohmann_json)
  endif()
  if(ARG_TEST)
    string(APPEND owner _test)
    list(APPEND headers ${MERAK_PCH_TEST})
    list(APPEND links GTest::gmock)
  endif()
  if(NOT TARGET ${owner})
    set(empty ${PROJECT_BINARY_DIR}/pch/empty.cpp)
    if(NOT EXISTS ${empty})
      file(WRITE ${empty} "int main() {}\n")
    endif()
    if(ARG_TEST)
      add_executable(${owner} EXCLUDE_FROM_ALL ${empty})
    else()
      add_library(${owner} STATIC EXCLUDE_FROM_ALL ${empty})
    endif()
    target_compile_options(${owner} PRIVATE ${MERAK_WARNINGS})
    target_link_libraries(${owner} PRIVATE ${links})
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
