#include "benchmarks/muster/group.h"

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/registries/embedded/embedded.h"

namespace muster::bench::ours {

Member::Member(Over over, const std::string& folder, const std::string& type,
               const std::string& name, std::vector<msg::Expected> expected)
    : loop_(must(loop::Loop::make())) {
  {
    const loop::Turn turn(*loop_);
    if (over == Over::shm) {
      driver_ = must(drivers::make_shm_driver(*loop_));
    } else {
      driver_ = drivers::make_tcp_driver(*loop_);
    }
    registry_ = registries::make_embedded_registry(*loop_, {.folder = folder});
  }
  msg::ProxyOptions options;
  options.group = "bench";
  options.type = type;
  options.name = name;
  options.registry = registry_.get();
  options.drivers = {driver_.get()};
  options.token.assign(32, std::byte{0x5A});
  options.expected = std::move(expected);
  proxy_ = must(msg::Proxy::join(*loop_, std::move(options), std::chrono::seconds(30)));
}

Member::~Member() {
  proxy_.reset();
  const loop::Turn turn(*loop_);
  registry_.reset();
  driver_.reset();
}

}  // namespace muster::bench::ours
