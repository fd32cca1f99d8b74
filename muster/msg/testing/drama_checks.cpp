// What the members of a drama hear, and what must hold of it.

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "muster/msg/testing/drama.h"

namespace muster::msg::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Value;

namespace {

const Wait kNow = Wait(Duration::zero());

}  // namespace

// Takes all that came to `name`, checks it, and answers most of it.
void Drama::serve(const std::string& name) {
  for (;;) {
    const auto taken = group[name].receive_once(kNow);
    if (!taken || !*taken) break;
    hear(name, **taken);
  }
  finish_some(name, false);
  check_deadlines(name);
  look_at_events(name);
}

void Drama::hear(const std::string& name, const Message& message) {
  Mind& mind = minds_[name];
  const auto& body = *message.body().as_list();
  const std::string source(message.source());
  const auto incarnation = *body[0].as_unsigned();
  const auto kind = *body[1].as_integer();
  const auto way = static_cast<Way>(kind - 1);
  const Said said{source, incarnation, name, way, *body[2].as_integer()};
  // What an outbox has kept may be of any incarnation before.
  if (kind == 0 || way != Way::kept || !has_outbox(source)) {
    for (const bool is_kept : {false, true}) {
      if (is_kept && has_outbox(source)) continue;
      EXPECT_GE(incarnation, (mind.last[{source, is_kept, message.priority()}].first))
          << "an old incarnation was heard";
    }
  }
  if (kind == 0) return;
  auto& last = mind.last[{source, way == Way::kept, message.priority()}];
  EXPECT_TRUE(mind.seen.insert(said).second) << "it came twice to one incarnation";
  EXPECT_GT(std::pair(incarnation, said.number), last) << "out of order";
  last = {incarnation, said.number};
  EXPECT_EQ(message.is_kept(), way == Way::kept);
  if (way == Way::note) arrived_.insert(said);
  if (way == Way::task && group.net.chance() % 4 != 0) {
    static_cast<void>(group[name].reply(message, message.body(), {}, kNow));
  }
  if (way != Way::kept) return;
  const bool was_handled = handled_[said] > 0;
  EXPECT_TRUE(!was_handled || message.is_redelivered()) << "it comes again, unmarked";
  EXPECT_FALSE(has_store(name) && effects_[said] > 0) << "a store knows it";
  mind.unfinished.emplace_back(said, message);
}

// Handlers return when they like.
void Drama::finish_some(const std::string& name, bool all) {
  Mind& mind = minds_[name];
  std::vector<std::pair<Said, Message>> later;
  for (auto& [said, message] : std::exchange(mind.unfinished, {})) {
    if (!all && group.net.chance() % 3 == 0) {
      later.emplace_back(said, message);
    } else {
      handle(name, said, message);
    }
  }
  mind.unfinished = std::move(later);
}

void Drama::handle(const std::string& name, const Said& said, const Message& message) {
  ++handled_[said];
  if (has_store(name)) {
    ++effects_[said];
    stores_[name].ids.try_emplace({said.from, message.message_id()});
  }
  if (message.session_type() == SessionType::task) {
    const Status replied = group[name].reply(message, message.body(), {}, kNow);
    EXPECT_TRUE(replied || leavers_.contains(said.from)) << replied.error().describe();
  }
  // Some are killed just here: handled, and nobody knows.
  if (group.net.chance() % 8 == 0) {
    minds_[name].unsaid.push_back(message);
  } else {
    EXPECT_TRUE(group[name].done(message));
  }
}

void Drama::look_at_events(const std::string& name) {
  using Kind = ProxyEvent::Kind;
  while (const auto event = group[name].next_event(kNow)) {
    switch (event->kind) {
      case Kind::dropped: dropped(name, *event); break;
      case Kind::link_broke:
      case Kind::lost:
      case Kind::left:
      case Kind::returned: ++minds_[name].troubles[event->peer]; break;
      case Kind::refused: ADD_FAILURE() << name << " refused: " << event->text; break;
      default: break;
    }
  }
}

void Drama::dropped(const std::string& name, const ProxyEvent& event) {
  if (!event.session) ++minds_[name].troubles[event.peer];  // Several, that waited in a link.
  const auto sent = sent_.find(event.session);
  if (sent == sent_.end() || sent->second.from != name) return;  // An answer.
  const Said& said = sent->second;
  EXPECT_EQ(said.to, event.peer);
  if (said.way == Way::note) notes_.erase(said);
  if (said.way != Way::kept) return;
  EXPECT_TRUE(leavers_.contains(said.to)) << "who has not left may still handle it";
  kept_.erase(said);
}

void Drama::check_deadlines(const std::string& name) {
  std::erase_if(minds_[name].asked, [&](const Asked& asked) {
    if (!group[name].is_answered(asked.id)) {
      EXPECT_LE(group.net.now(), asked.deadline + milliseconds(1)) << "it hung past its deadline";
      return false;
    }
    EXPECT_TRUE(group[name].receive_by_id({asked.id}, kNow)->missing.empty());
    return true;
  });
}

void Drama::come_to_rest() {
  // Where there is little room, what is kept goes from one to the other bit by bit.
  const auto keeps_some = [this](const std::string& name) {
    return group[name].counters().kept > 0;
  };
  for (int round = 0; round < 4 || (is_crowded_ && round < 30); ++round) {
    if (round >= 4 && std::ranges::none_of(group.names(), keeps_some)) break;
    group.net.run_for(seconds(2));
    for (const std::string& name : group.names()) {
      serve(name);
      finish_some(name, true);
      for (const Message& message : std::exchange(minds_[name].unsaid, {})) {
        EXPECT_TRUE(group[name].done(message));
      }
    }
  }
  for (const std::string& name : group.names()) {
    EXPECT_TRUE(minds_[name].asked.empty()) << "a session is left";
    EXPECT_EQ(group[name].counters().open_sessions, 0U);
    EXPECT_EQ(group[name].counters().kept, 0U) << name << " keeps what was handled";
  }
}

void Drama::check_elders() {
  for (Proxy* elder : group.elders()) {
    const auto ended = elder->ended();
    EXPECT_TRUE(ended && ended->code() == Code::invalid) << elder->name() << " is not fenced";
  }
}

// What did not arrive, its sender was told of: as a drop, or by what became of the
// link or of the peer.
void Drama::check_notes() {
  for (const Said& said : notes_) {
    if (arrived_.contains(said)) continue;
    const Mind& mind = minds_[said.from];
    const auto troubles = mind.troubles.find(said.to);
    EXPECT_TRUE(troubles != mind.troubles.end() && troubles->second > mind.before.at(said))
        << said.from << " lost number " << said.number << " to " << said.to << " untold";
  }
}

void Drama::check_kept() {
  for (const Said& said : kept_) {
    EXPECT_GE(handled_[said], 1) << said.from << " number " << said.number << " to " << said.to
                                 << " was never handled";
  }
  for (const auto& [said, times] : effects_)
    EXPECT_LE(times, 1) << "twice, though there is a store";
}

// Each task that is kept has its answer, unless a store has it as handled and no more, or
// who was to answer has left.
void Drama::check_assigned() {
  for (const std::string& name : group.names()) {
    for (const auto& [id, said] : minds_[name].assigned) {
      const auto replies = group[name].receive_by_id({id}, kNow);
      ASSERT_TRUE(replies && replies->missing.empty()) << name << " waits for " << said.to;
      for (const Message& reply : replies->messages) {
        const auto& body = *reply.body().as_list();
        EXPECT_TRUE(body[0] == Value(said.incarnation) && body[2] == Value(said.number));
      }
      for (const auto& failure : replies->failures) {
        EXPECT_TRUE((has_store(said.to) && failure.error.code() == Code::failed) ||
                    (leavers_.contains(said.to) && failure.error.code() == Code::unavailable))
            << failure.error.describe();
      }
    }
  }
}

}  // namespace muster::msg::testing
