# muster_test(loop_test SOURCES a_test.cpp DEPS muster::loop LABELS unit threads SERIAL "LoopCost.*")
#
# One program of GoogleTest cases, each a test of ctest's. The folder or subject
# is a label too, so that `scripts/test loop` finds them. SERIAL is a filter of
# the cases that measure time or processors: nothing runs beside them.
# The target tests_LABEL builds all programs of a label.
function(muster_test name)
  cmake_parse_arguments(arg "" "SERIAL;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags ${arg_DEPS} GTest::gtest_main)
  muster_precompile(${name} gtest)
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()

  # One label, joined by dots: gtest_discover_tests() loses all but the first of a list.
  string(REGEX REPLACE "_test$" "" subject ${name})
  string(REPLACE "_" "." subject ${subject})
  list(APPEND arg_LABELS ${subject})
  list(JOIN arg_LABELS "." label)
  set(properties TIMEOUT ${arg_TIMEOUT})
  # UCX hooks mmap() and its like by patching them in the running program, which ends
  # it where the thread sanitizer has put its own in their place.
  if(MUSTER_SANITIZE MATCHES "thread")
    list(APPEND properties ENVIRONMENT UCX_MEM_EVENTS=n)
  endif()
  if(arg_SERIAL)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${arg_SERIAL}"
      PROPERTIES LABELS ${label}.serial RUN_SERIAL ON ${properties})
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "-${arg_SERIAL}"
      PROPERTIES LABELS ${label} ${properties})
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label} ${properties})
  endif()
endfunction()

# muster_long_cases(loop_test "Loop.*")
#
# These cases of a program once more, under the label `long` and with MUSTER_LONG=1 in
# the environment, which tells them to leave nothing out.
function(muster_long_cases name filter)
  string(REGEX REPLACE "_test$" "" subject ${name})
  string(REPLACE "_" "." subject ${subject})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${filter}" TEST_PREFIX "Long."
    PROPERTIES LABELS long.${subject} TIMEOUT 1800 ENVIRONMENT MUSTER_LONG=1)
endfunction()
