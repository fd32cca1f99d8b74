#include "muster/drivers/inproc/inproc_listener.h"

#include <utility>

namespace muster::drivers {

Status InprocHub::open(const std::shared_ptr<internal::InprocDoor>& door) {
  const std::lock_guard lock(mutex_);
  while (door->name == "*" || door->name.empty()) {
    std::string name = "unnamed-" + std::to_string(++last_);
    if (!doors_.contains(name)) door->name = std::move(name);
  }
  if (!doors_.emplace(door->name, door).second) {
    return Error(Code::invalid, "somebody listens there already");
  }
  return ok();
}

void InprocHub::close(const std::string& name) {
  const std::lock_guard lock(mutex_);
  doors_.erase(name);
}

std::shared_ptr<internal::InprocDoor> InprocHub::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = doors_.find(name);
  return found == doors_.end() ? nullptr : found->second;
}

namespace internal {

void let_in(const std::shared_ptr<InprocDoor>& door, const std::shared_ptr<InprocPair>& pair) {
  const loop::Loop& here = door->dock->loop();
  if (!door->accept) {
    tell(pair, 0, here, [](InprocConnection& end) {
      end.lose(Error(Code::unavailable, "the listener has gone"));
    });
    return;
  }
  const InprocDock::Delivery delivery(*door->dock);
  auto connection =
      std::make_unique<InprocConnection>(pair, 1, door->limits, "inproc://" + door->name);
  connection->stand();
  // A copy: accepting may end the listener.
  const net::Driver::Accept accept = door->accept;
  net::Sink& sink = accept(std::move(connection));
  if (InprocConnection* const end = pair->sides[1].end) end->set_sink(sink);
  tell(pair, 0, here, [](InprocConnection& end) { end.stand(); });
}

InprocListener::~InprocListener() {
  door_->dock->loop().check_held();
  hub_->close(door_->name);
  door_->accept = nullptr;
}

net::Address InprocListener::address() const {
  return {.scheme = "inproc", .host = door_->name, .port = 0, .last_port = 0};
}

}  // namespace internal
}  // namespace muster::drivers
