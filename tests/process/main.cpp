// All tests with processes of their own, and the roles that those play.

#include <gtest/gtest.h>

#include "tests/process/child.h"

int main(int argc, char** argv) {
  int exit_code = 0;
  if (muster::tests::play_role(argc, argv, exit_code)) return exit_code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
