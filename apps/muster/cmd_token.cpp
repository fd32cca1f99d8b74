// `muster token`: the secret that all members of a cluster know.

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/muster/commands.h"
#include "apps/muster/exit.h"
#include "muster/net/token_file.h"
#include "muster/net/token_search.h"

namespace muster::app {
namespace {

// Of --keep-old, in seconds: a century.
constexpr std::uint64_t kLongest = std::uint64_t{36'525} * 86'400;

struct Options {
  std::string file;
  std::uint64_t keep_old_s = 0;
};

Result<std::string> path_of(const Options& options) {
  MUSTER_TRY(net::TokenPlace place, net::find_token_place({.file = options.file}));
  if (!place.token) return place.file;
  return Error(Code::invalid, "the token comes from " + place.name +
                                  ", which cannot be replaced from here; unset it, or name a file");
}

// Says what happened, and nothing of the token itself.
Status make_new(const Options& options) {
  MUSTER_TRY(const std::string path, path_of(options));
  MUSTER_TRY(const net::TokenList list,
             net::rotate_token_file(path, std::chrono::seconds(options.keep_old_s)));
  fmt::print("token of generation {}, fingerprint {}, in {}\n", list.front().token.generation,
             list.front().token.fingerprint(), path);
  for (std::size_t i = 1; i < list.size(); ++i) {
    fmt::print("generation {} is accepted for {} more seconds\n", list[i].token.generation,
               list[i].until - net::unix_now());
  }
  return ok();
}

Status show(const Options& options) {
  MUSTER_TRY(const net::TokenPlace place, net::find_token_place({.file = options.file}));
  if (place.token) {
    fmt::print("{}\n", place.token->reveal());
    return ok();
  }
  MUSTER_TRY(const net::TokenList list, place.is_users_own
                                            ? net::read_or_make_token_file(place.file)
                                            : net::read_token_file(place.file));
  fmt::print("{}\n", list.front().token.reveal());
  return ok();
}

}  // namespace

void add_token(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<Options>();
  auto* token = app.add_subcommand("token", "The secret that all members of a cluster know");
  token->require_subcommand(1);
  auto* made = token->add_subcommand("new", "Make a token, or replace it by the next generation");
  made->add_option("--keep-old", options->keep_old_s,
                   "How long the one before is still accepted, such as 90s, 30m, 24h, 7d")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, std::uint64_t>{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}},
          CLI::AsNumberWithUnit::CASE_SENSITIVE))
      ->check(CLI::Range(std::uint64_t{0}, kLongest));
  auto* shown = token->add_subcommand("show", "Print the token, for a machine that shall join");
  for (auto* cmd : {made, shown}) {
    cmd->add_option("--file", options->file, "The token file, if not the user's own");
  }
  made->callback([options, &exit] { exit.with(make_new(*options)); });
  shown->callback([options, &exit] { exit.with(show(*options)); });
}

}  // namespace muster::app
