// The file that holds the token: readable by its owner only, replaced whole.
//
// One line per generation, the newest first; an older one says until when it is
// accepted, in seconds since 1970:
//
//   muster-token-2-...
//   muster-token-1-...  until 1767225600
//
// Nothing here ever says what a token is.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/net/token.h"
#include "muster/net/token_source.h"

namespace muster::net {

// Seconds since 1970.
using UnixTime = std::int64_t;
UnixTime unix_now();

struct KeptToken {
  static constexpr UnixTime kForever = INT64_MAX;
  Token token;
  UnixTime until = kForever;  // Accepted before this moment.

  friend bool operator==(const KeptToken&, const KeptToken&) = default;
};
// The newest first, and that one without an end.
using TokenList = std::vector<KeptToken>;

// What a file holds. Pure.
Result<TokenList> parse_token_list(std::string_view text);
std::string reveal_token_list(const TokenList& list);
// The one that follows: a new token in front, those still accepted behind it,
// the one before for `keep_old` more. Pure.
TokenList rotate_tokens(const TokenList& list, Token next, UnixTime now,
                        std::chrono::seconds keep_old);
// Those of `list` that are accepted at `now`.
std::vector<Token> accepted_at(const TokenList& list, UnixTime now);

// Code::not_found if there is none; Code::invalid if others could read it, it
// belongs to somebody else, or it is no token file.
Result<TokenList> read_token_file(const std::string& path);

// Reads it, or makes it with a first token if there is none. Of several who
// make it at once, one does, and all have its token.
Result<TokenList> read_or_make_token_file(const std::string& path);

// Replaces the token by the next generation, or makes the first. Code::invalid
// as above.
Result<TokenList> rotate_token_file(const std::string& path, std::chrono::seconds keep_old,
                                    UnixTime now = unix_now());

// The tokens of a file, read again whenever it has changed. A change that
// cannot be read is logged, and what was known goes on to count.
Result<std::shared_ptr<TokenSource>> make_token_file_source(
    const std::string& path, std::function<UnixTime()> clock = unix_now);

}  // namespace muster::net
