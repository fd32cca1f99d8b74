#include "benchmarks/common/body.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

constexpr auto kExitOne = 1;

std::vector<std::byte> stamped(std::uint64_t number) {
  std::vector<std::byte> body(3 * kPage);
  fill_body(body);
  stamp_body(body, number);
  return body;
}

TEST(Body, IsAcceptedAsItWasStamped) {
  const auto body = stamped(7);

  verify_body(body, 7);
  read_body(body, 7);
}

TEST(Body, IsFilledWhereItsMemoryIsNew) {
  auto body = stamped(6);
  std::fill_n(body.begin() + kPage, kPage, std::byte{0});

  fill_new_pages(body);
  stamp_body(body, 7);

  read_body(body, 7);
}

TEST(BodyDeathTest, IsRefusedWhenItIsThatOfAnotherMessage) {
  const auto body = stamped(6);

  EXPECT_EXIT(verify_body(body, 7), testing::ExitedWithCode(kExitOne), "body 7, page 0");
  EXPECT_EXIT(read_body(body, 7), testing::ExitedWithCode(kExitOne), "body 7, page 0");
}

TEST(BodyDeathTest, IsRefusedWhenPagesAreSwapped) {
  auto body = stamped(7);
  std::swap_ranges(body.begin() + kPage, body.begin() + 2 * kPage, body.begin() + 2 * kPage);

  EXPECT_EXIT(verify_body(body, 7), testing::ExitedWithCode(kExitOne), "page 1");
}

TEST(BodyDeathTest, IsRefusedWhenTheRestOfAPageIsLost) {
  auto body = stamped(7);
  std::fill(body.begin() + kPage + 64, body.begin() + 2 * kPage, std::byte{0});

  EXPECT_EXIT(verify_body(body, 7), testing::ExitedWithCode(kExitOne), "page 1");
}

TEST(BodyDeathTest, IsRefusedByAReaderForAnyByteOfIt) {
  auto body = stamped(7);
  body.back() ^= std::byte{1};

  EXPECT_EXIT(read_body(body, 7), testing::ExitedWithCode(kExitOne), "page 2");
}

}  // namespace
}  // namespace muster::bench
