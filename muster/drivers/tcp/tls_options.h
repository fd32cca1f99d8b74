// What the tcp driver encrypts with.

#pragma once

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
};

}  // namespace muster::drivers
