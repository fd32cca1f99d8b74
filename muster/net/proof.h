// Proofs that a token is known, without showing it: HMAC-SHA256 under keys
// that HKDF (RFC 5869) makes of the token, one per label. Pure.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace muster::net {

inline constexpr std::size_t kProofSize = 32;
using Proof = std::array<std::byte, kProofSize>;
using Key = std::array<std::byte, kProofSize>;

Proof hmac(std::span<const std::byte> key, std::span<const std::byte> message);

// The first 32 bytes of HKDF-SHA256 over `secret`.
Key derive_key(std::span<const std::byte> secret, std::span<const std::byte> salt,
               std::string_view label);

// In a time that does not depend on where they differ.
bool is_same(const Proof& proof, std::span<const std::byte> other);

}  // namespace muster::net
