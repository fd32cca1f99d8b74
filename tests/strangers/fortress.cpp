#include "tests/strangers/fortress.h"

#include <atomic>
#include <fstream>
#include <list>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "muster/base/log.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/zmq/zmq.h"
#include "muster/net/endpoint.h"

namespace muster::strangers {
namespace {

using std::chrono::seconds;

std::shared_ptr<net::TokenSource> tokens() {
  return *net::make_fixed_tokens({{1, std::vector<std::byte>(32, std::byte{0x77})}});
}

std::unique_ptr<net::Driver> make_tcp(loop::Loop& loop) {
  return drivers::make_tcp_driver(loop,
                                  {.handshake_timeout = kDeadline, .tls = {.tokens = tokens()}});
}

std::vector<std::unique_ptr<net::Driver>> make_drivers(loop::Loop& loop) {
  std::vector<std::unique_ptr<net::Driver>> made;
  made.push_back(make_tcp(loop));
  made.push_back(*drivers::make_shm_driver(loop));
  made.push_back(
      drivers::make_zmq_driver(loop, {.tokens = tokens(), .handshake_timeout = kDeadline}));
  // Where processes meet; what UCX opens itself is not for strangers.
  if (has_ucx()) {
    made.push_back(*drivers::make_ucx_driver(loop, make_tcp(loop), {.fabrics = "posix,cma"}));
  }
  return made;
}

net::EndpointOptions options(const std::vector<std::unique_ptr<net::Driver>>& drivers) {
  net::EndpointOptions made;
  made.tokens = tokens();
  made.name = "fortress";
  made.handshake_deadline = kDeadline;
  for (const auto& driver : drivers) made.drivers.push_back(driver.get());
  return made;
}

// Sends back whatever comes.
struct Echo final : net::LinkSink {
  explicit Echo(std::vector<std::string>& told) : ends(told) {}
  std::unique_ptr<net::Link> link;
  std::vector<std::string>& ends;  // Why each link ended.

  void on_up(net::Link&) override {}
  void on_message(wire::Frame& frame, net::Lane lane, std::size_t cost) override {
    static_cast<void>(link->send(frame, lane));
    link->done(cost);
  }
  void on_closed(Error why) override {
    ends.push_back(why.describe());
    link.reset();
  }
};

std::size_t rss_kib() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0;
  std::size_t resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace

// Prints its addresses, then its condition for each line that it is given.
MUSTER_ROLE(fortress) {
  if (const auto most = std::stoul(parent.arguments.at(0)); most > 0) {
    const rlimit limit{most, most};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  std::atomic<int> warnings = 0;
  log::to(log::Level::warning, [&](log::Level, std::string_view) { ++warnings; });
  const auto loop = *loop::Loop::make();
  auto drivers = make_drivers(*loop);
  std::vector<std::string> ends;
  std::list<Echo> echoes;
  std::unique_ptr<net::Endpoint> endpoint;
  {
    const loop::Turn turn(*loop);
    endpoint = *net::Endpoint::make(*loop, options(drivers));
    const std::vector<net::Address> addresses = {
        *net::Address::parse("tcp://127.0.0.1:0"), *net::Address::parse("tcp://127.0.0.1:0?tls=on"),
        *net::Address::parse("shm://*"),
        *net::Address::parse(has_zmq() ? "zmq://127.0.0.1:0" : "tcp://127.0.0.1:0"),
        *net::Address::parse(has_ucx() ? "ucx://127.0.0.1:0" : "tcp://127.0.0.1:0")};
    const auto actual = endpoint->listen(addresses, [&](std::unique_ptr<net::Link> link) -> Echo& {
      echoes.emplace_back(ends).link = std::move(link);
      return echoes.back();
    });
    for (const net::Address& address : *actual) parent.pipe.write_line(address.to_string());
  }
  // As a member that serves does; the keeper alone would sleep between any two exchanges.
  std::atomic<bool> is_over = false;
  std::thread server([&] { loop->wait_until([&] { return is_over.load(); }, kForever); });
  while (parent.pipe.read_line(seconds(600))) {
    std::ostringstream line;
    const loop::Turn turn(*loop);
    line << rss_kib() << ' ' << warnings << ' ' << endpoint->strangers() << ' ' << ends.size()
         << ' ' << (ends.empty() ? "" : ends.back());
    parent.pipe.write_line(line.str());
  }
  is_over = true;
  loop->post([] {});
  server.join();
  const loop::Turn turn(*loop);
  echoes.clear();
  endpoint.reset();
  drivers.clear();
  return 0;
}

bool has_zmq() { return drivers::check_zmq().has_value(); }
bool has_ucx() {
  static const bool kHas = drivers::ucx_fabrics({.fabrics = "posix,cma"}).has_value();
  return kHas;
}

std::string_view name(Door door) {
  switch (door) {
    case Door::plain: return "plain";
    case Door::tls: return "tls";
    case Door::shm: return "shm";
    case Door::zmq: return "zmq";
    case Door::ucx: return "ucx";
  }
  return "";
}

Fortress::Fortress(int descriptors)
    : child_(*net::testing::ChildProcess::start("fortress", {std::to_string(descriptors)})) {
  for (net::Address& address : addresses_) {
    address = *net::Address::parse(*child_->pipe().read_line());
  }
}

Condition Fortress::condition() {
  Condition condition;
  child_->pipe().write_line("how are you");
  const Result<std::string> line = child_->pipe().read_line();
  EXPECT_TRUE(line) << "the process is gone: " << line.error().describe();
  if (!line) return condition;
  std::istringstream words(*line);
  words >> condition.rss_kib >> condition.warnings >> condition.strangers >> condition.links_ended;
  std::getline(words >> std::ws, condition.why_ended);
  return condition;
}

Member::Member() : loop_(*loop::Loop::make()), drivers_(make_drivers(*loop_)) {
  const loop::Turn turn(*loop_);
  endpoint_ = *net::Endpoint::make(*loop_, options(drivers_));
  conversation_ = std::make_unique<net::Conversation>(*loop_, *endpoint_);
}

Member::~Member() {
  conversation_->close();
  const loop::Turn turn(*loop_);
  conversation_.reset();
  endpoint_.reset();
  drivers_.clear();
}

Status Member::call(const net::Address& address) {
  net::DialOptions dial;
  dial.reconnect = true;  // A crowd of strangers may push a member out of the queue.
  dial.where.same_host = net::Known::yes;
  dial.named = {address.scheme};
  return conversation_->connect({address}, dial, loop_->now() + seconds(60));
}

Status Member::exchange() {
  const TimePoint deadline = loop_->now() + seconds(60);
  MUSTER_TRY_OK(conversation_->send(Buffer::copy_of(std::string("hello")), deadline));
  MUSTER_TRY(const Buffer answer, conversation_->receive(deadline));
  if (answer.size() != 5) return Error(Code::internal, "another answer");
  return ok();
}

}  // namespace muster::strangers
