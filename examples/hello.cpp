// A worker greets a learner, after both have proved that they know the token.
#include <cstdio>

#include "muster/drivers/tcp/tcp.h"
#include "muster/net/conversation.h"

using namespace muster;

int main() {
  auto loop = *loop::Loop::make();  // Driven by whoever waits.
  auto tcp = drivers::make_tcp_driver(*loop);
  auto endpoint = *net::Endpoint::make(
      *loop, {.token = std::vector(32, std::byte{7}), .name = "demo", .drivers = {tcp.get()}});
  net::Conversation learner(*loop, *endpoint), worker(*loop, *endpoint);
  const auto addresses = learner.listen(std::vector{*net::Address::parse("tcp://127.0.0.1:0")});
  if (!worker.connect(*addresses) || !worker.send(Buffer::copy_of("hello from a worker"))) return 1;
  std::puts(std::string(learner.receive()->text()).c_str());
  worker.close();
}
