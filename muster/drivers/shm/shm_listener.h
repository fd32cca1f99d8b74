// Waits for processes that dial, and makes connections of those that set up well.

#pragma once

#include <list>
#include <memory>
#include <optional>

#include "muster/base/log.h"
#include "muster/drivers/shm/shm_hub.h"

namespace muster::drivers::shm {

class ShmListener final : public net::Listener, private loop::FdHandler {
 public:
  static Result<std::unique_ptr<ShmListener>> open(ShmHub& hub, const net::Address& address,
                                                   net::Driver::Accept accept);
  ~ShmListener() override;

  net::Address address() const override { return address_; }

 private:
  // One that has dialled and not yet said anything.
  class Guest;

  ShmListener(ShmHub& hub, net::Address address, net::Driver::Accept accept, Descriptor socket);
  void on_ready(std::uint32_t events) override;
  void admit(Guest& guest);
  void welcome(Descriptor socket, const Credentials& credentials,
               Result<std::optional<ReceivedMessage>> hello);
  void dismiss(Guest& guest);
  void refuse(const Error& why);
  void pause(int error);

  ShmHub& hub_;
  net::Address address_;
  net::Driver::Accept accept_;
  Descriptor socket_;
  std::list<std::unique_ptr<Guest>> guests_;  // Oldest first.
  log::RateLimit refusals_;
  loop::Timer resume_;
  bool is_watched_ = false;
};

}  // namespace muster::drivers::shm
