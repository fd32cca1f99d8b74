// Which of a peer's addresses to try, and in what order. Pure.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/net/address.h"

namespace muster::net {

enum class Known : std::uint8_t { unknown, yes, no };

// What is known of where the peer is.
struct Whereabouts {
  Known same_process = Known::unknown;
  Known same_host = Known::unknown;
};

struct AddressChoice {
  std::vector<Address> order;  // The best first. Empty: none can be used.
  std::string why;             // A sentence for people.
};

// True for inproc, shm and tcp. Other schemes are used when asked for by name.
bool is_chosen_unasked(std::string_view scheme);

// inproc within one process, before shm on one host, before tcp. Other schemes
// are used only when `named` has them, then before all else, or when theirs is
// the only address. `schemes` are those of our own drivers.
AddressChoice choose_addresses(std::span<const Address> addresses,
                               std::span<const std::string_view> schemes,
                               const Whereabouts& where = {},
                               std::span<const std::string> named = {});

}  // namespace muster::net
