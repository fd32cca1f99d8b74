#include "muster/net/handshake.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace muster::net {
namespace {

using Message = Handshake::Message;
using Role = Handshake::Role;

std::vector<std::byte> bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

Nonce nonce(int filled_with) {
  Nonce made;
  made.fill(static_cast<std::byte>(filled_with));
  return made;
}

Introduction intro(const std::string& name, VersionRange versions = {1, 1}) {
  return {.id = {1, name.size()},
          .name = name,
          .versions = versions,
          .features = 0b0110,
          .max_body = 1 << 20,
          .window = kMinWindow,
          .silence_ms = 2800};
}

constexpr std::string_view kToken = "a token of the tests";

Handshake client(std::string_view token = kToken, VersionRange versions = {1, 1}, int seed = 1) {
  return *Handshake::make(Role::client, bytes(token), intro("learner", versions), nonce(seed));
}

Handshake server(std::string_view token = kToken, VersionRange versions = {1, 1}, int seed = 2) {
  return *Handshake::make(Role::server, bytes(token), intro("actor", versions), nonce(seed));
}

// Lets the two talk until one falls silent or fails; `spoil` may change each
// message on its way.
struct Talk {
  std::vector<Message> said;
  std::optional<Error> failed;
};
template <class Spoil>
Talk talk(Handshake& a, Handshake& b, Spoil spoil) {
  Talk record;
  std::optional<Message> message = a.start();
  Handshake* to = &b;
  while (message) {
    spoil(*message, record.said.size());
    record.said.push_back(*message);
    Result<std::optional<Message>> step = to->receive(message->kind, message->body);
    if (!step && !record.failed) record.failed = step.error();
    message = step ? *step : to->refusal();
    if (!step && record.said.back().kind == Kind::refuse) break;
    to = to == &b ? &a : &b;
  }
  return record;
}
Talk talk(Handshake& a, Handshake& b) {
  return talk(a, b, [](Message&, std::size_t) {});
}

std::string kinds(const Talk& record) {
  std::string text;
  for (const Message& message : record.said) text += std::string(name(message.kind)) + " ";
  return text;
}

TEST(Handshake, BothEndsKnowEachOtherAfterFourMessages) {
  Handshake a = client();
  Handshake b = server();

  const Talk record = talk(a, b);

  EXPECT_EQ(kinds(record), "hello answer proof welcome ");
  ASSERT_TRUE(a.is_done() && b.is_done());
  EXPECT_EQ(a.peer(), intro("actor"));
  EXPECT_EQ(b.peer(), intro("learner"));
  EXPECT_EQ(a.version(), 1);
  EXPECT_EQ(a.features(), 0b0110u);
}

TEST(Handshake, AWrongTokenIsNoticedByTheClientAndSaidWithoutHelpToAGuesser) {
  Handshake a = client("one token, long enough");
  Handshake b = server("another one, long enough");

  const Talk record = talk(a, b);

  EXPECT_EQ(kinds(record), "hello answer refuse ");
  ASSERT_TRUE(record.failed);
  EXPECT_EQ(record.failed->describe(), "invalid: handshake: the tokens differ");
  EXPECT_FALSE(a.is_done() || b.is_done());
}

TEST(Handshake, AClientThatDoesNotCheckStillCannotComeInWithAWrongToken) {
  Handshake honest = client();
  Handshake b = server();
  ASSERT_TRUE(b.receive(Kind::hello, honest.start().body));

  const auto step = b.receive(Kind::proof, std::vector<std::byte>(kProofSize));

  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().message(), "handshake: the tokens differ");
  ASSERT_TRUE(b.refusal());
  EXPECT_EQ(b.refusal()->kind, Kind::refuse);
}

TEST(Handshake, TokensBelowSixteenBytesAreInvalid) {
  const auto made = Handshake::make(Role::client, bytes("fifteen bytes.."), intro("a"), nonce(1));

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::invalid);
}

Token generation(std::uint32_t number, std::string_view secret = kToken) {
  return {number, bytes(std::string(secret) + std::to_string(number))};
}
Handshake knowing(Role role, const std::vector<Token>& tokens) {
  return *Handshake::make(role, tokens, intro(role == Role::client ? "learner" : "actor"),
                          nonce(role == Role::client ? 1 : 2));
}

TEST(Handshake, ProvesTheNewestGenerationThatBothKnow) {
  const Token first = generation(1);
  const Token second = generation(2);
  const Token third = generation(3);
  const std::vector<std::vector<Token>> known = {
      {first}, {second, first}, {second}, {third, second}, {third}};
  for (const auto& ours : known) {
    for (const auto& theirs : known) {
      Handshake a = knowing(Role::client, ours);
      Handshake b = knowing(Role::server, theirs);

      const Talk record = talk(a, b);

      std::optional<std::uint32_t> common;
      for (const Token& token : ours) {
        if (!common && std::ranges::find(theirs, token) != theirs.end()) common = token.generation;
      }
      ASSERT_EQ(a.is_done() && b.is_done(), common.has_value()) << kinds(record);
      if (!common) continue;
      EXPECT_EQ(a.generation(), *common);
      EXPECT_EQ(b.generation(), *common);
    }
  }
}

TEST(Handshake, OfGenerationsThatDifferBothAreNamed) {
  Handshake a = knowing(Role::client, {generation(1)});
  Handshake b = knowing(Role::server, {generation(3)});

  const Talk record = talk(a, b);

  ASSERT_TRUE(record.failed);
  EXPECT_EQ(record.failed->message(),
            "handshake: the tokens differ: the newest of the client is of generation 1, of the "
            "server 3");
}

TEST(Handshake, TheSameGenerationOfAnotherClusterIsNotBelieved) {
  Handshake a = knowing(Role::client, {generation(2, "one cluster's token"), generation(1)});
  Handshake b = knowing(Role::server, {generation(2, "another cluster's"), generation(1)});

  const Talk record = talk(a, b);

  EXPECT_FALSE(a.is_done() || b.is_done());
  EXPECT_EQ(record.failed->message(), "handshake: the tokens differ");
}

TEST(Handshake, AListOfGenerationsOfAnyWrongLengthIsRefused) {
  const std::vector<std::byte> hello = client().start().body;
  const std::size_t count_at = hello.size() - 5;
  for (int count = 0; count < 256; ++count) {
    std::vector<std::byte> wrong = hello;
    wrong[count_at] = static_cast<std::byte>(count);
    Handshake b = server();
    EXPECT_EQ(b.receive(Kind::hello, wrong).has_value(), count == 1) << count;
  }
}

TEST(Handshake, NoTokenAndTooManyAreInvalid) {
  EXPECT_FALSE(Handshake::make(Role::client, std::span<const Token>(), intro("a"), nonce(1)));
  const std::vector<Token> many(kMaxGenerations + 1, generation(1));
  EXPECT_FALSE(Handshake::make(Role::client, many, intro("a"), nonce(1)));
}

TEST(Handshake, NamesAndWindowsThatCannotBeToldAreInvalid) {
  Introduction long_name = intro(std::string(kMaxName + 1, 'x'));
  Introduction small_window = intro("a");
  small_window.window = kMinWindow - 1;
  EXPECT_FALSE(Handshake::make(Role::client, bytes(kToken), long_name, nonce(1)));
  EXPECT_FALSE(Handshake::make(Role::client, bytes(kToken), small_window, nonce(1)));
  EXPECT_TRUE(
      Handshake::make(Role::client, bytes(kToken), intro(std::string(kMaxName, 'x')), nonce(1)));
}

TEST(Handshake, TakesTheHighestVersionThatBothSpeak) {
  for (int low = 1; low <= 4; ++low) {
    for (int high = low; high <= 4; ++high) {
      Handshake a =
          client(kToken, {static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high)});
      Handshake b = server(kToken, {2, 3});
      talk(a, b);
      const bool overlap = low <= 3 && high >= 2;
      ASSERT_EQ(a.is_done() && b.is_done(), overlap) << low << "-" << high;
      if (!overlap) continue;
      EXPECT_EQ(a.version(), std::min(3, high));
      EXPECT_EQ(b.version(), std::min(3, high));
    }
  }
}

TEST(Handshake, ARefusalForVersionsNamesBothRanges) {
  Handshake a = client(kToken, {1, 2});
  Handshake b = server(kToken, {3, 5});

  ASSERT_FALSE(b.receive(Kind::hello, a.start().body));
  const auto step = a.receive(Kind::refuse, b.refusal()->body);

  ASSERT_FALSE(step);
  EXPECT_EQ(
      step.error().describe(),
      "unsupported: handshake: the peer refused: no common version: the client speaks 1 to 2, "
      "the server 3 to 5");
  EXPECT_FALSE(a.refusal());
}

TEST(Handshake, AReflectedHandshakeFails) {
  // The stranger knows nothing and sends each message back to its sender.
  Handshake a = client();
  EXPECT_FALSE(a.receive(Kind::hello, a.start().body));

  Handshake b = client();
  std::vector<std::byte> own = b.start().body;
  own.resize(own.size() + kProofSize);
  EXPECT_FALSE(b.receive(Kind::answer, own));

  // The server's own proof, handed back as the client's.
  Handshake c = server();
  const auto answer = c.receive(Kind::hello, client().start().body);
  const std::span<const std::byte> proof = std::span((*answer)->body).last(kProofSize);
  EXPECT_FALSE(c.receive(Kind::proof, proof));
}

TEST(Handshake, WhoStandsBetweenCannotSayWhoTheServerIs) {
  // The end of the hello that the server got, as the beginning of the answer that the client gets:
  // all that both have proved is the same bytes.
  Handshake a = client();
  Handshake c = server();
  Handshake forger = *Handshake::make(Role::server, bytes("another token than that"),
                                      intro("somebody else"), nonce(5));
  const std::vector<std::byte> hello = a.start().body;
  const std::vector<std::byte> forged = (*forger.receive(Kind::hello, hello))->body;
  const std::span<const std::byte> inserted = std::span(forged).first(forged.size() - kProofSize);
  std::vector<std::byte> longer = hello;
  longer.insert(longer.end(), inserted.begin(), inserted.end());
  const auto answer = c.receive(Kind::hello, longer);
  ASSERT_TRUE(answer);
  std::vector<std::byte> spliced(inserted.begin(), inserted.end());
  spliced.insert(spliced.end(), (*answer)->body.begin(), (*answer)->body.end());

  EXPECT_FALSE(a.receive(Kind::answer, spliced));
}

TEST(Handshake, AReplayedHandshakeFailsAtEitherEnd) {
  Handshake a = client();
  Handshake b = server();
  const Talk heard = talk(a, b);

  // To a server that draws another nonce.
  Handshake later = server(kToken, {1, 1}, 3);
  ASSERT_TRUE(later.receive(Kind::hello, heard.said[0].body));
  EXPECT_FALSE(later.receive(Kind::proof, heard.said[2].body));

  // To a client that draws another nonce.
  Handshake victim = client(kToken, {1, 1}, 4);
  EXPECT_FALSE(victim.receive(Kind::answer, heard.said[1].body));
}

TEST(Handshake, CutAtAnyByteOfAnyMessageItFails) {
  Handshake model_a = client();
  Handshake model_b = server();
  const Talk whole = talk(model_a, model_b);
  for (std::size_t index = 0; index < 3; ++index) {
    for (std::size_t size = 0; size < whole.said[index].body.size(); ++size) {
      Handshake a = client();
      Handshake b = server();
      const Talk cut = talk(a, b, [&](Message& message, std::size_t i) {
        if (i == index) message.body.resize(size);
      });
      ASSERT_TRUE(cut.failed) << index << " cut to " << size;
      ASSERT_FALSE(a.is_done() || b.is_done());
    }
  }
}

TEST(Handshake, WithAnyBitFlippedItFails) {
  Handshake model_a = client();
  Handshake model_b = server();
  const Talk whole = talk(model_a, model_b);
  for (std::size_t index = 0; index < 3; ++index) {
    for (std::size_t bit = 0; bit < 8 * whole.said[index].body.size(); ++bit) {
      Handshake a = client();
      Handshake b = server();
      const Talk flipped = talk(a, b, [&](Message& message, std::size_t i) {
        if (i == index) message.body[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      });
      ASSERT_TRUE(flipped.failed) << index << " bit " << bit;
      ASSERT_FALSE(a.is_done() && b.is_done());
    }
  }
}

TEST(Handshake, OversizedMessagesAreRefused) {
  for (std::size_t index = 0; index < 4; ++index) {
    Handshake a = client();
    Handshake b = server();
    const Talk record = talk(a, b, [&](Message& message, std::size_t i) {
      if (i == index) message.body.resize(kMaxHandshake + 1);
    });
    EXPECT_TRUE(record.failed) << index;
  }
}

TEST(Handshake, BytesThatALaterVersionAppendsToAHelloAreCoveredByTheProof) {
  Handshake b = server();
  std::vector<std::byte> hello = client().start().body;
  hello.resize(hello.size() + 10);
  EXPECT_TRUE(b.receive(Kind::hello, hello));
}

TEST(Handshake, MessagesOutOfTurnAreRefused) {
  for (int kind = 1; kind <= 13; ++kind) {
    Handshake a = client();
    Handshake b = server();
    if (kind != static_cast<int>(Kind::answer)) {
      EXPECT_FALSE(a.receive(static_cast<Kind>(kind), {})) << kind;
    }
    if (kind != static_cast<int>(Kind::hello)) {
      EXPECT_FALSE(b.receive(static_cast<Kind>(kind), {})) << kind;
    }
    EXPECT_FALSE(a.is_done() || b.is_done());
  }
}

TEST(Handshake, NothingIsAcceptedAfterItsEnd) {
  Handshake a = client();
  Handshake b = server();
  const Talk record = talk(a, b);
  EXPECT_FALSE(b.receive(Kind::proof, record.said[2].body));

  Handshake failed = server();
  ASSERT_FALSE(failed.receive(Kind::proof, {}));
  EXPECT_FALSE(failed.receive(Kind::hello, client().start().body));
}

TEST(Handshake, ARefusalsTextIsMadeFitToBeShown) {
  Handshake a = client();
  std::vector<std::byte> body = bytes("?\x1b[31m\n");
  body[0] = static_cast<std::byte>(Code::internal);

  const auto step = a.receive(Kind::refuse, body);

  EXPECT_EQ(step.error().describe(), "unavailable: handshake: the peer refused: ?[31m?");
}

TEST(Proof, DerivesTheKeysOfRfc5869) {
  // Test case 1 of the RFC, the first 32 bytes of the output.
  std::vector<std::byte> secret(22, std::byte{0x0b});
  std::vector<std::byte> salt;
  for (int i = 0; i <= 0x0c; ++i) salt.push_back(static_cast<std::byte>(i));
  constexpr std::string_view kInfo = "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9";
  constexpr std::array<unsigned char, 32> kExpected = {
      0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a, 0x90, 0x43, 0x4f,
      0x64, 0xd0, 0x36, 0x2f, 0x2a, 0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a,
      0x5a, 0x4c, 0x5d, 0xb0, 0x2d, 0x56, 0xec, 0xc4, 0xc5, 0xbf};

  const Key key = derive_key(secret, salt, kInfo);

  EXPECT_TRUE(is_same(key, std::as_bytes(std::span(kExpected))));
  EXPECT_FALSE(is_same(key, std::as_bytes(std::span(kExpected)).first(31)));
}

}  // namespace
}  // namespace muster::net
