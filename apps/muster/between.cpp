#include "apps/muster/between.h"

#include <algorithm>
#include <vector>

namespace muster::app {
namespace {

using net::Address;
using net::Known;

Result<std::vector<Address>> parse_all(const std::string& texts) {
  std::vector<Address> addresses;
  for (std::size_t begin = 0; begin <= texts.size();) {
    const std::size_t end = std::min(texts.find(',', begin), texts.size());
    MUSTER_TRY(Address address, Address::parse(texts.substr(begin, end - begin)));
    addresses.push_back(std::move(address));
    begin = end + 1;
  }
  return addresses;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// By the hosts that both name; those who name none say nothing.
Known is_same_host(const std::vector<Address>& from, const std::vector<Address>& to) {
  Known known = Known::unknown;
  for (const Address& a : from) {
    for (const Address& b : to) {
      if (a.scheme == "shm" || a.scheme == "inproc" || b.scheme == "shm" || b.scheme == "inproc") {
        continue;
      }
      if (a.host == b.host || (is_loopback(a.host) && is_loopback(b.host))) return Known::yes;
      known = Known::no;
    }
  }
  return known;
}

}  // namespace

Result<net::AddressChoice> choose_between(const std::string& from, const std::string& to,
                                          std::span<const std::string> schemes) {
  MUSTER_TRY(const std::vector<Address> ours, parse_all(from));
  MUSTER_TRY(const std::vector<Address> theirs, parse_all(to));
  std::vector<std::string_view> usable;
  for (const std::string& scheme : schemes) {
    const auto has_it = [&](const Address& address) { return address.scheme == scheme; };
    if (std::ranges::any_of(ours, has_it)) usable.push_back(scheme);
  }
  // Whoever names a scheme that is used only when asked for has asked for it.
  std::vector<std::string> named;
  for (const Address& address : ours) {
    const bool is_usual =
        address.scheme == "inproc" || address.scheme == "shm" || address.scheme == "tcp";
    if (!is_usual) named.push_back(address.scheme);
  }
  const net::Whereabouts where{.same_process = Known::unknown,
                               .same_host = is_same_host(ours, theirs)};
  return net::choose_addresses(theirs, usable, where, named);
}

}  // namespace muster::app
