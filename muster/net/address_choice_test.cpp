#include "muster/net/address_choice.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

std::vector<Address> addresses(std::initializer_list<const char*> texts) {
  std::vector<Address> parsed;
  for (const char* text : texts) parsed.push_back(*Address::parse(text));
  return parsed;
}

std::string schemes_of(const AddressChoice& choice) {
  std::string text;
  for (const Address& address : choice.order) text += address.scheme + " ";
  return text;
}

constexpr std::string_view kAll[] = {"inproc", "shm", "tcp", "ucx", "zmq"};
constexpr std::string_view kTcpOnly[] = {"tcp"};

TEST(AddressChoice, PrefersTheNearerWay) {
  const auto peer = addresses({"ucx://mlx5:7000", "tcp://h1:7000", "shm://a", "inproc://a"});

  EXPECT_EQ(schemes_of(choose_addresses(peer, kAll)), "inproc shm tcp ");
  EXPECT_EQ(schemes_of(choose_addresses(peer, kAll, {Known::no, Known::yes})), "shm tcp ");
  EXPECT_EQ(schemes_of(choose_addresses(peer, kAll, {Known::no, Known::no})), "tcp ");
  EXPECT_EQ(schemes_of(choose_addresses(peer, kTcpOnly)), "tcp ");
}

TEST(AddressChoice, UsesAnotherSchemeOnlyWhenItIsNamedOrAlone) {
  const auto peer = addresses({"tcp://h1:7000", "ucx://mlx5:7000"});
  const std::vector<std::string> named = {"ucx"};

  EXPECT_EQ(schemes_of(choose_addresses(peer, kAll)), "tcp ");
  EXPECT_EQ(schemes_of(choose_addresses(peer, kAll, {}, named)), "ucx tcp ");
  EXPECT_EQ(schemes_of(choose_addresses(addresses({"zmq://h:7000"}), kAll)), "zmq ");
}

TEST(AddressChoice, KeepsTheOrderOfAddressesThatAreEquallyGood) {
  const auto choice = choose_addresses(addresses({"tcp://b:1", "tcp://a:2"}), kAll);
  EXPECT_EQ(choice.order[0].host, "b");
}

TEST(AddressChoice, ExplainsItself) {
  const auto peer = addresses({"tcp://h1:7000", "shm://a", "ucx://mlx5:7000"});

  EXPECT_EQ(choose_addresses(peer, kAll, {Known::no, Known::yes}).why,
            "shm://a: the peer is on this host; then tcp://h1:7000; "
            "not ucx://mlx5:7000: it is used only when asked for by name");
  EXPECT_EQ(choose_addresses(addresses({"shm://a"}), kTcpOnly).why,
            "no address can be used; not shm://a: this process has no such driver");
  EXPECT_EQ(choose_addresses({}, kAll).why, "the peer has no address");
}

}  // namespace
}  // namespace muster::net
