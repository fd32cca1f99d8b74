// Recorder: keeps a connection, and all that is heard from it.

#pragma once

#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "muster/net/driver.h"

namespace muster::drivers::tcp::testing {

struct Recorder final : net::Sink {
  std::unique_ptr<net::Connection> connection;
  std::vector<wire::Frame> frames;
  std::optional<Error> why;

  void on_frame(wire::Frame& frame) override { frames.push_back(std::move(frame)); }
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t) override { return {}; }
  void on_room() override {}
  void on_closed(Error error) override { why = std::move(error); }
};

// For a listener: keeps each connection in a recorder of its own.
inline net::Driver::Accept accept_into(std::list<Recorder>& recorders) {
  return [&recorders](std::unique_ptr<net::Connection> connection) -> net::Sink& {
    recorders.emplace_back().connection = std::move(connection);
    return recorders.back();
  };
}

}  // namespace muster::drivers::tcp::testing
