#include "muster/net/address_choice.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace muster::net {
namespace {

struct Judgement {
  int rank = -1;  // The lower the better; negative: not to be used.
  std::string why;
};

struct Facts {
  std::span<const std::string_view> schemes;
  const Whereabouts& where;
  std::span<const std::string> named;
  bool is_only_one;
};

Judgement judge(const Address& address, const Facts& facts) {
  if (std::ranges::find(facts.schemes, address.scheme) == facts.schemes.end()) {
    return {-1, "this process has no such driver"};
  }
  if (std::ranges::find(facts.named, address.scheme) != facts.named.end()) {
    return {0, "it was asked for by name"};
  }
  if (address.scheme == "inproc") {
    if (facts.where.same_process == Known::no) return {-1, "the peer is another process"};
    return {1, "the peer is in this process"};
  }
  if (address.scheme == "shm") {
    if (facts.where.same_host == Known::no) return {-1, "the peer is on another host"};
    return {2, "the peer is on this host"};
  }
  if (address.scheme == "tcp") return {3, "it reaches any host"};
  if (facts.is_only_one) return {4, "there is no other address"};
  return {-1, "it is used only when asked for by name"};
}

}  // namespace

bool is_chosen_unasked(std::string_view scheme) {
  return scheme == "inproc" || scheme == "shm" || scheme == "tcp";
}

AddressChoice choose_addresses(std::span<const Address> addresses,
                               std::span<const std::string_view> schemes, const Whereabouts& where,
                               std::span<const std::string> named) {
  const Facts facts{schemes, where, named, addresses.size() == 1};
  struct Candidate {
    const Address* address;
    Judgement judgement;
  };
  std::vector<Candidate> usable;
  std::string rest;
  for (const Address& address : addresses) {
    Judgement judgement = judge(address, facts);
    if (judgement.rank < 0) {
      rest += fmt::format("; not {}: {}", address.to_string(), judgement.why);
    } else {
      usable.push_back({&address, std::move(judgement)});
    }
  }
  // By rank, then as given: the addresses lie in one array. (std::stable_sort
  // uses what C++17 has deprecated, and clang says so.)
  std::ranges::sort(usable, {},
                    [](const Candidate& c) { return std::pair(c.judgement.rank, c.address); });

  AddressChoice choice;
  for (const Candidate& candidate : usable) choice.order.push_back(*candidate.address);
  if (addresses.empty()) {
    choice.why = "the peer has no address";
  } else if (usable.empty()) {
    choice.why = "no address can be used" + rest;
  } else {
    choice.why = fmt::format("{}: {}", choice.order.front().to_string(), usable[0].judgement.why);
    for (std::size_t i = 1; i < usable.size(); ++i) {
      choice.why += fmt::format("; then {}", choice.order[i].to_string());
    }
    choice.why += rest;
  }
  return choice;
}

}  // namespace muster::net
