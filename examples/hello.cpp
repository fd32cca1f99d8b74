// A worker greets a learner, after both have proved that they know the token.
#include <cstdio>
#include <optional>

#include "muster/drivers/tcp/tcp.h"
#include "muster/net/endpoint.h"

using namespace muster;

struct Ear final : net::LinkSink {
  std::string heard;
  void on_up(net::Link&) override {}
  void on_message(wire::Frame& frame, net::Lane, std::size_t) override {
    heard = frame.parts[0].text();
  }
  void on_closed(Error) override {}
};

int main() {
  auto loop = *loop::Loop::make();
  std::optional<loop::Turn> turn(std::in_place, *loop);  // What follows needs the loop's baton.
  auto tcp = drivers::make_tcp_driver(*loop);
  const std::vector token(32, std::byte{7});
  auto endpoint =
      *net::Endpoint::make(*loop, {.token = token, .name = "demo", .drivers = {tcp.get()}});
  Ear worker, learner;
  std::unique_ptr<net::Link> accepted;
  const std::vector<net::Address> anywhere = {*net::Address::parse("tcp://127.0.0.1:0")};
  auto addresses = *endpoint->listen(anywhere, [&](auto link) -> net::LinkSink& {
    accepted = std::move(link);
    return learner;
  });
  auto dialed = endpoint->connect(addresses, worker);
  wire::Frame frame;
  frame.head.resize(net::kLinkHead);
  frame.parts.push_back(Buffer::copy_of("hello from a worker"));
  if (!dialed->send(frame)) return 1;
  turn.reset();
  loop->wait_until([&] { return !learner.heard.empty(); });  // This thread does the work.
  turn.emplace(*loop);
  std::puts(learner.heard.c_str());
}
