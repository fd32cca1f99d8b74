// Waits for processes that dial, and makes connections of those that meet well.

#pragma once

#include <list>
#include <memory>

#include "muster/drivers/ucx/ucx_hub.h"
#include "muster/net/driver.h"

namespace muster::drivers::ucx {

class UcxListener final : public net::Listener {
 public:
  static Result<std::unique_ptr<UcxListener>> open(UcxHub& hub, const net::Address& address,
                                                   net::Driver::Accept accept);
  ~UcxListener() override;

  net::Address address() const override;

 private:
  // One that has dialled and not yet met.
  class Guest;

  UcxListener(UcxHub& hub, net::Driver::Accept accept);
  net::Sink& receive(std::unique_ptr<net::Connection> connection);
  void dismiss(Guest& guest);

  UcxHub& hub_;
  net::Driver::Accept accept_;
  std::unique_ptr<net::Listener> control_;
  std::list<std::unique_ptr<Guest>> guests_;  // Oldest first.
};

}  // namespace muster::drivers::ucx
