// SimNet: a network under virtual time, for tests of what stands on drivers.
//
// One loop, one thread. Time stands still while anything happens and then jumps
// to the next event. Every delay and every loss comes from the seed, so that a
// run with the same seed is the same run, event by event.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::net::testing {

struct SimOptions {
  std::uint64_t seed = 1;
  // What one frame takes, one way: chosen for each, but order holds within a
  // connection. Connections overtake each other.
  Duration min_delay = std::chrono::microseconds(50);
  Duration max_delay = std::chrono::milliseconds(2);
  std::uint64_t bytes_per_second = 1'000'000'000;
  // How likely it is that a connection breaks under a frame.
  double loss = 0;
  // What may be under way in one direction of a connection.
  std::size_t max_frames = 64;
  std::uint64_t max_bytes = std::uint64_t{4} << 20;
  std::size_t max_body = std::size_t{256} << 10;
  // What is lent is read when it arrives, wherever its owner is by then: for tests whose
  // memory outlives all.
  bool lends = false;
  // How long a dial waits for an answer that does not come.
  Duration dial_patience = std::chrono::seconds(5);
  // Costs time: for one seed, not for a thousand.
  bool keeps_transcript = false;
};

// What becomes of those who dial where there is no way.
enum class Dials : std::uint8_t { hang, fail };

// Memory that processes of one machine read where it lies. The test brings it along, as all such
// memory stands above this.
class SimMemory {
 public:
  virtual Result<WritableBuffer> allocate(std::string_view host, std::size_t size) = 0;
  // Whether it is where `part` lies.
  virtual bool holds(const Buffer& part) const = 0;

 protected:
  ~SimMemory() = default;
};

class SimNet {
 public:
  explicit SimNet(const SimOptions& options = {});
  // After all drivers.
  ~SimNet();
  SimNet(const SimNet&) = delete;
  SimNet& operator=(const SimNet&) = delete;

  // A driver at `host`, which is up unless told otherwise. It listens on and
  // dials sim://HOST/NAME.
  std::unique_ptr<Driver> driver(std::string_view host);

  loop::Loop& loop();
  TimePoint now() const;

  // Does what is to be done now, then goes to the next event, of the network or
  // of the loop's timers. False if there is none.
  bool step();
  // Goes on until `done()`, at most for `limit` of virtual time. False if it
  // never came.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::minutes(10));
  void run_for(Duration time);
  // All processes are stopped for `time`. Only then does what became due
  // meanwhile happen, and timers ring before anything arrives.
  void stall(Duration time);

  // Nothing passes between the two any more. What is under way waits, and goes
  // on when they are joined again.
  void part(std::string_view a, std::string_view b, Dials dials = Dials::hang);
  void join(std::string_view a, std::string_view b);
  // `from` cannot dial `to` any more, as where that is behind a firewall, or can again.
  // Connections that stand are left alone, as is the other way.
  void block_dials(std::string_view from, std::string_view to, Dials dials = Dials::hang);
  void allow_dials(std::string_view from, std::string_view to);
  // Breaks all connections between the two; both ends hear of it.
  void break_connections(std::string_view a, std::string_view b);

  // The host's process dies, and its kernel tells the others. Its drivers and
  // connections do and hear nothing any more.
  void crash(std::string_view host);
  // The whole host falls silent, and nobody is told until it is up again.
  void switch_off(std::string_view host);
  // A new process: drivers that are made from now on work.
  void restart(std::string_view host);

  // The two are processes of one machine: what lies in `memory` passes between them by reference.
  // Before they are connected. A process that is no more leaves what it has written there.
  void share_memory(std::string_view a, std::string_view b, SimMemory& memory);

  // Stops the host from taking frames, or lets it go on.
  void set_reading(std::string_view host, bool is_reading);
  // The host takes a frame of a connection at most each `pace`.
  void set_pace(std::string_view host, Duration pace);

  // Ends of connections that nobody has destroyed yet.
  std::size_t open_ends() const;

  // Chance for the test's own decisions, from the seed but apart from the network's.
  std::uint64_t chance();

  // What happened, a line for each event; empty unless options ask for it.
  const std::vector<std::string>& transcript() const;
  // A number that stands for all that happened, always.
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::net::testing
