// FakeRegistry: who is there, in memory, for tests under virtual or real time.
//
// News reach each member `delay` after they happened, in order. The test says
// who crashes, and when the registry is out of reach.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"
#include "muster/msg/registry.h"

namespace muster::msg::testing {

class FakeRegistry final : public Registry {
 public:
  explicit FakeRegistry(loop::Loop& loop, Duration delay = std::chrono::milliseconds(1));
  ~FakeRegistry() override;

  Result<std::unique_ptr<Membership>> join(const JoinRequest& request, RegistrySink& sink) override;
  Result<std::unique_ptr<Inquiry>> ask(const std::string& group, OnRoll done) override;

  // The process of `name` has died: the others hear of it. (One whose
  // membership is destroyed without leave() has died as well.)
  void crash(std::string_view group, std::string_view name);

  // How high those had counted who are not there is not known any more.
  void forget(std::string_view group);

  // Of what happens from now on.
  void set_delay(Duration delay) { delay_ = delay; }
  // While out of reach, nobody hears anything; then all is told anew.
  void set_reachable(bool is_reachable);

 private:
  class Seat;
  class Question;
  struct Record {
    Member member;
    Seat* seat = nullptr;  // Null: it is not there.
  };
  struct Group {
    std::map<std::string, Record> records;
  };

  void admit(Seat& seat);
  void remove(Seat& seat, bool is_goodbye);
  void remind(const std::string& group, const Member& known);
  void tell_others(const std::string& group, const std::string& name,
                   const std::function<void(RegistrySink&)>& what);

  loop::Loop& loop_;
  Duration delay_;
  bool is_reachable_ = true;
  std::map<std::string, Group> groups_;
  std::vector<Seat*> seats_;
};

}  // namespace muster::msg::testing
