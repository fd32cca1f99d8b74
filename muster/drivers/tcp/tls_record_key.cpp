#include "muster/drivers/tcp/tls_record_key.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "muster/base/check.h"
#include "muster/net/proof.h"

namespace muster::drivers::tcp {
namespace {

constexpr std::size_t kKey = 16;

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

// HKDF-Expand-Label (RFC 8446, section 7.1) without context: one block is enough.
net::Key expand(const TrafficSecret& secret, std::string_view label, std::size_t size) {
  const std::string full = "tls13 " + std::string(label);
  std::vector<std::byte> info = {std::byte{0}, static_cast<std::byte>(size),
                                 static_cast<std::byte>(full.size())};
  for (const char letter : full) info.push_back(static_cast<std::byte>(letter));
  info.push_back(std::byte{0});  // No context.
  info.push_back(std::byte{1});  // The first block.
  return net::hmac(secret, info);
}

template <class Bytes>
void wipe(Bytes& bytes) {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

}  // namespace

void TlsRecordKey::FreeCipher::operator()(evp_cipher_ctx_st* cipher) const {
  EVP_CIPHER_CTX_free(cipher);
}

TlsRecordKey::TlsRecordKey(const TrafficSecret& secret, Use use)
    : cipher_(EVP_CIPHER_CTX_new()), secret_(secret), use_(use) {
  MUSTER_CHECK(cipher_ != nullptr, "there is memory for a key");
  take_up();
}

TlsRecordKey::~TlsRecordKey() {
  wipe(secret_);
  wipe(mask_);
}

void TlsRecordKey::take_up() {
  net::Key key = expand(secret_, "key", kKey);
  net::Key mask = expand(secret_, "iv", kNonce);
  std::copy_n(mask.begin(), kNonce, mask_.begin());
  const int is_set = EVP_CipherInit_ex(cipher_.get(), EVP_aes_128_gcm(), nullptr, raw(key.data()),
                                       nullptr, use_ == Use::seal ? 1 : 0);
  MUSTER_CHECK(is_set == 1, "libcrypto has AES-128-GCM");
  wipe(key);
  wipe(mask);
  number_ = 0;
}

void TlsRecordKey::advance() {
  net::Key next = expand(secret_, "traffic upd", secret_.size());
  secret_ = next;
  wipe(next);
  take_up();
}

// Each record has a nonce of its own.
void TlsRecordKey::start() {
  std::array<std::byte, kNonce> nonce = mask_;
  for (std::size_t i = 0; i < sizeof number_; ++i) {
    nonce[kNonce - 1 - i] ^= static_cast<std::byte>(number_ >> (8 * i));
  }
  ++number_;
  MUSTER_CHECK(number_ != 0, "a key does not encrypt 2^64 records");
  const int is_set =
      EVP_CipherInit_ex(cipher_.get(), nullptr, nullptr, nullptr, raw(nonce.data()), -1);
  MUSTER_CHECK(is_set == 1, "a nonce can be set");
}

std::size_t TlsRecordKey::seal(std::span<const std::byte> content, RecordType type,
                               std::byte* out) {
  const std::size_t inner = content.size() + 1;
  const std::size_t length = inner + kRecordTag;
  out[0] = static_cast<std::byte>(RecordType::data);  // Whatever is inside.
  out[1] = std::byte{3};
  out[2] = std::byte{3};
  out[3] = static_cast<std::byte>(length >> 8);
  out[4] = static_cast<std::byte>(length);
  std::byte* const sealed = out + kRecordHeader;
  EVP_CIPHER_CTX* const cipher = cipher_.get();
  start();
  int count = 0;
  bool is_done = EVP_CipherUpdate(cipher, nullptr, &count, raw(out), kRecordHeader) == 1;
  if (content.data() == sealed) {
    sealed[content.size()] = static_cast<std::byte>(type);
    is_done &=
        EVP_CipherUpdate(cipher, raw(sealed), &count, raw(sealed), static_cast<int>(inner)) == 1;
  } else {
    const std::byte last = static_cast<std::byte>(type);
    is_done &= EVP_CipherUpdate(cipher, raw(sealed), &count, raw(content.data()),
                                static_cast<int>(content.size())) == 1;
    is_done &= EVP_CipherUpdate(cipher, raw(sealed + content.size()), &count, raw(&last), 1) == 1;
  }
  is_done &= EVP_CipherFinal_ex(cipher, raw(sealed + inner), &count) == 1;
  is_done &= EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(kRecordTag),
                                 sealed + inner) == 1;
  MUSTER_CHECK(is_done, "AES-128-GCM encrypts whatever it is given");
  return kRecordHeader + length;
}

bool TlsRecordKey::open(std::span<const std::byte> record, std::byte* into, std::byte& last) {
  const std::size_t inner = record.size() - kRecordHeader - kRecordTag;
  const std::byte* const sealed = record.data() + kRecordHeader;
  EVP_CIPHER_CTX* const cipher = cipher_.get();
  start();
  int count = 0;
  std::byte nowhere{};
  auto* const tag = const_cast<std::byte*>(sealed + inner);  // Only read.
  return EVP_CipherUpdate(cipher, nullptr, &count, raw(record.data()), kRecordHeader) == 1 &&
         (inner == 1 || EVP_CipherUpdate(cipher, raw(into), &count, raw(sealed),
                                         static_cast<int>(inner - 1)) == 1) &&
         EVP_CipherUpdate(cipher, raw(&last), &count, raw(sealed + inner - 1), 1) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(kRecordTag), tag) ==
             1 &&
         EVP_CipherFinal_ex(cipher, raw(&nowhere), &count) == 1;
}

}  // namespace muster::drivers::tcp
