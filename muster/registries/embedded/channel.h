// Channel: packets between a member and the serving process, and the news that
// one of the two has died.
//
// A dead process is noticed by its pidfd too: a child that it forked may hold
// its end of the socket open.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "muster/base/descriptor.h"
#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/registries/embedded/road.h"

namespace muster::registries::embedded {

class Channel final : public Carrier, private loop::FdHandler {
 public:
  // Over a connected socket. Code::invalid if the other end is of another user;
  // Code::unavailable if it has died.
  static Result<std::unique_ptr<Channel>> open(loop::Loop& loop, Descriptor socket,
                                               CarrierSink& sink);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Sends, or queues while the other end does not read. False if it has not
  // read for so long that the queue is full, or is gone.
  bool send(const Message& message) override;

  // Reads what has come, now. For one who will not be in the loop any more.
  void look() { on_ready(0); }

  // Of the process at the other end; 0 if it cannot be seen from here.
  int pid() const { return pid_; }

 private:
  // Hears that the other process has ended.
  struct Deathwatch final : loop::FdHandler {
    explicit Deathwatch(Channel& channel) : owner(channel) {}
    void on_ready(std::uint32_t events) override;
    Channel& owner;
    Descriptor process;
    bool is_watched = false;
  };

  Channel(loop::Loop& loop, Descriptor socket, CarrierSink& sink, int pid);
  Status start();
  void on_ready(std::uint32_t events) override;
  // Reads up to `most` packets. The reason why there will be no more.
  std::optional<Error> read(std::size_t most);
  void write();
  void watch_for(std::uint32_t events);
  void end(const Error& why);

  loop::Loop& loop_;
  Descriptor socket_;
  CarrierSink& sink_;
  int pid_;
  Deathwatch deathwatch_;
  std::deque<std::vector<std::byte>> queue_;
  std::uint32_t watched_ = 0;
};

}  // namespace muster::registries::embedded
