#include "muster/registries/embedded/message.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "muster/registries/embedded/state.h"

namespace muster::registries::embedded {
namespace {

Message announcement() {
  Message message{.kind = Kind::announce};
  message.lease = std::chrono::milliseconds(2800);
  message.group = "group";
  message.member = {.name = "learner",
                    .type = "trainer",
                    .id = {0x0102030405060708, 0x090A0B0C0D0E0F10},
                    .incarnation = 3,
                    .addresses = {"shm://x", "tcp://127.0.0.1:7000"}};
  return message;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

TEST(RegistryMessage, HasTheBytesThatTheReferenceTells) {
  Message message = announcement();
  message.member.addresses = {"shm://x"};
  EXPECT_EQ(hex(encode(message)),
            "4d524547"          // Magic.
            "01"                // Version.
            "01"                // announce
            "00"                // Flags.
            "09"                // Code: unused.
            "f00a0000"          // Lease in ms.
            "0807060504030201"  // Id.
            "100f0e0d0c0b0a09"
            "0300000000000000"    // Incarnation.
            "07006c6561726e6572"  // Name.
            "0700747261696e6572"  // Type.
            "0100"                // One address:
            "070073686d3a2f2f78"  // shm://x
            "050067726f7570"      // Group.
            "0000");              // Text.
}

TEST(RegistryMessage, AnyLengthButItsOwnIsRefused) {
  std::vector<std::byte> bytes = encode(announcement());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
  }
  ASSERT_EQ(*decode(bytes), announcement());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode(bytes));
}

TEST(RegistryMessage, ANameThatCannotBeIsRefused) {
  for (const std::string& name :
       {std::string(), std::string("../up"), std::string("a b"), std::string(65, 'x')}) {
    Message message = announcement();
    message.member.name = name;
    EXPECT_EQ(decode(encode(message)).error().code(), Code::invalid) << name;
    message = announcement();
    message.group = name;
    EXPECT_EQ(decode(encode(message)).error().code(), Code::invalid) << name;
  }
  Message unborn = announcement();
  unborn.kind = Kind::joined;
  unborn.member.incarnation = 0;
  EXPECT_FALSE(decode(encode(unborn)));
}

TEST(RegistryMessage, AnotherVersionIsToldApartFromNonsense) {
  std::vector<std::byte> bytes = encode(announcement());
  bytes[4] = std::byte{2};
  EXPECT_EQ(decode(bytes).error().code(), Code::unsupported);
  bytes[0] = std::byte{0};
  EXPECT_EQ(decode(bytes).error().code(), Code::invalid);
}

TEST(RegistryMessage, ACodeOfALaterVersionIsAnInternalError) {
  std::vector<std::byte> bytes = encode(announcement());
  for (const int code : {0, 10, 255}) {
    bytes[7] = static_cast<std::byte>(code);
    EXPECT_EQ(decode(bytes)->code, Code::internal);
  }
}

TEST(RegistryMessage, TheLongestFits) {
  Message message = announcement();
  message.member.name = message.member.type = message.group = std::string(msg::kMaxName, 'x');
  message.member.addresses.assign(msg::kMaxAddresses, std::string(msg::kMaxAddress, 'a'));
  message.text = std::string(kMaxText, 't');
  const std::vector<std::byte> bytes = encode(message);
  EXPECT_LE(bytes.size(), kMaxMessage);
  EXPECT_EQ(*decode(bytes), message);
}

// Whatever is changed in a message, it is refused or means something that can be.
RC_GTEST_PROP(RegistryMessageProperty, ASpoiltMessageIsRefusedOrSound, ()) {
  std::vector<std::byte> bytes = encode(announcement());
  const auto changes = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint8_t>>>(
      rc::gen::arbitrary<std::pair<std::uint16_t, std::uint8_t>>());
  for (const auto& [at, value] : changes) bytes[at % bytes.size()] = static_cast<std::byte>(value);
  const Result<Message> message = decode(bytes);
  if (message) RC_ASSERT(*decode(encode(*message)) == *message);
}

RC_GTEST_PROP(RegistryStateProperty, ASpoiltFileIsRefusedOrSound, ()) {
  DirectoryState state{.floor = 5, .entries = {}};
  for (const char* const name : {"a", "b"}) {
    Entry entry;
    entry.member = announcement().member;
    entry.member.name = name;
    entry.lease = std::chrono::seconds(1);
    entry.pid = 17;
    entry.is_present = true;
    state.entries.push_back(entry);
  }
  std::vector<std::byte> bytes = encode_state(state);
  RC_ASSERT(*decode_state(bytes) == state);
  const auto changes = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint8_t>>>(
      rc::gen::arbitrary<std::pair<std::uint16_t, std::uint8_t>>());
  for (const auto& [at, value] : changes) bytes[at % bytes.size()] = static_cast<std::byte>(value);
  const Result<DirectoryState> again = decode_state(bytes);
  if (again) RC_ASSERT(*decode_state(encode_state(*again)) == *again);
}

}  // namespace
}  // namespace muster::registries::embedded
