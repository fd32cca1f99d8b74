#include "muster/drivers/zmq/address_plan.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "muster/net/socket_address.h"

namespace muster::drivers::zmq {
namespace {

constexpr std::string_view kAlso = "also=";
constexpr std::string_view kPlain = "curve=off";

bool is_loopback(const net::Address& address) {
  const auto known = net::addresses_without_asking(address);
  return !known.empty() && std::ranges::all_of(known, &net::SocketAddress::is_loopback);
}

Result<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return Error(Code::invalid, "\"" + std::string(text) + "\" is not a port");
  }
  return port;
}

}  // namespace

Result<AddressPlan> plan_for(const net::Address& address) {
  if (address.scheme != "zmq") return Error(Code::invalid, "this driver serves zmq:// only");
  AddressPlan plan;
  const std::string_view options = address.options;
  if (options.empty()) return plan;
  if (options.starts_with(kAlso)) {
    MUSTER_TRY(plan.second_port, read_port(options.substr(kAlso.size())));
    return plan;
  }
  if (options != kPlain) {
    return Error(Code::invalid, "\"" + address.options +
                                    "\" is no option of zmq; there are curve=off and also=PORT");
  }
  if (!is_loopback(address)) {
    return Error(Code::unsupported, address.host +
                                        " is not a loopback address; beyond this host zmq goes "
                                        "nowhere without encryption");
  }
  plan.is_encrypted = false;
  return plan;
}

std::string options_of(const AddressPlan& plan) {
  if (!plan.is_encrypted) return std::string(kPlain);
  if (plan.second_port == 0) return {};
  return std::string(kAlso) + std::to_string(plan.second_port);
}

}  // namespace muster::drivers::zmq
