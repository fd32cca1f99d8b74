// What a token file holds.

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "muster/net/token_file.h"

namespace muster::net {
namespace {

constexpr std::string_view kUntil = "  until ";
constexpr std::string_view kComment =
    "# A muster token. Whoever reads this is a member: keep it to yourself.\n";

Error bad_line(int line, std::string_view why) {
  return {Code::invalid, fmt::format("line {}: {}", line, why)};
}

Result<KeptToken> parse_line(std::string_view line, int number) {
  KeptToken kept;
  const std::size_t mark = line.find(kUntil);
  Result<Token> token = Token::parse(line.substr(0, mark));
  if (!token) return bad_line(number, token.error().message());
  kept.token = *std::move(token);
  if (mark == std::string_view::npos) return kept;
  const std::string_view time = line.substr(mark + kUntil.size());
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), kept.until);
  if (error != std::errc() || end != time.data() + time.size()) {
    return bad_line(number, "the time after \"until\" is no number");
  }
  return kept;
}

}  // namespace

Result<TokenList> parse_token_list(std::string_view text) {
  TokenList list;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    MUSTER_TRY(KeptToken kept, parse_line(line, number));
    const bool is_first = list.empty();
    if (is_first != (kept.until == KeptToken::kForever)) {
      return bad_line(number, "only the first token, and just that, has no end");
    }
    if (!is_first && kept.token.generation >= list.back().token.generation) {
      return bad_line(number, "the generations do not count down");
    }
    if (list.size() == kMaxGenerations) return bad_line(number, "too many generations");
    list.push_back(std::move(kept));
  }
  if (list.empty()) return Error(Code::invalid, "there is no token in it");
  return list;
}

std::string reveal_token_list(const TokenList& list) {
  std::string text(kComment);
  for (const KeptToken& kept : list) {
    text += kept.token.reveal();
    if (kept.until != KeptToken::kForever) text += fmt::format("{}{}", kUntil, kept.until);
    text += '\n';
  }
  return text;
}

TokenList rotate_tokens(const TokenList& list, Token next, UnixTime now,
                        std::chrono::seconds keep_old) {
  TokenList rotated{{std::move(next)}};
  const UnixTime longest = KeptToken::kForever - 1 - now;
  const UnixTime end = now + std::clamp<UnixTime>(keep_old.count(), 0, longest);
  for (const KeptToken& kept : list) {
    const UnixTime until = std::min(kept.until, end);
    if (until <= now || rotated.size() == kMaxGenerations) continue;
    rotated.push_back({kept.token, until});
  }
  return rotated;
}

std::vector<Token> accepted_at(const TokenList& list, UnixTime now) {
  std::vector<Token> accepted;
  for (const KeptToken& kept : list) {
    if (now < kept.until) accepted.push_back(kept.token);
  }
  return accepted;
}

}  // namespace muster::net
