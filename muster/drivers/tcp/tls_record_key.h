// TlsRecordKey: what encrypts, or decrypts, the records of one direction of a TLS 1.3
// connection (RFC 8446, sections 5.2, 5.3 and 7.2) with AES-128-GCM. Pure.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "muster/drivers/tcp/tls_cipher.h"

namespace muster::drivers::tcp {

// The most content that TLS puts into one record.
inline constexpr std::size_t kRecord = std::size_t{16} << 10;
inline constexpr std::size_t kRecordHeader = 5;
inline constexpr std::size_t kRecordTag = TlsCipher::kTag;
// A record of kRecord bytes, as we write it: with its type, and without padding.
inline constexpr std::size_t kSealedRecord = kRecordHeader + kRecord + 1 + kRecordTag;
// The longest that a peer may send.
inline constexpr std::size_t kLongestRecord = kRecordHeader + kRecord + 256;

enum class RecordType : std::uint8_t { alert = 21, handshake = 22, data = 23 };

// Both ends know it, for each direction, once they have shaken hands.
using TrafficSecret = std::array<std::byte, 32>;

class TlsRecordKey {
 public:
  using Use = TlsCipher::Use;

  TlsRecordKey(const TrafficSecret& secret, Use use) : TlsRecordKey(secret, make_tls_cipher(use)) {}
  // By a certain cipher, for tests.
  TlsRecordKey(const TrafficSecret& secret, std::unique_ptr<TlsCipher> cipher);
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
  void take_up();
  void begin(const std::byte* header);

  std::unique_ptr<TlsCipher> cipher_;
  TrafficSecret secret_;
  std::array<std::byte, TlsCipher::kNonce> mask_{};
  std::uint64_t number_ = 0;  // Of the next record. None is ever used twice with one key.
};

}  // namespace muster::drivers::tcp
