// FlakyNet: a driver under virtual time whose connections can be slow, cut and
// broken by the test. Bodies are copied, in small frames, so that links do
// all that they do over a network.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/testing/rig.h"

namespace muster::net::testing {

class FlakyDriver;

class FlakyNet {
 public:
  explicit FlakyNet(std::uint64_t seed = 1);
  ~FlakyNet();
  FlakyNet(const FlakyNet&) = delete;
  FlakyNet& operator=(const FlakyNet&) = delete;

  Rig::Side side();

  // Lets virtual time pass, and all happen that is due.
  void advance(Duration duration);
  // As if this process was stopped: time passes, and only then all happens.
  void stall(Duration duration);

  // While it is cut, nothing arrives; it does so when it is mended.
  void set_cut(bool is_cut);
  // Ends every connection; what is under way is lost.
  void break_all();

  // The next number of the seed's.
  std::uint64_t chance();

  // How long a frame takes, at most, and how many a connection queues.
  Duration longest_delay = std::chrono::milliseconds(2);
  std::size_t queue_limit = 16;
  std::size_t max_body = kLargePart;
  std::size_t open_connections = 0;

 private:
  friend class FlakyDriver;
  friend class FlakyConnection;

  std::uint64_t state_;
  ManualClock clock_;
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<FlakyDriver> driver_;
  bool is_cut_ = false;
};

}  // namespace muster::net::testing
