// A process's end of a measured conversation: loop, drivers, endpoint.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "muster/drivers/inproc/inproc.h"
#include "muster/net/conversation.h"

namespace muster::app {

class Station {
 public:
  // Knows every driver there is. `token` is what both ends must have, and `hub`
  // what ends within one process share.
  static Result<std::unique_ptr<Station>> make(const std::string& token,
                                               std::shared_ptr<drivers::InprocHub> hub = nullptr);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  // Listens on what `scheme` calls "anywhere on this machine".
  Result<std::string> listen(const std::string& scheme);
  Status connect(const std::string& address);

  net::Conversation& conversation() { return *conversation_; }
  loop::Loop& loop() { return *loop_; }

 private:
  Station() = default;
  std::unique_ptr<loop::Loop> loop_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<net::Conversation> conversation_;
};

// The drivers of this build and machine that two processes can use: those that
// are chosen by themselves, fastest first, then those that are used when named.
std::vector<std::string> schemes();
// Those that it lacks, each with what to install.
std::vector<std::string> missing_drivers();
// What ucx finds here, if there is ucx.
std::vector<std::string> fabrics();

}  // namespace muster::app
