// The conformance suite: what every registry does alike.
//
// A registry's test is one list of subjects, for example
//
//   MUSTER_REGISTRY_SUITE(Embedded, embedded_subject());
//
// linked with muster_registry_testing and muster_net_testing, which has main().

#pragma once

#include <functional>
#include <iosfwd>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/net/testing/child_process.h"

namespace muster::msg::testing {

using net::testing::ChildProcess;

// What stands behind the registries of one test: a folder, a server.
class RegistryWorld {
 public:
  virtual ~RegistryWorld() = default;
  // How a registry finds it, in this process or another. Without spaces.
  virtual std::string whereabouts() const = 0;
  // Nobody can reach it from here on, until it is repaired.
  virtual void break_down() = 0;
  virtual void repair() = 0;
};

struct RegistrySubject {
  std::string name;  // Letters, digits and _.
  std::function<std::unique_ptr<RegistryWorld>()> make_world;
  std::function<std::unique_ptr<Registry>(loop::Loop&, const std::string& whereabouts)>
      make_registry;
  // Whether the end of a process on this host is known before its lease is over.
  bool knows_at_once = true;
};
std::ostream& operator<<(std::ostream& out, const RegistrySubject& subject);

// One component that keeps a record of all it hears. Any thread, all of these.
class Component final : public RegistrySink {
 public:
  // With a registry of its own, as another process would have.
  Component(loop::Loop& loop, std::unique_ptr<Registry> registry, const JoinRequest& request);
  ~Component();
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;

  void leave();
  // Goes without a goodbye.
  void vanish();
  void remind(const Member& known);

  std::uint64_t incarnation() const;  // 0 before it is admitted.
  int admissions() const;
  // The incarnation of `name` as it was told; 0 if it is not there.
  std::uint64_t knows(const std::string& name) const;
  std::size_t peers() const;
  // "joined b/2", "left b/2", "lost b/2", "admitted a/1", "unreachable",
  // "ended cancelled", in the order heard.
  std::vector<std::string> record() const;
  std::size_t count(const std::string& line) const;
  // The record's last line, or where `prefix` begins one.
  bool has(const std::string& prefix) const;
  bool is_ended() const { return has("ended"); }
  TimePoint time_of(const std::string& line) const;  // The first such.
  Member member_of(const std::string& name) const;

 private:
  void on_admitted(const Member& self) override;
  void on_joined(const Member& member) override;
  void on_left(const Member& member) override;
  void on_lost(const Member& member, const Error& why) override;
  void on_unreachable(const Error& why) override;
  void on_ended(Error why) override;
  void note(std::string line);

  loop::Loop& loop_;
  Member self_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<Membership> membership_;
  std::map<std::string, Member> peers_;
  std::vector<std::pair<std::string, TimePoint>> record_;
  bool is_inside_ = false;  // join() or leave(), where on_ended() must not come.
};

// A request as the suite makes it.
JoinRequest request_for(const std::string& group, const std::string& name,
                        Duration lease = std::chrono::milliseconds(2800));

// Components on one loop, for what a registry does by itself.
struct RegistryDesk : ::testing::Test {
  RegistryDesk() : loop(*loop::Loop::make()) {}
  ~RegistryDesk() override { components.clear(); }

  // `registry` was made under the baton, or is made of what needs none.
  Component& sit_down(std::unique_ptr<Registry> registry, const JoinRequest& request) {
    return components.emplace_back(*loop, std::move(registry), request);
  }
  bool run_until(const std::function<bool()>& done) {
    return loop->wait_until(done, loop->now() + std::chrono::seconds(30));
  }
  bool is_admitted(Component& one) {
    return run_until([&] { return one.admissions() > 0; });
  }

  std::unique_ptr<loop::Loop> loop;
  std::list<Component> components;
};

class RegistrySuite : public ::testing::TestWithParam<RegistrySubject> {
 protected:
  RegistrySuite();
  ~RegistrySuite() override;

  Component& join(const std::string& name, Duration lease = std::chrono::milliseconds(2800),
                  const std::string& group = "suite");
  // Joins, and waits until it is admitted.
  Component& join_and_wait(const std::string& name,
                           Duration lease = std::chrono::milliseconds(2800));
  std::unique_ptr<Registry> make_registry();
  // A process with one member (registry_suite_process.cpp), admitted.
  std::unique_ptr<ChildProcess> start(const std::string& name,
                                      Duration lease = std::chrono::milliseconds(2800));

  [[nodiscard]] bool run_until(const std::function<bool()>& done);
  void settle();

  std::unique_ptr<RegistryWorld> world;
  std::unique_ptr<loop::Loop> loop;

 private:
  std::list<Component> components_;
};

class RegistryProcessSuite : public RegistrySuite {
 protected:
  void expect_known_soon_after(TimePoint killed);
};

// Lets a child process find the subject that it shall be. Returns true.
bool add_registry_subjects(std::vector<RegistrySubject> subjects);

}  // namespace muster::msg::testing

#define MUSTER_REGISTRY_SUITE(prefix, ...)                                               \
  static const bool kHasRegistries##prefix = add_registry_subjects({__VA_ARGS__});       \
  INSTANTIATE_TEST_SUITE_P(prefix, RegistrySuite, ::testing::Values(__VA_ARGS__),        \
                           ::testing::PrintToStringParamName());                         \
  INSTANTIATE_TEST_SUITE_P(prefix, RegistryProcessSuite, ::testing::Values(__VA_ARGS__), \
                           ::testing::PrintToStringParamName())
