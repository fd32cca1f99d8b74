#include "muster/drivers/tcp/tls_record_key.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/crypto.h>

#include "muster/base/check.h"
#include "muster/net/proof.h"

namespace muster::drivers::tcp {
namespace {

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

TlsRecordKey::TlsRecordKey(const TrafficSecret& secret, std::unique_ptr<TlsCipher> cipher)
    : cipher_(std::move(cipher)), secret_(secret) {
  take_up();
}

TlsRecordKey::~TlsRecordKey() {
  wipe(secret_);
  wipe(mask_);
}

void TlsRecordKey::take_up() {
  net::Key key = expand(secret_, "key", TlsCipher::kKey);
  net::Key mask = expand(secret_, "iv", mask_.size());
  std::copy_n(mask.begin(), mask_.size(), mask_.begin());
  cipher_->set_key(std::span(key).first<TlsCipher::kKey>());
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
void TlsRecordKey::begin(const std::byte* header) {
  auto nonce = mask_;
  for (std::size_t i = 0; i < sizeof number_; ++i) {
    nonce[nonce.size() - 1 - i] ^= static_cast<std::byte>(number_ >> (8 * i));
  }
  ++number_;
  MUSTER_CHECK(number_ != 0, "a key does not encrypt 2^64 records");
  cipher_->begin(nonce, {header, kRecordHeader});
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
  begin(out);
  if (content.data() == sealed) {
    sealed[content.size()] = static_cast<std::byte>(type);
    cipher_->pass(sealed, sealed, inner);
  } else {
    const std::byte last = static_cast<std::byte>(type);
    cipher_->pass(content.data(), sealed, content.size());
    cipher_->pass(&last, sealed + content.size(), 1);
  }
  cipher_->end_sealed(std::span<std::byte, kRecordTag>(sealed + inner, kRecordTag));
  return kRecordHeader + length;
}

bool TlsRecordKey::open(std::span<const std::byte> record, std::byte* into, std::byte& last) {
  const std::byte* const sealed = record.data() + kRecordHeader;
  const std::size_t inner = record.size() - kRecordHeader - kRecordTag;
  begin(record.data());
  cipher_->pass(sealed, into, inner - 1);
  cipher_->pass(sealed + inner - 1, &last, 1);
  return cipher_->end_opened(record.last<kRecordTag>());
}

}  // namespace muster::drivers::tcp
