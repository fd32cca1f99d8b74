// The fortress: a process with every door open, and an honest member who calls.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "muster/net/conversation.h"
#include "muster/net/testing/child_process.h"
#include "muster/net/token_source.h"

namespace muster::strangers {

// How long the fortress waits for a stranger to prove itself. Shorter than the
// usual, so that tests are quick.
inline constexpr std::chrono::seconds kDeadline(1);

enum class Door : std::uint8_t { plain, tls, shm, zmq, ucx };
std::string_view name(Door door);
// False in a build without libzmq, or UCX: then their doors are others of tcp's.
bool has_zmq();
bool has_ucx();

struct Condition {
  std::size_t rss_kib = 0;
  int warnings = 0;  // Lines logged so far.
  std::size_t strangers = 0;
  int links_ended = 0;         // Of members, that is.
  std::string why_ended = {};  // The last of them.
};

class Fortress {
 public:
  // With so many descriptors at most; 0: as many as the machine allows.
  explicit Fortress(int descriptors = 0);

  net::Address address(Door door) const { return addresses_[static_cast<std::size_t>(door)]; }
  // Asks it, which also shows that it lives.
  Condition condition();

 private:
  std::unique_ptr<net::testing::ChildProcess> child_;
  std::array<net::Address, 5> addresses_;
};

// A member that knows the token. What it sends comes back.
class Member {
 public:
  Member();
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  Status call(const net::Address& address);
  // Sends a few bytes and waits for them.
  Status exchange();

  loop::Loop& loop() { return *loop_; }
  net::Conversation& conversation() { return *conversation_; }

 private:
  std::unique_ptr<loop::Loop> loop_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<net::Conversation> conversation_;
};

}  // namespace muster::strangers
