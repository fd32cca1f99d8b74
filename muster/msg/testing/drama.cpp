#include "muster/msg/testing/drama.h"

#include <utility>

#include <gtest/gtest.h>

namespace muster::msg::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Value;

const Wait kNow = Wait(Duration::zero());
constexpr Duration kLease = milliseconds(2800);

// Most groups are small: what goes wrong, goes wrong among three.
int size_of(std::uint64_t seed, std::uint64_t chance) {
  if (seed % 500 == 250) return 50;
  if (seed % 100 == 50) return static_cast<int>(13 + chance % 18);
  if (seed % 10 == 5) return static_cast<int>(7 + chance % 6);
  return static_cast<int>(3 + chance % 4);
}

}  // namespace

Drama::Drama(std::uint64_t seed, bool keeps_transcript)
    : group({.seed = seed, .keeps_transcript = keeps_transcript}),
      size_(size_of(seed, group.net.chance())) {
  for (int i = 0; i < size_; ++i) start(name_of(i));
}

std::string Drama::someone() { return name_of(static_cast<int>(group.net.chance() % size_)); }

void Drama::start(const std::string& name, bool replaces) {
  minds_[name] = {};
  const auto tweak = [&](ProxyOptions& options) {
    if (has_store(name)) options.dedup = &stores_[name];
    if (has_outbox(name)) options.outbox = &outboxes_[name];
    options.max_events = std::size_t{1} << 20;
  };
  replaces ? group.replace(name, tweak) : group.add(name, tweak);
}

void Drama::crash(const std::string& name) {
  if (!group.has(name)) return;
  group.crash(name);
  minds_[name] = {};
  // With it goes what it has said and not delivered; but not what is in an outbox.
  std::erase_if(notes_, [&](const Said& said) { return said.from == name; });
  if (!has_outbox(name)) std::erase_if(kept_, [&](const Said& said) { return said.from == name; });
}

void Drama::play() {
  ASSERT_TRUE(group.settle()) << "they never met";
  const int acts = 10 + static_cast<int>(group.net.chance() % 30);
  for (int i = 0; i < acts; ++i) {
    act();
    group.net.run_for(milliseconds(group.net.chance() % 800));
    for (const std::string& name : group.names()) serve(name);
  }
  end_faults();
  ASSERT_TRUE(group.run_until([this] { return group.all_know_each_other(); }, kLease))
      << "they do not agree within a lease";
  ASSERT_TRUE(group.settle(seconds(12))) << "not all are linked";
  come_to_rest();
  check_elders();
  check_notes();
  check_kept();
  check_assigned();
}

void Drama::act() {
  const std::string name = someone();
  const std::string other = someone();
  switch (group.net.chance() % 12) {
    case 0: crash(name); break;
    case 1:
      if (!group.has(name)) start(name);
      break;
    case 2: group.net.break_connections(name, other); break;
    case 3:
      if (name != other) part(name, other);
      break;
    case 4: join_all(); break;
    case 5: group.registry.set_reachable(group.net.chance() % 2 == 0); break;
    case 6:
      // A second process under a name whose first one is not dead, only slow. Their
      // stores are files, which one process has at a time.
      if (group.has(name) && !has_store(name) && !has_outbox(name) && group.net.chance() % 3 == 0) {
        std::erase_if(kept_, [&](const Said& said) { return said.from == name; });
        std::erase_if(notes_, [&](const Said& said) { return said.from == name; });
        start(name, true);
      }
      break;
    default: talk(name, other);
  }
}

void Drama::part(const std::string& a, const std::string& b) {
  group.net.part(a, b);
  parted_.emplace(a, b);
}

void Drama::join_all() {
  for (const auto& [a, b] : parted_) group.net.join(a, b);
  parted_.clear();
}

void Drama::talk(const std::string& name, const std::string& other) {
  if (!group.has(name) || name == other) return;
  const int count = 1 + static_cast<int>(group.net.chance() % 5);
  for (int i = 0; i < count; ++i) {
    say(name, group[name], other, static_cast<Way>(group.net.chance() % 3));
  }
  // An elder that does not know yet goes on to talk, too.
  for (Proxy* elder : group.elders()) {
    if (elder->name() != name || elder->ended()) continue;
    Draft draft{.tag = "say", .destination = other, .session_type = SessionType::notification};
    draft.body = Value::List{elder->incarnation(), 0, 0};
    static_cast<void>(elder->isend(draft));
  }
}

void Drama::say(const std::string& name, Proxy& proxy, const std::string& other, Way way) {
  Said said{name, proxy.incarnation(), other, way, ++last_said_[{name, other}]};
  Draft draft{.tag = "say", .destination = other};
  draft.body = Value::List{said.incarnation, static_cast<int>(way) + 1, said.number};
  const bool is_task = way == Way::task || (way == Way::kept && said.number % 2 == 0);
  draft.session_type = is_task ? SessionType::task : SessionType::notification;
  if (way == Way::kept) draft.delivery = Delivery::at_least_once;
  if (way == Way::task) {
    draft.deadline = group.net.now() + milliseconds(100 + group.net.chance() % 5000);
  }
  Mind& mind = minds_[name];
  const Result<SessionId> sent = proxy.isend(draft);
  if (!sent) return;
  if (way == Way::task) mind.asked.push_back({*sent, draft.deadline});
  if (way == Way::note) {
    notes_.insert(said);
    mind.before[said] = mind.troubles[other];
  }
  if (way == Way::kept) kept_.insert(said);
  if (way == Way::kept && is_task) mind.assigned.emplace_back(*sent, said);
}

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
    for (const Way any : {Way::task, Way::note, Way::kept}) {
      if (any == Way::kept && has_outbox(source)) continue;
      EXPECT_GE(incarnation, (mind.last[{source, any}].first)) << "an old incarnation was heard";
    }
  }
  if (kind == 0) return;
  auto& last = mind.last[{source, way}];
  EXPECT_TRUE(mind.seen.insert(said).second) << "it came twice to one incarnation";
  EXPECT_GT(std::pair(incarnation, said.number), last) << "out of order";
  last = {incarnation, said.number};
  EXPECT_EQ(message.is_kept(), way == Way::kept);
  if (way == Way::note) arrived_.insert(said);
  if (way == Way::task && group.net.chance() % 4 != 0) {
    static_cast<void>(group[name].reply(message, message.body()));
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
    EXPECT_TRUE(group[name].reply(message, message.body()));
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
      case Kind::dropped:
      case Kind::link_broke:
      case Kind::lost:
      case Kind::left:
      case Kind::returned: ++minds_[name].troubles[event->peer]; break;
      case Kind::refused: ADD_FAILURE() << name << " refused: " << event->text; break;
      default: break;
    }
  }
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

void Drama::end_faults() {
  join_all();
  group.registry.set_reachable(true);
  for (int i = 0; i < size_; ++i) {
    if (!group.has(name_of(i))) start(name_of(i));
  }
}

void Drama::come_to_rest() {
  for (int round = 0; round < 4; ++round) {
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

// Each task that is kept has its answer, unless a store has it as handled and no more.
void Drama::check_assigned() {
  for (const std::string& name : group.names()) {
    for (const auto& [id, said] : minds_[name].assigned) {
      const auto replies = group[name].receive_by_id({id}, kNow);
      ASSERT_TRUE(replies && replies->missing.empty()) << name << " waits for " << said.to;
      const Value body = Value::List{said.incarnation, static_cast<int>(said.way) + 1, said.number};
      for (const Message& reply : replies->messages) EXPECT_EQ(reply.body(), body);
      for (const auto& failure : replies->failures) {
        EXPECT_TRUE(has_store(said.to) && failure.error.code() == Code::failed)
            << failure.error.describe();
      }
    }
  }
}

}  // namespace muster::msg::testing
