// The handshake: two ends introduce themselves and prove that they know the
// token, each over all that both have said.
//
//   client  hello(nonce, versions, features, id, name, limits, generations)
//   server  answer(the same of its own, the version and the generation chosen,
//                  proof)
//   client  proof
//   server  welcome
//
// While a token is being replaced, an end may know several generations of it;
// the proofs are of the newest that both know.
//
// Either may answer with refuse(code, text) instead. Pure: bytes in, bytes
// out; randomness is passed in. docs/reference/wire.md has the tables.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/base/id.h"
#include "muster/base/result.h"
#include "muster/net/link_head.h"
#include "muster/net/proof.h"
#include "muster/net/token_source.h"

namespace muster::net {

inline constexpr std::size_t kMaxName = 64;
inline constexpr std::size_t kNonceSize = 32;
// No message of the handshake is larger; later versions may append to hello
// and answer within it.
inline constexpr std::size_t kMaxHandshake = 512;
// So that one message that goes whole fits even while a quarter is owed.
inline constexpr std::uint32_t kMinWindow = std::uint32_t{128} << 10;

using Nonce = std::array<std::byte, kNonceSize>;

struct VersionRange {
  std::uint8_t lowest = 1;
  std::uint8_t highest = 1;

  friend bool operator==(const VersionRange&, const VersionRange&) = default;
};

// What one end tells the other about itself.
struct Introduction {
  Id id;
  std::string name;  // At most kMaxName bytes.
  VersionRange versions;
  std::uint64_t features = 0;
  std::uint64_t max_body = 0;    // The largest body that it takes.
  std::uint32_t window = 0;      // Bytes that it lets wait, at least kMinWindow.
  std::uint32_t silence_ms = 0;  // It takes the other for lost after so much silence.

  friend bool operator==(const Introduction&, const Introduction&) = default;
};

class Handshake {
 public:
  enum class Role : std::uint8_t { client, server };
  struct Message {
    Kind kind;
    std::vector<std::byte> body;
  };

  // `tokens` are those that count now, the newest first. Code::invalid if one
  // is shorter than kMinToken, there is none or there are too many, or `me`
  // cannot be told. The tokens themselves are not kept.
  static Result<Handshake> make(Role role, std::span<const Token> tokens, const Introduction& me,
                                const Nonce& nonce);
  // The one token there is, of generation 0.
  static Result<Handshake> make(Role role, std::span<const std::byte> token, const Introduction& me,
                                const Nonce& nonce);

  // What the client says first.
  Message start() const;

  // Takes what the other end said; gives what to say next, if anything. An
  // error is final: refusal() then has what to tell the other end.
  Result<std::optional<Message>> receive(Kind kind, std::span<const std::byte> body);

  // Nothing if it was the other end that refused.
  const std::optional<Message>& refusal() const { return refusal_; }

  // True once the other end has proved itself, and knows that we have.
  bool is_done() const { return state_ == State::done; }

  // Of use once it is done.
  const Introduction& peer() const { return peer_; }
  std::uint8_t version() const { return version_; }
  std::uint64_t features() const { return peer_.features & me_.features; }
  // Of the token that was proved.
  std::uint32_t generation() const { return keys_[chosen_].generation; }

 private:
  enum class State : std::uint8_t {
    awaiting_hello,
    awaiting_answer,
    awaiting_proof,
    awaiting_welcome,
    done,
    failed,
  };
  using Step = Result<std::optional<Message>>;
  // What proves one generation.
  struct Keys {
    std::uint32_t generation;
    Key client;
    Key server;
  };

  Handshake() = default;
  Step dispatch(Kind kind, std::span<const std::byte> body);
  Step on_hello(std::span<const std::byte> body);
  Step on_answer(std::span<const std::byte> body);
  Step on_proof(std::span<const std::byte> body);
  Step on_welcome(std::span<const std::byte> body);
  std::vector<std::byte> introduction(VersionRange versions) const;
  Status choose(std::span<const std::byte> generations);

  State state_ = State::failed;
  Introduction me_;
  Introduction peer_;
  Nonce nonce_{};
  std::vector<Keys> keys_;  // The newest first.
  std::size_t chosen_ = 0;  // Of keys_.
  std::uint8_t version_ = 0;
  std::vector<std::byte> hello_;       // The client's.
  std::vector<std::byte> transcript_;  // All bodies so far, in order.
  std::optional<Message> refusal_;
};

}  // namespace muster::net
