include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/MusterTest.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/MusterPrecompile.cmake)

# Flags of our own targets; never exported to users.
add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  $<$<BOOL:${MUSTER_WERROR}>:-Werror> $<$<BOOL:${MUSTER_FUZZ}>:-fsanitize=fuzzer-no-link>)
target_compile_definitions(muster_flags INTERFACE
  $<$<BOOL:${MUSTER_CRASH_POINTS}>:MUSTER_CRASH_POINTS>)
if(MUSTER_SANITIZE)
  # Without null: a null pointer ends the program anyway, and the checks are a fifth
  # of the compiler's work. Without vptr: it opens a pipe for each check, and so
  # takes a process that has run out of descriptors, as some tests have, for one
  # with broken objects.
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE}
    -fno-sanitize=null,vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(MUSTER_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It sees paths that are none once every access is instrumented.
    target_compile_options(muster_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
endif()

if(MUSTER_UNITY)
  include(${CMAKE_CURRENT_LIST_DIR}/MusterOrder.cmake)
endif()

# All that is no test: libraries, programs, examples.
add_custom_target(muster_programs)

# muster_module(net DEPS muster::loop muster::wire)
#
# One folder is one library: muster/net/*.cpp becomes muster::net, and the
# *_test.cpp beside them become net_test. DEPS is the whole list of what the
# folder may include; scripts/check_layers.py reads it from here. PRIVATE_DEPS
# are libraries of others that stand in no header of ours. LABELS and SERIAL are
# for its tests (MusterTest.cmake).
#
# NEEDS zmq zmq.h libzmq3-dev: a library of others without which the folder is left
# out, its header, and Debian's package of it. Then the sources are those in the
# folder `missing`, which say so to whoever asks for it.
function(muster_module path)
  cmake_parse_arguments(arg "" "SERIAL" "DEPS;PRIVATE_DEPS;NEEDS;TEST_DEPS;LABELS" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  set(dir ${PROJECT_SOURCE_DIR}/muster/${path})
  file(GLOB headers CONFIGURE_DEPENDS ${dir}/*.h)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cpp)
  list(REMOVE_ITEM sources ${tests} "")
  if(arg_NEEDS)
    list(GET arg_NEEDS 0 library)
    list(GET arg_NEEDS 1 header)
    list(GET arg_NEEDS 2 package)
    find_library(MUSTER_LIBRARY_${library} ${library})
    find_path(MUSTER_HEADER_${library} ${header})
    if(MUSTER_LIBRARY_${library} AND MUSTER_HEADER_${library})
      # By name: an installed tree finds it again on the machine that uses it.
      list(APPEND arg_PRIVATE_DEPS ${library})
    else()
      message(STATUS "muster/${path} is left out: there is no lib${library}; install ${package}")
      file(GLOB sources CONFIGURE_DEPENDS ${dir}/missing/*.cpp)
      set(arg_PRIVATE_DEPS "")
      set(tests "")
    endif()
  endif()

  set(kind PUBLIC)
  set(type STATIC)
  if(NOT sources)
    set(kind INTERFACE)
    set(type INTERFACE)
  endif()
  add_library(muster_${name} ${type} ${sources})
  add_library(muster::${name} ALIAS muster_${name})
  target_sources(muster_${name} ${kind} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_compile_features(muster_${name} ${kind} cxx_std_20)
  target_link_libraries(muster_${name} ${kind} ${arg_DEPS})
  set_target_properties(muster_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(sources)
    target_link_libraries(muster_${name} PRIVATE ${arg_PRIVATE_DEPS} $<BUILD_INTERFACE:muster_flags>)
    muster_precompile(muster_${name} std)
    # One folder, one piece: what is called across its files can be inlined
    # (docs/decisions/0020).
    set_target_properties(muster_${name} PROPERTIES UNITY_BUILD ${MUSTER_UNITY}
      UNITY_BUILD_BATCH_SIZE 0)
    if(MUSTER_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # It takes a file that is included for a header.
      target_compile_options(muster_${name} PRIVATE -Wno-subobject-linkage)
    endif()
    add_dependencies(muster_programs muster_${name})
  endif()
  install(TARGETS muster_${name} EXPORT MusterTargets FILE_SET HEADERS)

  if(MUSTER_TESTS AND tests)
    muster_test(${name}_test SOURCES ${tests} DEPS muster::${name} ${arg_TEST_DEPS}
      LABELS unit ${arg_LABELS} SERIAL "${arg_SERIAL}")
  endif()
endfunction()
