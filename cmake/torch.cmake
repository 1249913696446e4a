# LibTorch from the `torch` wheel (or a LibTorch folder): MERAK_TORCH_DIR is the
# folder that holds include/ and lib/. Installed with Merak, whose package finds
# it in the same way.
#
# Its headers bundle other versions of fmt and protobuf than the system's, so
# they must be searched last: -idirafter, not the -isystem that
# find_package(Torch) would give. The wheel lacks Gloo's headers; libgloo-dev
# has them, and libtorch_cpu itself exports Gloo's symbols.
set(MERAK_TORCH_DIR "" CACHE PATH "folder with LibTorch's include/ and lib/")
if(NOT MERAK_TORCH_DIR)
  # The environment that scripts/setup.sh makes, else the python3 in PATH.
  set(python python3)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  endif()
  execute_process(
    COMMAND ${python} -c
      "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(found)
    set(MERAK_TORCH_DIR ${found} CACHE PATH "" FORCE)
  endif()
endif()
if(NOT EXISTS "${MERAK_TORCH_DIR}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch in MERAK_TORCH_DIR='${MERAK_TORCH_DIR}'. "
    "Run scripts/setup.sh, or pass -DMERAK_TORCH_DIR=/path/to/torch")
endif()
file(STRINGS ${MERAK_TORCH_DIR}/include/torch/headeronly/version.h torch_version_lines
     REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9]+" "." MERAK_TORCH_VERSION "${torch_version_lines}")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" MERAK_TORCH_VERSION "${MERAK_TORCH_VERSION}")
message(STATUS "LibTorch ${MERAK_TORCH_VERSION} in ${MERAK_TORCH_DIR}")
if(MERAK_TORCH_VERSION VERSION_LESS 2.11 OR MERAK_TORCH_VERSION VERSION_GREATER_EQUAL 2.15)
  message(WARNING "LibTorch ${MERAK_TORCH_VERSION} is outside 2.11 to 2.14, which Merak is tested with")
endif()
find_path(MERAK_GLOO_INCLUDE gloo/context.h REQUIRED)

# Imported, so that the exported targets name it and do not hold its paths.
add_library(merak_libtorch INTERFACE IMPORTED GLOBAL)
# GCC 12 sees an overflow in LibTorch's inlined reference counts where none is.
target_compile_options(merak_libtorch INTERFACE -Wno-stringop-overflow
  "SHELL:-idirafter ${MERAK_TORCH_DIR}/include"
  "SHELL:-idirafter ${MERAK_TORCH_DIR}/include/torch/csrc/api/include")
target_compile_definitions(merak_libtorch INTERFACE USE_C10D_GLOO)
target_link_libraries(merak_libtorch INTERFACE
  ${MERAK_TORCH_DIR}/lib/libtorch.so ${MERAK_TORCH_DIR}/lib/libtorch_cpu.so
  ${MERAK_TORCH_DIR}/lib/libc10.so Threads::Threads)

function(merak_use_torch target scope)
  target_link_libraries(${target} ${scope} merak_libtorch)
endfunction()
