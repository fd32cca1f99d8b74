// TlsCipher: AES-128-GCM for the records of one direction. Pure.
//
// Two libraries have it. OpenSSL is always there. Intel's ipsec-mb, where it was there
// when Muster was built, uses the wide instructions of newer processors, and takes a
// tenth of the time to begin a record (docs/decisions/0027).

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace muster::drivers::tcp {

class TlsCipher {
 public:
  static constexpr std::size_t kKey = 16;
  static constexpr std::size_t kNonce = 12;
  static constexpr std::size_t kTag = 16;
  enum class Use : bool { seal, open };

  virtual ~TlsCipher() = default;

  virtual void set_key(std::span<const std::byte, kKey> key) = 0;

  // One record: begin() once, pass() for each run of its bytes, then one of the ends.
  // `header` is not encrypted, but cannot be changed, either.
  virtual void begin(std::span<const std::byte, kNonce> nonce,
                     std::span<const std::byte> header) = 0;
  // Encrypts, or decrypts, `size` bytes. Both may be the same place.
  virtual void pass(const std::byte* from, std::byte* to, std::size_t size) = 0;
  virtual void end_sealed(std::span<std::byte, kTag> tag) = 0;
  // False: the record is not genuine.
  virtual bool end_opened(std::span<const std::byte, kTag> tag) = 0;
};

std::unique_ptr<TlsCipher> make_openssl_cipher(TlsCipher::Use use);
// Null if this build has no ipsec-mb, or the processor no instructions for AES.
std::unique_ptr<TlsCipher> make_ipsec_mb_cipher(TlsCipher::Use use);
// The faster of those that there are.
std::unique_ptr<TlsCipher> make_tls_cipher(TlsCipher::Use use);

}  // namespace muster::drivers::tcp
