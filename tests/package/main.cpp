// Uses what is installed as a program of somebody else's would: a link within
// this process, over which one end sends and the other hears.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/drivers/inproc/inproc.h"
#include "muster/loop/future.h"
#include "muster/loop/loop.h"
#include "muster/net/endpoint.h"

namespace {

using muster::Buffer;
using muster::Result;
using muster::Status;

struct Ear final : muster::net::LinkSink {
  std::string heard;
  void on_up(muster::net::Link&) override {}
  void on_message(muster::wire::Frame& frame, muster::net::Lane, std::size_t) override {
    heard = frame.parts[0].text();
  }
  void on_closed(muster::Error) override {}
};

Status pass_through_a_future(muster::loop::Loop& loop) {
  muster::loop::Promise<Buffer> promise(loop);
  muster::loop::Future<Buffer> future = promise.future();
  std::thread giver([&] { promise.set(Buffer::copy_of("installed")); });
  const Result<Buffer> got = future.get();
  giver.join();
  if (!got) return got.error();
  return muster::ok();
}

Status pass_over_a_link(muster::loop::Loop& loop) {
  std::optional<muster::loop::Turn> turn(std::in_place, loop);
  const auto driver = muster::drivers::make_inproc_driver(loop);
  muster::net::EndpointOptions options;
  options.token.assign(32, std::byte{7});
  options.drivers = {driver.get()};
  MUSTER_TRY(auto endpoint, muster::net::Endpoint::make(loop, options));
  Ear near, far;
  std::unique_ptr<muster::net::Link> accepted;
  MUSTER_TRY(const auto address, muster::net::Address::parse("inproc://consumer"));
  MUSTER_TRY(const auto addresses,
             endpoint->listen(std::span(&address, 1), [&](auto link) -> muster::net::LinkSink& {
               accepted = std::move(link);
               return far;
             }));
  const auto dialed = endpoint->connect(addresses, near);
  muster::wire::Frame frame;
  frame.head.resize(muster::net::kLinkHead);
  frame.parts.push_back(Buffer::copy_of("installed"));
  MUSTER_TRY_OK(dialed->send(frame));

  turn.reset();
  loop.wait_until([&] { return !far.heard.empty(); }, loop.now() + std::chrono::seconds(20));
  turn.emplace(loop);
  if (far.heard != "installed") return muster::Error(muster::Code::failed, "nothing was heard");
  return muster::ok();
}

Status run() {
  MUSTER_TRY(const auto loop, muster::loop::Loop::make());
  MUSTER_TRY_OK(pass_through_a_future(*loop));
  return pass_over_a_link(*loop);
}

}  // namespace

int main() {
  const Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().describe().c_str());
  return status ? 0 : 1;
}
