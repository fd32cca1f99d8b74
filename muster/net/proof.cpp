#include "muster/net/proof.h"

#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "muster/base/check.h"

namespace muster::net {
namespace {

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Proof hmac(std::span<const std::byte> key, std::span<const std::byte> message) {
  Proof proof{};
  unsigned int size = 0;
  const unsigned char* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(message), message.size(),
           reinterpret_cast<unsigned char*>(proof.data()), &size);
  MUSTER_CHECK(made != nullptr && size == proof.size(), "libcrypto has HMAC-SHA256");
  return proof;
}

Key derive_key(std::span<const std::byte> secret, std::span<const std::byte> salt,
               std::string_view label) {
  const Key extracted = hmac(salt, secret);
  const std::span<const std::byte> text = std::as_bytes(std::span(label));
  std::vector<std::byte> block(text.begin(), text.end());
  block.push_back(std::byte{1});
  return hmac(extracted, block);
}

bool is_same(const Proof& proof, std::span<const std::byte> other) {
  return other.size() == proof.size() &&
         CRYPTO_memcmp(proof.data(), other.data(), proof.size()) == 0;
}

}  // namespace muster::net
