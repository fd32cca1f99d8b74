// TlsRecordKey: what encrypts, or decrypts, the records of one direction of a TLS 1.3
// connection (RFC 8446, sections 5.2, 5.3 and 7.2) with AES-128-GCM. Pure.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX.

namespace muster::drivers::tcp {

// The most content that TLS puts into one record.
inline constexpr std::size_t kRecord = std::size_t{16} << 10;
inline constexpr std::size_t kRecordHeader = 5;
inline constexpr std::size_t kRecordTag = 16;
// A record of kRecord bytes, as we write it: with its type, and without padding.
inline constexpr std::size_t kSealedRecord = kRecordHeader + kRecord + 1 + kRecordTag;
// The longest that a peer may send.
inline constexpr std::size_t kLongestRecord = kRecordHeader + kRecord + 256;

enum class RecordType : std::uint8_t { alert = 21, handshake = 22, data = 23 };

// Both ends know it, for each direction, once they have shaken hands.
using TrafficSecret = std::array<std::byte, 32>;

class TlsRecordKey {
 public:
  enum class Use : std::uint8_t { seal, open };

  TlsRecordKey(const TrafficSecret& secret, Use use);
  ~TlsRecordKey();
  TlsRecordKey(const TlsRecordKey&) = delete;
  TlsRecordKey& operator=(const TlsRecordKey&) = delete;

  // Writes the next record to `out`, which has room for kSealedRecord; how long it
  // is. At most kRecord bytes of content, which may lie at `out + kRecordHeader`.
  std::size_t seal(std::span<const std::byte> content, RecordType type, std::byte* out);

  // Decrypts the next record, a whole one with its header and at least one byte besides
  // the tag. All but the last of these bytes go to `into`, the last to `last`. False if
  // it is not genuine: what lies there then means nothing.
  bool open(std::span<const std::byte> record, std::byte* into, std::byte& last);

  // Goes on with the key that follows this one.
  void advance();

 private:
  static constexpr std::size_t kNonce = 12;
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* cipher) const;
  };

  void take_up();
  void start();

  std::unique_ptr<evp_cipher_ctx_st, FreeCipher> cipher_;
  TrafficSecret secret_;
  std::array<std::byte, kNonce> mask_{};
  std::uint64_t number_ = 0;  // Of the next record. None is ever used twice with one key.
  Use use_;
};

}  // namespace muster::drivers::tcp
