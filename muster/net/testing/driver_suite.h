// The conformance suite: what every driver does alike.
//
// A driver's test is one list of subjects, for example
//
//   MUSTER_DRIVER_SUITE(Tcp, make_subject("tcp", tcp, loopback),
//                       make_subject("tcp_apart", tcp, loopback, Sides::apart));
//   MUSTER_PROCESS_SUITE(Tcp, make_subject("tcp", tcp, loopback));
//
// linked with muster_net_testing, which brings main() too.

#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/testing/child_process.h"
#include "muster/net/testing/end.h"
#include "muster/net/testing/leaks.h"
#include "muster/net/testing/pattern.h"
#include "muster/net/testing/rig.h"

namespace muster::net::testing {

// A listener of the rig's far side, and all that it has accepted.
class Host {
 public:
  // `prepare` is called with each end before its first news.
  Host(Rig& rig, const Address& address, std::function<void(End&)> prepare = nullptr);
  // Any thread, all of these.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void stop_listening();
  Address address() const { return address_; }
  std::size_t count() const { return count_; }
  // The one that was accepted as number `index`.
  End& end(std::size_t index = 0);

 private:
  End& add_end();

  loop::Loop& loop_;
  std::function<void(End&)> prepare_;
  // A mutex and not the baton: whoever waits on the near loop asks for ends too,
  // and no thread holds two batons.
  mutable std::mutex mutex_;
  std::list<End> ends_;
  std::unique_ptr<Listener> listener_;
  Address address_;
  std::atomic<std::size_t> count_{0};
};

class DriverSuite : public ::testing::TestWithParam<Subject> {
 protected:
  DriverSuite() { use_rig(GetParam().sides); }
  // Looks whether all was given back.
  ~DriverSuite() override;

  // Starts again with another rig.
  void use_rig(Sides sides);

  // A host on a fresh address.
  Host& listen(std::function<void(End&)> prepare = nullptr);
  // A dialed end. `prepare` is called before its first news.
  End& dial(const Address& address, const std::function<void(End&)>& prepare = nullptr);
  End& dial(const Host& host) { return dial(host.address()); }
  // Dials, and waits until `host` has accepted it. The two ends of it.
  std::pair<End&, End&> connect(Host& host);

  // Sends a body of `size` bytes, in as many frames as it takes, and checks what
  // arrives at `to`.
  void carry(End& from, End& to, std::size_t size);

  [[nodiscard]] bool run_until(const std::function<bool()>& done) { return rig->run_until(done); }

  std::unique_ptr<Rig> rig;

 private:
  Holdings before_;
  std::list<End> ends_;
  std::list<Host> hosts_;
};

// Cases with other processes, for subjects that have make_driver.
class ProcessSuite : public DriverSuite {
 protected:
  // A child that listens, by what it is to do (suite_peer.cpp).
  std::unique_ptr<ChildProcess> start_peer(const std::string& behaviour);
  End& dial_peer(ChildProcess& child, const std::function<void(End&)>& prepare = nullptr);
  // A child that dials `host`.
  std::unique_ptr<ChildProcess> start_caller(const std::string& behaviour, Host& host);
  // Connects to a new child, lets it work for a while, kills it.
  void kill_one_peer(Host& host, std::uint64_t chance);
};

// Lets a child process find the subject that it shall be. Returns true.
bool add_subjects(std::vector<Subject> subjects);

// Whether this build runs at full speed, and so the large cases too.
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MUSTER_IS_FAST 1
#else
#define MUSTER_IS_FAST 0
#endif
inline constexpr bool kIsFast = MUSTER_IS_FAST != 0;

// A number that the environment may set.
std::size_t from_environment(const char* name, std::size_t otherwise);

}  // namespace muster::net::testing

#define MUSTER_DRIVER_SUITE(prefix, ...)                                        \
  INSTANTIATE_TEST_SUITE_P(prefix, DriverSuite, ::testing::Values(__VA_ARGS__), \
                           ::testing::PrintToStringParamName())

#define MUSTER_PROCESS_SUITE(prefix, ...)                                        \
  static const bool kHasSubjects##prefix = add_subjects({__VA_ARGS__});          \
  INSTANTIATE_TEST_SUITE_P(prefix, ProcessSuite, ::testing::Values(__VA_ARGS__), \
                           ::testing::PrintToStringParamName())
