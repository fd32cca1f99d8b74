#include "muster/net/token_search.h"

#include <array>
#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

#include "muster/net/token_file.h"

namespace muster::net {
namespace {

Result<std::string> home(const Environment& environment) {
  if (const auto told = environment("HOME"); told && told->starts_with('/')) return *told;
  std::array<char, 4096> space;
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, space.data(), space.size(), &found);
  if (found == nullptr || entry.pw_dir == nullptr || entry.pw_dir[0] != '/') {
    return Error(Code::not_found, "this user has no home; set MUSTER_TOKEN_FILE")
        .during("find the token");
  }
  return std::string(entry.pw_dir);
}

// Paths are told in errors and logs, so that one slip would tell the token.
Result<TokenPlace> at_file(std::string path) {
  if (Token::is_like(path)) {
    return Error(Code::invalid,
                 "a token stands where the path of its file should; say it by "
                 "MUSTER_TOKEN, and replace it if it may have been seen")
        .during("find the token");
  }
  TokenPlace place;
  place.name = path;
  place.file = std::move(path);
  return place;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<std::string> user_token_path(const Environment& environment) {
  if (const auto config = environment("XDG_CONFIG_HOME"); config && config->starts_with('/')) {
    return *config + "/muster/token";
  }
  MUSTER_TRY(const std::string folder, home(environment));
  return folder + "/.config/muster/token";
}

Result<TokenPlace> find_token_place(const TokenOptions& options, const Environment& environment) {
  if (options.token) {
    TokenPlace place;
    place.token = options.token;
    place.name = "the program's own";
    return place;
  }
  if (!options.file.empty()) return at_file(options.file);
  if (const auto text = environment("MUSTER_TOKEN")) {
    Result<Token> token = Token::parse(*text);
    if (!token) return std::move(token).error().during("MUSTER_TOKEN");
    TokenPlace place;
    place.token = *std::move(token);
    place.name = "MUSTER_TOKEN";
    return place;
  }
  if (const auto path = environment("MUSTER_TOKEN_FILE")) return at_file(*path);
  MUSTER_TRY(std::string own, user_token_path(environment));
  MUSTER_TRY(TokenPlace place, at_file(std::move(own)));
  place.is_users_own = true;
  return place;
}

Result<std::shared_ptr<TokenSource>> find_tokens(const TokenOptions& options,
                                                 const Environment& environment) {
  MUSTER_TRY(TokenPlace place, find_token_place(options, environment));
  if (place.token) return make_fixed_tokens({*std::move(place.token)});
  if (place.is_users_own) {
    if (const auto list = read_or_make_token_file(place.file); !list) return list.error();
  }
  auto source = make_token_file_source(place.file);
  if (!source && source.error().code() == Code::not_found) {
    return Error(
        Code::not_found,
        source.error().message() + "; make one with `muster token new --file " + place.file + "`");
  }
  return source;
}

}  // namespace muster::net
