#include "benchmarks/muster/node.h"

#include "benchmarks/common/fail.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/zmq/zmq.h"

namespace muster::bench::ours {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().describe());
  return *std::move(result);
}

std::shared_ptr<net::TokenSource> tokens() {
  return must(net::make_fixed_tokens({{1, std::vector<std::byte>(32, std::byte{0x5A})}}));
}

net::EndpointOptions options(net::Driver& driver) {
  net::EndpointOptions made;
  made.tokens = tokens();
  made.name = "bench";
  made.drivers = {&driver};
  return made;
}

}  // namespace

Node::Node(const Way& way) : way_(way), loop_(must(loop::Loop::make())) {
  const loop::Turn turn(*loop_);
  if (std::string_view(way.address).starts_with("shm")) {
    driver_ = must(drivers::make_shm_driver(*loop_, {.use_process_vm = way.use_process_vm}));
  } else if (std::string_view(way.address).starts_with("zmq")) {
    driver_ = drivers::make_zmq_driver(*loop_, {.tokens = tokens()});
  } else if (std::string_view(way.address).starts_with("ucx")) {
    driver_ = must(drivers::make_ucx_driver(
        *loop_, drivers::make_tcp_driver(*loop_, {.tls = {.tokens = tokens()}}),
        {.fabrics = "posix,cma"}));
  } else {
    driver_ = drivers::make_tcp_driver(*loop_, {.tls = {.tokens = tokens()}});
  }
  endpoint_ = must(net::Endpoint::make(*loop_, options(*driver_)));
  conversation_ = std::make_unique<net::Conversation>(*loop_, *endpoint_);
}

Node::~Node() {
  const loop::Turn turn(*loop_);
  conversation_.reset();
  endpoint_.reset();
  driver_.reset();
}

std::string Node::listen() {
  const net::Address address = must(net::Address::parse(way_.address));
  return must(conversation_->listen(std::span(&address, 1))).front().to_string();
}

void Node::connect(const std::string& address) {
  net::DialOptions dial;
  dial.where.same_host = net::Known::yes;
  must(conversation_->connect({must(net::Address::parse(address))}, dial));
}

void Node::wait_until_up() { must(conversation_->wait_until_up()); }

void Node::send_copy(std::span<const std::byte> body) { must(conversation_->send_copy(body)); }
void Node::send(Buffer body) { must(conversation_->send(std::move(body))); }

Buffer Node::receive() { return must(conversation_->receive()); }

WritableBuffer Node::allocate(std::size_t size) { return must(conversation_->allocate(size)); }

}  // namespace muster::bench::ours
