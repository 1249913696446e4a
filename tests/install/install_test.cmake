# Merak as users get it: installed to a prefix, found by examples/custom_model
# as a project of its own, and trained with by that program. Started with
#   cmake -D BUILD=.. -D SOURCE=.. -D WORK=.. -D GENERATOR=.. -D COMPILER=..
#         -D BUILD_TYPE=.. -P install_test.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  message(STATUS "${ARGV}")
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "ended with ${code}: ${ARGV}")
  endif()
endfunction()

# The losses of a run folder's metrics.jsonl, as they are written.
function(read_losses folder out)
  file(STRINGS ${WORK}/${folder}/metrics.jsonl lines)
  set(losses)
  foreach(line IN LISTS lines)
    string(JSON loss ERROR_VARIABLE none GET "${line}" loss)
    if(NOT none)
      list(APPEND losses ${loss})
    endif()
  endforeach()
  set(${out} ${losses} PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/custom_model -B ${WORK}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_BUILD_TYPE=${BUILD_TYPE})
run(${CMAKE_COMMAND} --build ${WORK}/build)

# Bits depend on how many threads a rank has.
set(ENV{OMP_NUM_THREADS} 1)
set(train ${WORK}/build/custom_model ${SOURCE}/examples/custom_model/mixer.toml
    "data.train=[\"${SOURCE}/examples/custom_model/fables.txt\"]" train.steps=8)
set(merak ${WORK}/prefix/bin/merak)
run(${merak} --version)
run(${train} parallel.pipeline=1 run.dir=one)
run(${train} run.dir=threads)
run(${merak} launch -n 2 -- ${train} run.dir=processes)

read_losses(one one)
list(LENGTH one count)
if(NOT count EQUAL 8)
  message(FATAL_ERROR "one rank wrote ${count} losses instead of 8: ${one}")
endif()
list(GET one 0 first)
list(GET one 7 last)
if(NOT last LESS first)
  message(FATAL_ERROR "the loss does not fall: ${one}")
endif()
foreach(layout threads processes)
  read_losses(${layout} found)
  if(NOT found STREQUAL one)
    message(FATAL_ERROR "two ${layout} have the losses ${found}, one rank ${one}")
  endif()
endforeach()
message(STATUS "losses of one rank, two threads and two processes: ${one}")
