// Rig: what the driver suite stands on. Loops, drivers, and how time passes.

#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::net::testing {

// Who dials and who listens: on one loop with one driver, or each with its own.
enum class Sides : std::uint8_t { together, apart };

class Rig {
 public:
  struct Side {
    loop::Loop& loop;
    Driver& driver;
  };

  virtual ~Rig() = default;
  virtual Side near() = 0;  // Dials.
  virtual Side far() = 0;   // Listens.
  // One that nobody has listened on yet.
  virtual Address address() = 0;
  // Lets time pass until `done()`, which reads only what any thread may read;
  // false if it took far too long.
  virtual bool run_until(const std::function<bool()>& done) = 0;
  // Lets happen what is about to happen.
  virtual void settle() = 0;
  // Stops the far side from reading, or lets it go on. For sides apart.
  virtual void set_far_reading(bool is_reading) = 0;
};

using MakeDriver = std::function<std::unique_ptr<Driver>(loop::Loop&)>;
using MakeAddress = std::function<Address()>;

// A driver as the suite sees it.
struct Subject {
  std::string name;  // Letters, digits and _.
  std::function<std::unique_ptr<Rig>(Sides)> make_rig;
  Sides sides = Sides::together;  // For the cases that leave it open.
  // For cases with several processes; null where there can be none.
  MakeDriver make_driver = nullptr;
  MakeAddress make_address = nullptr;
  // Bytes of a large body that may go before a small message sent meanwhile: what lies in
  // the driver and in the kernel.
  std::size_t most_ahead = std::size_t{10} << 20;
};
std::ostream& operator<<(std::ostream& out, const Subject& subject);

// A rig with real loops and time. `make_driver` is called once for each loop.
std::unique_ptr<Rig> make_loop_rig(Sides sides, const MakeDriver& make_driver,
                                   MakeAddress make_address);

// A driver that needs only a loop, and crosses processes.
Subject make_subject(std::string name, MakeDriver make_driver, MakeAddress make_address,
                     Sides sides = Sides::together);

// scheme://suite-PID-N, with a new N each time.
Address fresh_address(std::string scheme);

}  // namespace muster::net::testing
