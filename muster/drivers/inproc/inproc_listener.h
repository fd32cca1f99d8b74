// The names of a process, and who listens under them.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "muster/drivers/inproc/inproc_connection.h"

namespace muster::drivers {
namespace internal {

// One name that is listened on. Shared with those who are just dialing it.
struct InprocDoor {
  std::string name;
  net::Driver::Accept accept;  // Used on the dock's loop only; null once nobody listens.
  std::shared_ptr<InprocDock> dock;
  InprocConnection::Limits limits;
};

// Makes the second end of `pair` and gives it to whoever listens. Runs on the
// door's loop.
void let_in(const std::shared_ptr<InprocDoor>& door, const std::shared_ptr<InprocPair>& pair);

}  // namespace internal

class InprocHub {
 public:
  // Any thread, all of these. open() finds a name itself if the door's is "*";
  // Code::invalid if it is taken.
  Status open(const std::shared_ptr<internal::InprocDoor>& door);
  void close(const std::string& name);
  // Null if nobody listens there.
  std::shared_ptr<internal::InprocDoor> find(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<internal::InprocDoor>> doors_;
  unsigned last_ = 0;
};

namespace internal {

class InprocListener final : public net::Listener {
 public:
  InprocListener(std::shared_ptr<InprocHub> hub, std::shared_ptr<InprocDoor> door)
      : hub_(std::move(hub)), door_(std::move(door)) {}
  ~InprocListener() override;
  net::Address address() const override;

 private:
  std::shared_ptr<InprocHub> hub_;
  std::shared_ptr<InprocDoor> door_;
};

}  // namespace internal
}  // namespace muster::drivers
