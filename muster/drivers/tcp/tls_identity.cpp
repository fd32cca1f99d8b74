#include "muster/drivers/tcp/tls_identity.h"

#include <charconv>
#include <span>

namespace muster::drivers::tcp {
namespace {

constexpr std::string_view kStart = "muster 1 client g";
constexpr std::string_view kSalt = "muster tls";
constexpr std::string_view kLabel = "muster tls 1: pre-shared key";
constexpr std::size_t kHalf = 16;  // Digits of half an id.

template <class T>
bool read_number(std::string_view text, int base, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string TlsIdentity::to_text() const {
  return std::string(kStart) + std::to_string(generation) + " " + sender.to_string();
}

std::optional<TlsIdentity> TlsIdentity::parse(std::string_view text) {
  if (!text.starts_with(kStart)) return std::nullopt;
  const std::string_view rest = text.substr(kStart.size());
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos || rest.size() != space + 1 + 2 * kHalf) return std::nullopt;
  TlsIdentity identity;
  const bool is_read = read_number(rest.substr(0, space), 10, identity.generation) &&
                       read_number(rest.substr(space + 1, kHalf), 16, identity.sender.high) &&
                       read_number(rest.substr(space + 1 + kHalf), 16, identity.sender.low);
  // One text for one identity.
  if (!is_read || identity.to_text() != text) return std::nullopt;
  return identity;
}

net::Key tls_key(const net::Token& token) {
  return net::derive_key(token.secret, std::as_bytes(std::span(kSalt)), kLabel);
}

}  // namespace muster::drivers::tcp
