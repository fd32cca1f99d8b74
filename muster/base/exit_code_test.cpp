#include "muster/base/exit_code.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ExitCode, SaysWhetherToStartAgain) {
  const auto of = [](Code code) { return exit_code(Status(Error(code, "why"))); };
  EXPECT_EQ(exit_code(ok()), 0);
  EXPECT_EQ(of(Code::cancelled), 0);
  EXPECT_EQ(of(Code::invalid), 64) << "it would be as wrong the next time";
  EXPECT_EQ(of(Code::unsupported), 64);
  for (const Code code : {Code::not_found, Code::unavailable, Code::overloaded, Code::timeout,
                          Code::failed, Code::internal}) {
    EXPECT_EQ(of(code), 1) << name(code);
  }
}

}  // namespace
}  // namespace muster
