# muster_precompile(TARGET std|gtest)
#
# Lets a target read the headers that nearly every file includes from one that
# was compiled before: the standard library's, or also GoogleTest's. Files still
# include what they use: the tidy build has none of this, and every header is
# compiled alone there. Nor has the release: g++ 12 finds faults with the standard
# library once it no longer knows it as the system's.
set(std_headers <algorithm> <array> <atomic> <chrono> <cstdint> <deque> <functional> <map>
  <memory> <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant>
  <vector>)

function(muster_precompile target kind)
  if(NOT MUSTER_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET muster_precompiled_${kind})
    muster_add_precompiled(${kind})
  endif()
  target_precompile_headers(${target} REUSE_FROM muster_precompiled_${kind})
endfunction()

# One for libraries, which are position-independent, and one for test programs.
function(muster_add_precompiled kind)
  set(source ${PROJECT_BINARY_DIR}/precompiled_${kind}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(muster_precompiled_${kind} OBJECT ${source})
  target_compile_features(muster_precompiled_${kind} PRIVATE cxx_std_20)
  target_link_libraries(muster_precompiled_${kind} PRIVATE muster_flags Threads::Threads)
  if(kind STREQUAL "gtest")
    target_link_libraries(muster_precompiled_${kind} PRIVATE GTest::gtest)
    target_precompile_headers(muster_precompiled_${kind} PRIVATE ${std_headers} <gtest/gtest.h>)
  else()
    set_target_properties(muster_precompiled_${kind} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_precompile_headers(muster_precompiled_${kind} PRIVATE ${std_headers})
  endif()
endfunction()
