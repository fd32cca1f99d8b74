// Three: a master and two workers under virtual time, and how tests talk to them.

#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/sim_group.h"

namespace muster::msg::testing {

using Kind = ProxyEvent::Kind;

inline const Wait kNow = Wait(Duration::zero());

inline Message take(SimGroup& group, const std::string& name) {
  EXPECT_TRUE(group.run_until([&] { return group[name].counters().waiting > 0; }));
  return *std::move(*group[name].receive_once(kNow));
}

// Waits for the outcome of a session without waiting.
inline Replies outcome(SimGroup& group, Proxy& proxy, SessionId id) {
  EXPECT_TRUE(group.run_until([&] { return proxy.is_answered(id); }));
  return *proxy.receive_by_id({id}, kNow);
}

inline std::vector<Kind> events(Proxy& proxy) {
  std::vector<Kind> kinds;
  while (const auto event = proxy.next_event(kNow)) kinds.push_back(event->kind);
  return kinds;
}

inline bool has(const std::vector<Kind>& kinds, Kind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// A master and two workers who have met.
struct Three : ::testing::Test {
  Three() {
    group.add("master");
    group.add("worker_1");
    group.add("worker_2");
    EXPECT_TRUE(group.settle());
    master = &group["master"];
    events(*master);
  }
  SessionId ask(const std::string& whom, Draft draft = {}) {
    if (!draft.tag.is_valid()) draft.tag = "sum";
    draft.destination = whom;
    return *master->isend(std::move(draft));
  }

  SimGroup group;
  Proxy* master = nullptr;
};

}  // namespace muster::msg::testing
