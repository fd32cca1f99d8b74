#include <charconv>
#include <optional>

#include "muster/registries/redis/redis.h"

namespace muster::registries {
namespace {

Error bad_url(const char* why) {
  return Error(Code::invalid, std::string("read a Redis URL: ") + why +
                                  "; write redis://[user[:password]@]host[:port][/database]");
}

std::optional<int> digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto high = i + 1 < text.size() ? digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? digit(text[i + 2]) : std::nullopt;
    if (!high || !low) return bad_url("a % is not followed by two hexadecimal digits");
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

Result<int> number(std::string_view text, int least, int most, const char* why) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return bad_url(why);
  }
  return value;
}

Status read_user(std::string_view text, RedisOptions& options) {
  const std::size_t colon = text.find(':');
  MUSTER_TRY(options.username, unescape(text.substr(0, colon)));
  if (colon != std::string_view::npos) {
    MUSTER_TRY(options.password, unescape(text.substr(colon + 1)));
  }
  return ok();
}

Status read_host(std::string_view text, RedisOptions& options) {
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return bad_url("a [ is not closed");
    options.host = text.substr(1, end - 1);
    ++end;
    if (end < text.size() && text[end] != ':') return bad_url("a port begins with a colon");
  } else {
    options.host = text.substr(0, end);
  }
  if (options.host.empty()) return bad_url("the host is missing");
  if (end < text.size()) {
    MUSTER_TRY(const int port, number(text.substr(end + 1), 1, 65535, "a port is 1 to 65535"));
    options.port = static_cast<std::uint16_t>(port);
  }
  return ok();
}

}  // namespace

Result<RedisOptions> RedisOptions::parse(std::string_view url) {
  RedisOptions options;
  if (url.starts_with("rediss://")) {
    options.tls.is_on = true;
    url.remove_prefix(9);
  } else if (url.starts_with("redis://")) {
    url.remove_prefix(8);
  } else {
    return bad_url("it begins with neither redis:// nor rediss://");
  }
  if (url.find_first_of("?#") != std::string_view::npos) return bad_url("it has a query");
  if (const std::size_t slash = url.find('/'); slash != std::string_view::npos) {
    if (const std::string_view database = url.substr(slash + 1); !database.empty()) {
      MUSTER_TRY(options.database, number(database, 0, 1'000'000, "the database is a number"));
    }
    url = url.substr(0, slash);
  }
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
    MUSTER_TRY_OK(read_user(url.substr(0, at), options));
    url.remove_prefix(at + 1);
  }
  MUSTER_TRY_OK(read_host(url, options));
  return options;
}

}  // namespace muster::registries
