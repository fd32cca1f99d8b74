#include "muster/collectives/places.h"

#include "muster/net/address.h"

namespace muster::collectives::internal {

std::vector<std::string> places_beside(const std::vector<std::string>& listen) {
  std::vector<std::string> places;
  for (const std::string& text : listen) {
    Result<net::Address> address = net::Address::parse(text);
    if (!address) continue;  // The proxy would not have it either.
    const bool is_range = address->last_port != address->port;
    if (!is_range) address->port = address->last_port = 0;
    if (address->scheme == "shm" || address->scheme == "inproc") address->host = "*";
    places.push_back(address->to_string());
  }
  return places;
}

}  // namespace muster::collectives::internal
