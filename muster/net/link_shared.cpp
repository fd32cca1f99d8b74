#include "muster/net/link_shared.h"

#include <algorithm>
#include <utility>

#include "muster/wire/bytes.h"

namespace muster::net::internal {

LinkShared::LinkShared(loop::Loop& the_loop, EndpointOptions the_options,
                       Doorkeeper& the_doorkeeper)
    : loop(the_loop),
      options(std::move(the_options)),
      doorkeeper(the_doorkeeper),
      bodies(options.idle_memory),
      grants(options.grant_budget),
      timer([this] { tick(); }) {}

Driver* LinkShared::driver(std::string_view scheme) const {
  const auto found =
      std::ranges::find(options.drivers, scheme, [](const Driver* one) { return one->scheme(); });
  return found == options.drivers.end() ? nullptr : *found;
}

Introduction LinkShared::introduction() const {
  const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(options.silence);
  return {.id = options.id,
          .name = options.name,
          .versions = options.versions,
          .features = options.features,
          .max_body = options.max_body,
          .window = options.window,
          .silence_ms = static_cast<std::uint32_t>(silence.count())};
}

Result<Handshake> LinkShared::handshake(Handshake::Role role) const {
  Nonce nonce;
  for (std::size_t i = 0; i < nonce.size(); i += 8) wire::store(&nonce[i], options.random());
  if (!options.tokens) return Handshake::make(role, options.token, introduction(), nonce);
  return Handshake::make(role, options.tokens->accepted(), introduction(), nonce);
}

void LinkShared::enlist(Link& link) {
  link.place_among_up_ = up.size();
  up.push_back(&link);
  if (!timer.is_armed()) loop.start(timer, loop.now() + KeepAlive::tick(options.beat));
}

void LinkShared::strike_off(Link& link) {
  if (link.place_among_up_ == SIZE_MAX) return;
  up.back()->place_among_up_ = link.place_among_up_;
  up[link.place_among_up_] = up.back();
  up.pop_back();
  link.place_among_up_ = SIZE_MAX;
}

void LinkShared::tick() {
  if (up.empty()) return;
  const TimePoint now = loop.now();
  loop.start(timer, now + KeepAlive::tick(options.beat));
  // None of them goes while this runs: ends are told later.
  for (Link* link : up) link->tick(now);
}

void LinkShared::grant_more() {
  if (is_granting) return;
  is_granting = true;
  while (const auto ticket = grants.next()) ticket->link->grant(ticket->transfer);
  is_granting = false;
}

}  // namespace muster::net::internal
