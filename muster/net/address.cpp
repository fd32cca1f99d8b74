#include "muster/net/address.h"

#include <charconv>

namespace muster::net {
namespace {

Error bad_address(std::string_view text, std::string_view why) {
  return Error(Code::invalid, std::string(why))
      .during("read the address \"" + std::string(text) + "\"");
}

// The others have names only.
bool has_ports(std::string_view scheme) {
  return scheme == "tcp" || scheme == "zmq" || scheme == "ucx";
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error(Code::invalid, "\"" + std::string(text) + "\" is not a port");
  }
  return port;
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) {
    return bad_address(text, "a scheme is missing; write for example tcp://127.0.0.1:7000");
  }
  Address address;
  address.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  if (!has_ports(address.scheme)) {
    if (rest.empty()) return bad_address(text, "a name is missing after ://");
    address.host = rest;
    return address;
  }
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    address.options = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
    if (address.options.empty()) return bad_address(text, "an option is missing after ?");
  }
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return bad_address(text, "a ] is missing");
    address.host = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  } else {
    const std::size_t end = rest.rfind(':');
    if (end == std::string_view::npos) return bad_address(text, "a port is missing");
    address.host = rest.substr(0, end);
    if (address.host.find(':') != std::string::npos) {
      return bad_address(text, "an IPv6 host stands in brackets: [::1]");
    }
    rest.remove_prefix(end);
  }
  if (address.host.empty()) return bad_address(text, "a host is missing");
  if (address.host.find_first_of("[]") != std::string::npos) {
    return bad_address(text, "a host has no brackets inside");
  }
  if (!rest.starts_with(':')) return bad_address(text, "a port is missing");
  rest.remove_prefix(1);
  const std::size_t dash = rest.find('-');
  const Result<std::uint16_t> first = parse_port(rest.substr(0, dash));
  if (!first) return bad_address(text, first.error().message());
  const Result<std::uint16_t> last =
      dash == std::string_view::npos ? first : parse_port(rest.substr(dash + 1));
  if (!last) return bad_address(text, last.error().message());
  if (*last < *first) return bad_address(text, "the port range runs backwards");
  address.port = *first;
  address.last_port = *last;
  return address;
}

std::string Address::to_string() const {
  if (!has_ports(scheme)) return scheme + "://" + host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  std::string text =
      scheme + "://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  if (last_port != port) text += "-" + std::to_string(last_port);
  if (!options.empty()) text += "?" + options;
  return text;
}

}  // namespace muster::net
