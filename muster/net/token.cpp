#include "muster/net/token.h"

#include <algorithm>
#include <charconv>
#include <ostream>
#include <span>

#include <fmt/format.h>

#include "muster/net/proof.h"
#include "muster/wire/bytes.h"

namespace muster::net {
namespace {

constexpr std::string_view kPrefix = "muster-token-";
constexpr std::size_t kCheckDigits = 8;
constexpr std::string_view kCheckLabel = "muster token 1: checksum";
constexpr std::string_view kPrintLabel = "muster token 1: fingerprint";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

// Against slips of the hand, not against forgers.
std::string checksum(std::string_view text) {
  return hex(hmac(bytes_of(kCheckLabel), bytes_of(text))).substr(0, kCheckDigits);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

template <class T>
bool read_number(std::string_view text, int base, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

Error bad_token(std::string_view why) {
  return Error(Code::invalid, std::string(why)).during("read a token");
}

}  // namespace

Token Token::random(std::uint32_t generation, const std::function<std::uint64_t()>& bits) {
  Token token{generation, std::vector<std::byte>(kTokenSize)};
  for (std::size_t i = 0; i < kTokenSize; i += 8) wire::store(&token.secret[i], bits());
  return token;
}

std::string Token::reveal() const {
  const std::string text = fmt::format("{}{}-{}", kPrefix, generation, hex(secret));
  return text + "-" + checksum(text);
}

bool Token::is_like(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with(kPrefix)) return false;
  const std::size_t secret_at =
      std::min(text.find_first_not_of("0123456789", kPrefix.size()), text.size());
  const std::string_view secret = text.substr(std::min(secret_at + 1, text.size()));
  const std::size_t digits =
      std::min(secret.find_first_not_of("0123456789abcdefABCDEF"), secret.size());
  return digits >= kCheckDigits;
}

Result<Token> Token::parse(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with(kPrefix)) {
    return bad_token("it does not begin with muster-token-; `muster token show` prints one");
  }
  const std::size_t check_at = text.rfind('-');
  const std::size_t secret_at = text.find('-', kPrefix.size());
  if (secret_at == std::string_view::npos || check_at == secret_at)
    return bad_token("a piece is missing");
  if (text.substr(check_at + 1) != checksum(text.substr(0, check_at))) {
    return bad_token("its checksum is wrong; was it copied whole?");
  }
  Token token;
  if (!read_number(text.substr(kPrefix.size(), secret_at - kPrefix.size()), 10, token.generation)) {
    return bad_token("its generation is no number");
  }
  const std::string_view digits = text.substr(secret_at + 1, check_at - secret_at - 1);
  if (digits.size() != 2 * kTokenSize) return bad_token("it is of another length");
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    std::uint8_t byte = 0;
    if (!read_number(digits.substr(i, 2), 16, byte))
      return bad_token("it has a letter out of place");
    token.secret.push_back(std::byte{byte});
  }
  return token;
}

std::string Token::fingerprint() const {
  return hex(derive_key(secret, bytes_of("muster token"), kPrintLabel)).substr(0, 8);
}

void PrintTo(const Token& token, std::ostream* out) {
  *out << "token of generation " << token.generation << ", fingerprint " << token.fingerprint();
}

}  // namespace muster::net
