# A compiler cache where there is one; LibTorch's headers are slow.
find_program(MERAK_CCACHE ccache)
if(MERAK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need the sloppiness flags, or ccache declines.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${MERAK_CCACHE})
endif()
