#include "muster/drivers/zmq/doorkeeper.h"

#include <gtest/gtest.h>

#include "muster/drivers/zmq/curve_keys.h"

namespace muster::drivers::zmq {
namespace {

constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";

std::string_view answer_to(std::vector<std::string_view> request) {
  return status_of(request, [](std::string_view domain, std::span<const std::byte> key) {
    const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
    return domain == "muster 1" && text == kKey;
  });
}

TEST(Doorkeeper, LetsInWhoHasTheKeyOfTheDomain) {
  EXPECT_EQ(answer_to({"1.0", "1", "muster 1", "127.0.0.1", "", "CURVE", kKey}), "200");
  EXPECT_EQ(answer_to({"1.0", "1", "muster 2", "127.0.0.1", "", "CURVE", kKey}), "400");
  EXPECT_EQ(answer_to({"1.0", "1", "muster 1", "127.0.0.1", "", "CURVE", "another"}), "400");
}

TEST(Doorkeeper, RefusesWhatIsNoRequestOfThisVersionAndMechanism) {
  EXPECT_EQ(answer_to({}), "400");
  EXPECT_EQ(answer_to({"1.0", "1", "muster 1", "127.0.0.1", "", "CURVE"}), "400");
  EXPECT_EQ(answer_to({"2.0", "1", "muster 1", "127.0.0.1", "", "CURVE", kKey}), "400");
  EXPECT_EQ(answer_to({"1.0", "1", "muster 1", "127.0.0.1", "", "PLAIN", kKey}), "400");
  EXPECT_EQ(answer_to({"1.0", "1", "muster 1", "127.0.0.1", "", "NULL", kKey}), "400");
  EXPECT_EQ(answer_to({"1.0", "1", "muster 1", "127.0.0.1", "", "CURVE", kKey, "more"}), "400");
}

TEST(CurveKeys, TellServersFromClientsAndTokensFromEachOther) {
  const net::Token one{1, std::vector<std::byte>(32, std::byte{1})};
  const net::Token other{1, std::vector<std::byte>(32, std::byte{2})};
  const CurveKeys keys = curve_keys(one);

  EXPECT_NE(keys.server.secret, keys.client.secret);
  EXPECT_NE(keys.server.open, keys.client.open);
  EXPECT_NE(keys.server.open, keys.server.secret);
  EXPECT_NE(keys.server.open, curve_keys(other).server.open);
  EXPECT_NE(keys.client.open, curve_keys(other).client.open);
  EXPECT_EQ(keys.client.open, curve_keys(one).client.open) << "both ends derive the same";
}

}  // namespace
}  // namespace muster::drivers::zmq
