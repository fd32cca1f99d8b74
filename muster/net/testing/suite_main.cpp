// main() of the programs that run the driver suite: a test, or a child in a role.

#include <csignal>

#include <gtest/gtest.h>

#include "muster/net/testing/child_process.h"

int main(int argc, char** argv) {
  if (const int code = muster::net::testing::run_role(argc, argv); code >= 0) return code;
  // A child that is killed may leave a pipe behind it.
  std::signal(SIGPIPE, SIG_IGN);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
