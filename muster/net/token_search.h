// Where the token is found: the same rules for every program of ours.
//
// 1. what the program was told (TokenOptions);
// 2. the environment: MUSTER_TOKEN, the token's text, or else MUSTER_TOKEN_FILE,
//    the path of a token file;
// 3. the user's own file, $XDG_CONFIG_HOME/muster/token, which is
//    ~/.config/muster/token unless told otherwise. Made on first use.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "muster/base/result.h"
#include "muster/net/token_source.h"

namespace muster::net {

struct TokenOptions {
  std::optional<Token> token = {};
  std::string file = {};
};

// What an environment says of a name.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

// The user's own file.
Result<std::string> user_token_path(const Environment& environment = process_environment);

// Where a token comes from, for people: "MUSTER_TOKEN" or a path.
struct TokenPlace {
  std::optional<Token> token;  // Else it is in `file`.
  std::string file;
  std::string name;
  bool is_users_own = false;  // The file may be made.
};
Result<TokenPlace> find_token_place(const TokenOptions& options = {},
                                    const Environment& environment = process_environment);

// By these rules. Code::not_found if a file was named that is not there.
Result<std::shared_ptr<TokenSource>> find_tokens(
    const TokenOptions& options = {}, const Environment& environment = process_environment);

}  // namespace muster::net
