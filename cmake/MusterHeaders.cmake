# Headers of no library, those of tests, benchmarks and programs, each compiled alone: what CMake
# itself does for the libraries' (all_verify_interface_header_sets).
#
# The target muster_other_headers. Not those that need what only one program has: a peer's
# library, or Python's.

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  apps/*.h benchmarks/common/*.h benchmarks/instructions/*.h benchmarks/muster/*.h
  benchmarks/peers/raw/*.h examples/*.h muster/*.h tests/*.h)
list(FILTER headers EXCLUDE REGEX "^muster/([a-z]+|drivers/[a-z]+|registries/[a-z]+)/[a-z_0-9]+\\.h$")
set(alone)
foreach(header ${headers})
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${PROJECT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n" @ONLY)
  list(APPEND alone ${source})
endforeach()
add_library(muster_other_headers OBJECT EXCLUDE_FROM_ALL ${alone})
target_link_libraries(muster_other_headers PRIVATE muster::runtime muster::drivers_inproc
  muster::registries_redis muster_msg_testing muster_net_testing rapidcheck OpenSSL::SSL
  GTest::gtest muster_flags)
target_include_directories(muster_other_headers PRIVATE ${PROJECT_SOURCE_DIR})
