// The control connection of one ucx connection: it carries greetings, and its
// end is the connection's end.

#pragma once

#include <memory>
#include <optional>

#include "muster/drivers/ucx/greeting.h"
#include "muster/net/driver.h"

namespace muster::drivers::ucx {

class Line final : private net::Sink {
 public:
  class Owner {
   public:
    virtual void on_greeting(const Greeting& greeting) = 0;
    // The last call. The line may be destroyed here.
    virtual void on_line_end(Error why) = 0;

   protected:
    ~Owner() = default;
  };

  explicit Line(Owner& owner) : owner_(&owner) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // For whoever makes the connection, which then belongs to the line.
  net::Sink& sink() { return *this; }
  void set_connection(std::unique_ptr<net::Connection> connection) {
    connection_ = std::move(connection);
  }
  void set_owner(Owner& owner) { owner_ = &owner; }

  void say(const Greeting& greeting);
  // The end follows later, as `why` if that is given.
  void close(std::optional<Error> why = std::nullopt);
  net::Peer peer() const { return connection_ ? connection_->peer() : net::Peer{}; }

 private:
  void on_frame(wire::Frame& frame) override;
  // A greeting's parts are small.
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t) override { return {}; }
  void on_room() override {}
  void on_closed(Error why) override;

  Owner* owner_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<Error> why_;  // If it was this side that ended it.
};

}  // namespace muster::drivers::ucx
