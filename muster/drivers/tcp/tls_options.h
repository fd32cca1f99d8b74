// What the tcp driver encrypts with.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "muster/net/token_source.h"

namespace muster::drivers {

// Either the token, which both ends know, or certificates. TLS 1.3 in any case,
// and both ends prove themselves.
struct TlsOptions {
  // A program gets them from net::find_tokens().
  std::shared_ptr<net::TokenSource> tokens = nullptr;

  // Files in PEM form. With them the token is not used here; links prove it
  // all the same. All three or none.
  std::string ca_file = {};           // Who is believed.
  std::string certificate_file = {};  // Our own, with what leads to the CA.
  std::string key_file = {};

  // Lets the kernel encrypt where it can; elsewhere it makes no difference.
  bool use_kernel = false;

  // Records that one key encrypts, of 16 KiB at most, before the next takes its place.
  // AES-GCM is safe for about 2^24.5 of them (RFC 8446, section 5.5).
  std::uint64_t records_per_key = std::uint64_t{1} << 22;
};

}  // namespace muster::drivers
