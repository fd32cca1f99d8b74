#include "apps/muster/station.h"

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/zmq/zmq.h"
#include "muster/net/token_source.h"

namespace muster::app {

namespace {

// Over tcp they meet, for which both need a token of the usual size.
Result<std::unique_ptr<net::Driver>> make_ucx(loop::Loop& loop, const std::string& token) {
  const auto bytes = std::as_bytes(std::span(token));
  std::vector<std::byte> secret(net::kTokenSize);
  for (std::size_t i = 0; i < bytes.size(); ++i) secret[i % secret.size()] ^= bytes[i];
  MUSTER_TRY(auto tokens, net::make_fixed_tokens({{1, std::move(secret)}}));
  return drivers::make_ucx_driver(
      loop, drivers::make_tcp_driver(loop, {.tls = {.tokens = std::move(tokens)}}));
}

bool has_ports(const std::string& scheme) {
  return scheme == "tcp" || scheme == "zmq" || scheme == "ucx";
}

}  // namespace

std::vector<std::string> schemes() {
  std::vector<std::string> found = {"shm", "tcp"};
  if (drivers::check_zmq()) found.emplace_back("zmq");
  if (drivers::ucx_fabrics()) found.emplace_back("ucx");
  return found;
}

std::vector<std::string> fabrics() {
  auto found = drivers::ucx_fabrics();
  return found ? *std::move(found) : std::vector<std::string>();
}

std::vector<std::string> missing_drivers() {
  std::vector<std::string> missing;
  if (const Status zmq = drivers::check_zmq(); !zmq) {
    missing.push_back("zmq: " + zmq.error().message());
  }
  if (const auto ucx = drivers::ucx_fabrics(); !ucx) {
    missing.push_back("ucx: " + ucx.error().message());
  }
  return missing;
}

Result<std::unique_ptr<Station>> Station::make(const std::string& token,
                                               std::shared_ptr<drivers::InprocHub> hub) {
  std::unique_ptr<Station> made(new Station);
  MUSTER_TRY(made->loop_, loop::Loop::make());
  const loop::Turn turn(*made->loop_);
  MUSTER_TRY(auto shm, drivers::make_shm_driver(*made->loop_));
  made->drivers_.push_back(std::move(shm));
  made->drivers_.push_back(drivers::make_inproc_driver(*made->loop_, {.hub = std::move(hub)}));
  made->drivers_.push_back(drivers::make_tcp_driver(*made->loop_));
  if (auto ucx = make_ucx(*made->loop_, token)) made->drivers_.push_back(*std::move(ucx));
  net::EndpointOptions options;
  const auto bytes = std::as_bytes(std::span(token));
  options.token.assign(bytes.begin(), bytes.end());
  MUSTER_TRY(const auto tokens, net::make_fixed_tokens({{1, options.token}}));
  made->drivers_.push_back(drivers::make_zmq_driver(*made->loop_, {.tokens = tokens}));
  options.name = "doctor";
  for (const auto& driver : made->drivers_) options.drivers.push_back(driver.get());
  MUSTER_TRY(made->endpoint_, net::Endpoint::make(*made->loop_, std::move(options)));
  made->conversation_ = std::make_unique<net::Conversation>(*made->loop_, *made->endpoint_);
  return made;
}

Station::~Station() {
  if (loop_ == nullptr) return;
  const loop::Turn turn(*loop_);
  conversation_.reset();
  endpoint_.reset();
  drivers_.clear();
}

Result<std::string> Station::listen(const std::string& scheme) {
  MUSTER_TRY(const net::Address address,
             net::Address::parse(scheme + (has_ports(scheme) ? "://127.0.0.1:0" : "://*")));
  MUSTER_TRY(const auto actual, conversation_->listen(std::span(&address, 1)));
  return actual.front().to_string();
}

Status Station::connect(const std::string& address) {
  MUSTER_TRY(const net::Address parsed, net::Address::parse(address));
  net::DialOptions dial;
  dial.where.same_host = net::Known::yes;
  dial.named = {parsed.scheme};
  return conversation_->connect({parsed}, dial, loop_->now() + std::chrono::seconds(10));
}

}  // namespace muster::app
