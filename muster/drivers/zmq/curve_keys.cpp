#include "muster/drivers/zmq/curve_keys.h"

#include <span>
#include <string_view>

#include <zmq.h>

#include "muster/base/check.h"

namespace muster::drivers::zmq {
namespace {

constexpr std::string_view kSalt = "muster zmq";
constexpr std::string_view kServer = "muster zmq 1: server key";
constexpr std::string_view kClient = "muster zmq 1: client key";
constexpr std::size_t kText = 41;  // Z85 of 32 bytes, and its end.

KeyPair pair_of(const net::Key& secret) {
  KeyPair made{secret, {}};
  char text[kText];
  char open[kText];
  zmq_z85_encode(text, reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size());
  MUSTER_CHECK(zmq_curve_public(open, text) == 0, "libzmq has CURVE");
  zmq_z85_decode(reinterpret_cast<std::uint8_t*>(made.open.data()), open);
  return made;
}

KeyPair derive(const net::Token& token, std::string_view label) {
  return pair_of(net::derive_key(token.secret, std::as_bytes(std::span(kSalt)), label));
}

}  // namespace

CurveKeys curve_keys(const net::Token& token) {
  return {derive(token, kServer), derive(token, kClient)};
}

std::string domain_of(const net::Token& token) {
  return "muster " + std::to_string(token.generation);
}

}  // namespace muster::drivers::zmq
