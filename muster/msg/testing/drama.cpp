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

// Every other one, of each size.
bool is_crowded(std::uint64_t seed) { return seed / 20 % 2 == 1; }

net::testing::SimOptions net_of(std::uint64_t seed, bool keeps_transcript) {
  net::testing::SimOptions options{.seed = seed, .keeps_transcript = keeps_transcript};
  if (is_crowded(seed)) {
    options.max_frames = 4;
    options.max_bytes = 8192;
  }
  return options;
}

}  // namespace

Drama::Drama(std::uint64_t seed, bool keeps_transcript)
    : group(net_of(seed, keeps_transcript)),
      size_(size_of(seed, group.net.chance())),
      is_crowded_(is_crowded(seed)) {
  if (group.net.chance() % 4 == 0) {  // One whom nobody can dial.
    for (int i = 1; i < size_; ++i) block(name_of(i), name_of(0));
  }
  for (int i = 0; i < size_; ++i) start(name_of(i));
}

// With so many bytes behind what it says.
Value Drama::body_of(const Said& said, std::size_t padding) {
  return Value::List{said.incarnation, static_cast<int>(said.way) + 1, said.number,
                     std::string(padding, ' ')};
}

std::string Drama::someone() { return name_of(static_cast<int>(group.net.chance() % size_)); }

void Drama::start(const std::string& name, bool replaces) {
  minds_[name] = {};
  const auto tweak = [&](ProxyOptions& options) {
    if (has_store(name)) options.dedup = &stores_[name];
    if (has_outbox(name)) options.outbox = &outboxes_[name];
    options.max_events = std::size_t{1} << 20;
    if (is_crowded_) shorten_queues(options);
  };
  replaces ? group.replace(name, tweak) : group.add(name, tweak);
}

void Drama::shorten_queues(ProxyOptions& options) {
  const auto policy = [this] { return static_cast<DropPolicy>(group.net.chance() % 3); };
  options.max_queued = std::size_t{2048} << (group.net.chance() % 4);
  options.when_full = policy();
  options.max_waiting = std::size_t{2048} << (group.net.chance() % 4);
  options.window = std::uint32_t{1} << 17;
  options.absent = {.max_messages = 1 + group.net.chance() % 8, .policy = policy()};
  options.kept.max_messages = 1 + group.net.chance() % 8;
  options.max_sessions = 4 + group.net.chance() % 60;
}

void Drama::crash(const std::string& name) {
  if (!group.has(name)) return;
  look_at_events(name);  // What it was told, it was told.
  group.crash(name);
  minds_[name] = {};
  // With it goes what it has said and not delivered; but not what is in an outbox.
  std::erase_if(notes_, [&](const Said& said) { return said.from == name; });
  if (!has_outbox(name)) std::erase_if(kept_, [&](const Said& said) { return said.from == name; });
}

// Whatever it has said and not delivered is its own affair, as when it crashes. What others
// have said to it is not: they hear that it has left.
void Drama::leave(const std::string& name) {
  if (!group.has(name)) return;
  serve(name);
  leavers_.insert(name);
  static_cast<void>(group[name].leave(kNow));
  if (group.net.chance() % 4 != 0) group.net.run_for(milliseconds(group.net.chance() % 3000));
  static_cast<void>(group[name].leave(kNow));  // Writes what it has heard meanwhile.
  crash(name);
}

void Drama::play() {
  ASSERT_TRUE(group.settle()) << "they never met";
  const int acts = 10 + static_cast<int>(group.net.chance() % 30);
  for (int i = 0; i < acts; ++i) {
    act();
    group.net.run_for(milliseconds(group.net.chance() % 800));
    for (const std::string& name : group.names()) {
      if (!minds_[name].is_drowsy) serve(name);
    }
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
  switch (group.net.chance() % 16) {
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
    case 7: leave(name); break;
    case 8: block(name, other); break;
    case 9: slow_down(name); break;
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

// For good, but never both ways: they could not meet.
void Drama::block(const std::string& from, const std::string& to) {
  if (from == to || blocked_.contains({to, from})) return;
  blocked_.emplace(from, to);
  group.net.block_dials(from, to, static_cast<net::testing::Dials>(group.net.chance() % 2));
}

// Its host takes frames slowly, or not at all, or it does not look at what comes; or it does
// again.
void Drama::slow_down(const std::string& name) {
  switch (group.net.chance() % 4) {
    case 0: group.net.set_pace(name, milliseconds(group.net.chance() % 30)); break;
    case 1: group.net.set_reading(name, false); break;
    case 2: group.net.set_reading(name, true); break;
    default: minds_[name].is_drowsy = !minds_[name].is_drowsy;
  }
}

// Few bytes, or now and then more than most queues have room for.
std::size_t Drama::padding() {
  const bool is_long = group.net.chance() % 16 == 0;
  return group.net.chance() % (is_long ? 20000 : 700);
}

void Drama::talk(const std::string& name, const std::string& other) {
  if (!group.has(name) || name == other) return;
  look_at_events(name);
  const int count = 1 + static_cast<int>(group.net.chance() % (is_crowded_ ? 30 : 5));
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
  draft.body = body_of(said, is_crowded_ ? padding() : 0);
  draft.priority = static_cast<Priority>(group.net.chance() % net::kPriorities);
  const bool is_task = way == Way::task || (way == Way::kept && said.number % 2 == 0);
  draft.session_type = is_task ? SessionType::task : SessionType::notification;
  if (way == Way::kept) draft.delivery = Delivery::at_least_once;
  if (way == Way::task) {
    draft.deadline = group.net.now() + milliseconds(100 + group.net.chance() % 5000);
  }
  Mind& mind = minds_[name];
  const Result<SessionId> sent = proxy.isend(draft);
  if (!sent) return;
  sent_.emplace(*sent, said);
  if (way == Way::task) mind.asked.push_back({*sent, draft.deadline});
  if (way == Way::note) {
    notes_.insert(said);
    mind.before[said] = mind.troubles[other];
  }
  if (way == Way::kept) kept_.insert(said);
  if (way == Way::kept && is_task) mind.assigned.emplace_back(*sent, said);
}

void Drama::end_faults() {
  join_all();
  group.registry.set_reachable(true);
  for (int i = 0; i < size_; ++i) {
    group.net.set_pace(name_of(i), Duration::zero());
    group.net.set_reading(name_of(i), true);
  }
  for (int i = 0; i < size_; ++i) {
    if (!group.has(name_of(i))) start(name_of(i));
  }
}

}  // namespace muster::msg::testing
