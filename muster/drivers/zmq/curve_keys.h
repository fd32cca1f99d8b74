// CurveKeys: the two key pairs that a token stands for.
//
// All who listen have one pair, all who dial the other, so that nothing that
// one side says can be sent back to it and be believed.

#pragma once

#include <string>

#include "muster/net/proof.h"
#include "muster/net/token.h"

namespace muster::drivers::zmq {

struct KeyPair {
  net::Key secret{};
  net::Key open{};  // The public half.
};

struct CurveKeys {
  KeyPair server;
  KeyPair client;
};

CurveKeys curve_keys(const net::Token& token);

// "muster 3": what a listener calls the generation that it serves when it asks
// who may come in.
std::string domain_of(const net::Token& token);

}  // namespace muster::drivers::zmq
