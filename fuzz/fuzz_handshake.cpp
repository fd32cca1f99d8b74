// A stranger's side of the handshake, at every state of either end: nothing it
// says lets it in, and an end that has failed stays so.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "muster/base/check.h"
#include "muster/net/handshake.h"

namespace {

using namespace muster;
using net::Handshake;
using net::Kind;

net::Introduction introduction(const char* name) {
  return {.id = {1, 2},
          .name = name,
          .versions = {1, 3},
          .features = 6,
          .max_body = 1 << 20,
          .window = net::kMinWindow,
          .silence_ms = 2800};
}

Handshake make(Handshake::Role role) {
  const std::array<net::Token, 2> tokens = {
      net::Token{2, std::vector<std::byte>(32, std::byte{0x22})},
      net::Token{1, std::vector<std::byte>(32, std::byte{0x11})}};
  const bool is_client = role == Handshake::Role::client;
  net::Nonce nonce{};
  nonce.fill(is_client ? std::byte{0xC1} : std::byte{0x5E});
  return *Handshake::make(role, tokens, introduction(is_client ? "client" : "server"), nonce);
}

// The four states in which an end waits for something.
enum class Start : std::uint8_t { server, client, server_asked, client_answered };

Handshake begin(Start start) {
  if (start == Start::server) return make(Handshake::Role::server);
  Handshake client = make(Handshake::Role::client);
  if (start == Start::client) return client;
  Handshake server = make(Handshake::Role::server);
  const auto answer = server.receive(Kind::hello, client.start().body);
  if (start == Start::server_asked) return server;
  MUSTER_CHECK(client.receive(Kind::answer, (*answer)->body), "honest ends agree");
  return client;
}

}  // namespace

// A byte for the start, then messages: kind, size in two bytes, body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span input(reinterpret_cast<const std::byte*>(data), size);
  if (input.empty()) return 0;
  const auto start = static_cast<Start>(std::to_integer<int>(input[0]) % 4);
  input = input.subspan(1);
  Handshake end = begin(start);
  bool has_failed = false;
  while (input.size() >= 3) {
    const auto kind = static_cast<Kind>(input[0]);
    const std::size_t said =
        std::to_integer<std::size_t>(input[1]) + 256 * std::to_integer<std::size_t>(input[2]);
    input = input.subspan(3);
    const auto body = input.first(std::min(said, input.size()));
    input = input.subspan(body.size());
    const auto step = end.receive(kind, body);
    MUSTER_CHECK(!has_failed || !step, "what has failed stays so");
    has_failed |= !step.has_value();
    if (step && *step) {
      MUSTER_CHECK((*step)->body.size() <= net::kMaxHandshake, "an answer within the limit");
    }
    if (end.refusal()) {
      MUSTER_CHECK(end.refusal()->body.size() <= net::kMaxHandshake, "a refusal within the limit");
    }
    // Only a client to whom the server has proved itself can be done: by a welcome.
    MUSTER_CHECK(!end.is_done() || start == Start::client_answered, "no stranger is let in");
  }
  return 0;
}
