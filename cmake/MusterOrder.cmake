# In our programs and in the Python module the functions that a message passes lie side by
# side (docs/decisions/0031): who wakes for one finds few of them in the processor's caches,
# and fetches some ten pages instead of forty. Programs of others link as they like.
include(CheckLinkerFlag)
set(order_file ${PROJECT_SOURCE_DIR}/cmake/message_path.ld)
check_linker_flag(CXX "-Wl,-T,${order_file}" MUSTER_LINKER_ORDERS)
if(MUSTER_LINKER_ORDERS)
  target_compile_options(muster_flags INTERFACE -ffunction-sections)
  target_link_options(muster_flags INTERFACE -Wl,-T,${order_file})
  set_property(TARGET muster_flags APPEND PROPERTY INTERFACE_LINK_DEPENDS ${order_file})
else()
  message(STATUS "Functions stay where the compiler has put them: the linker cannot order them")
endif()
