// TokenSource: the tokens that count at this moment.
//
// Whoever begins a handshake asks anew, so that a token that was replaced takes
// effect without a restart.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "muster/net/token.h"

namespace muster::net {

// No more generations than this are accepted side by side.
inline constexpr std::size_t kMaxGenerations = 4;

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // The newest first; never empty, at most kMaxGenerations. Any thread.
  virtual std::vector<Token> accepted() = 0;
};

// Always the same. Code::invalid if there is none, or one below kMinToken.
Result<std::shared_ptr<TokenSource>> make_fixed_tokens(std::vector<Token> tokens);

}  // namespace muster::net
