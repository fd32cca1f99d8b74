#include "muster/net/link_shared.h"

#include <algorithm>
#include <ranges>
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
  using std::chrono::milliseconds;
  const auto silence =
      std::min(std::chrono::duration_cast<milliseconds>(options.silence), milliseconds(UINT32_MAX));
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
  // The peer of this one may be less patient than those of the others.
  const TimePoint first = loop.now() + link.keep_alive_.tick();
  if (!timer.is_armed() || first < timer.due()) loop.start(timer, first);
}

void LinkShared::strike_off(Link& link) {
  if (link.place_among_up_ == SIZE_MAX) return;
  up.back()->place_among_up_ = link.place_among_up_;
  up[link.place_among_up_] = up.back();
  up.pop_back();
  link.place_among_up_ = SIZE_MAX;
}

void LinkShared::tick() {
  const TimePoint now = loop.now();
  // By index: a sink may drop another link when it is asked for memory.
  for (std::size_t i = 0; i < up.size(); ++i) up[i]->tick(now);
  if (up.empty()) return;
  const auto ticks =
      std::views::transform(up, [](const Link* link) { return link->keep_alive_.tick(); });
  loop.start(timer, now + std::ranges::min(ticks));
}

void LinkShared::grant_more() {
  if (is_granting) return;
  is_granting = true;
  while (const auto ticket = grants.next()) ticket->link->grant(ticket->transfer);
  is_granting = false;
}

}  // namespace muster::net::internal
