#include "muster/net/testing/rig.h"

#include <atomic>
#include <ostream>
#include <thread>
#include <utility>

#include <unistd.h>

#include "muster/base/check.h"
#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

using std::chrono::milliseconds;

// Long enough for any case on a busy machine with sanitizers. An emulated one
// may take longer.
std::chrono::seconds patience() {
  static const std::size_t kSeconds = from_environment("MUSTER_PATIENCE", 60);
  return std::chrono::seconds(kSeconds);
}
// Long enough for whatever is on its way over loopback. Only to show that
// something does not happen; what must happen is waited for.
constexpr milliseconds kSettle(20);

std::unique_ptr<loop::Loop> make_loop() {
  auto made = loop::Loop::make();
  MUSTER_CHECK(made.has_value(), "a test has descriptors left for a loop");
  return *std::move(made);
}

struct Station {
  explicit Station(const MakeDriver& make_driver) : loop(make_loop()) {
    const loop::Turn turn(*loop);
    driver = make_driver(*loop);
  }
  ~Station() {
    const loop::Turn turn(*loop);
    driver.reset();
  }
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  std::unique_ptr<loop::Loop> loop;
  std::unique_ptr<Driver> driver;
};

class LoopRig final : public Rig {
 public:
  LoopRig(Sides sides, const MakeDriver& make_driver, MakeAddress make_address)
      : near_(make_driver), make_address_(std::move(make_address)) {
    if (sides == Sides::apart) far_ = std::make_unique<Station>(make_driver);
  }
  ~LoopRig() override { set_far_reading(true); }

  Side near() override { return {*near_.loop, *near_.driver}; }
  Side far() override { return far_ ? Side{*far_->loop, *far_->driver} : near(); }
  Address address() override { return make_address_(); }
  bool run_until(const std::function<bool()>& done) override;
  void settle() override;
  void set_far_reading(bool is_reading) override;

 private:
  Station near_;
  std::unique_ptr<Station> far_;
  MakeAddress make_address_;
  std::thread holder_;  // Of the far loop's baton while it does not read.
  std::atomic<bool> is_holding_{false};
};

bool LoopRig::run_until(const std::function<bool()>& done) {
  const TimePoint deadline = near_.loop->now() + patience();
  if (!far_) return near_.loop->wait_until(done, deadline);
  // What happens on the far loop wakes nobody here.
  while (near_.loop->now() < deadline) {
    if (near_.loop->wait_until(done, near_.loop->now() + milliseconds(1))) return true;
  }
  return false;
}

void LoopRig::settle() {
  near_.loop->wait_until([] { return false; }, near_.loop->now() + kSettle);
}

void LoopRig::set_far_reading(bool is_reading) {
  if (is_reading != holder_.joinable()) return;
  MUSTER_CHECK(far_ != nullptr, "only a rig with sides apart can stop one of them");
  is_holding_ = !is_reading;
  is_holding_.notify_all();
  if (is_reading) return holder_.join();
  std::atomic<bool> has_begun = false;
  holder_ = std::thread([this, &has_begun] {
    const loop::Turn turn(*far_->loop);
    has_begun = true;
    has_begun.notify_all();
    is_holding_.wait(true);
  });
  has_begun.wait(false);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Subject& subject) { return out << subject.name; }

std::unique_ptr<Rig> make_loop_rig(Sides sides, const MakeDriver& make_driver,
                                   MakeAddress make_address) {
  return std::make_unique<LoopRig>(sides, make_driver, std::move(make_address));
}

Subject make_subject(std::string name, MakeDriver make_driver, MakeAddress make_address,
                     Sides sides) {
  const auto make_rig = [make_driver, make_address](Sides wanted) {
    return make_loop_rig(wanted, make_driver, make_address);
  };
  return {std::move(name), make_rig, sides, std::move(make_driver), std::move(make_address)};
}

Address fresh_address(std::string scheme) {
  static std::atomic<int> count = 0;
  std::string name = "suite-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  return {.scheme = std::move(scheme), .host = std::move(name), .port = 0, .last_port = 0};
}

}  // namespace muster::net::testing
