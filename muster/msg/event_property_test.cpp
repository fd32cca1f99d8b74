// The event table against its model, and conditions against their text, on
// random conditions, arrivals, membership changes and times.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "muster/msg/event_parser.h"
#include "muster/msg/event_table.h"
#include "muster/msg/testing/event_model.h"

namespace muster::msg {

// Shown where a property fails.
void showValue(const EventCondition& condition, std::ostream& out) { out << condition.to_string(); }

namespace {

namespace gen = rc::gen;

struct Peer {
  const char* name;
  const char* type;
};
// Names that are other names' beginnings and parts, one that is also a type.
constexpr Peer kPeers[] = {{"worker_1", "worker"}, {"worker_10", "worker"},
                           {"worker_2", "worker"}, {"coworker_1", "coworker"},
                           {"worker", "learner"},  {"w", "w"}};
constexpr const char* kTags[] = {"x", "y", "z"};

enum class What { push, join, join_as_another, leave, wait, add, remove, clear };

struct Step {
  What what;
  Peer peer;
  const char* tag;
  int number;
};

void showValue(const Step& step, std::ostream& out) {
  constexpr const char* kWords[] = {"push", "join", "join_as_another", "leave",
                                    "wait", "add",  "remove",          "clear"};
  out << kWords[static_cast<int>(step.what)] << " " << step.peer.name << " " << step.tag << " "
      << step.number;
}

rc::Gen<EventCondition> any_unit() {
  return gen::apply(
      [](const char* source, const char* tag, std::uint32_t amount, std::uint32_t percent,
         bool is_percentage, bool is_distinct) {
        const EventAmount how_many{is_percentage ? percent : amount, is_percentage};
        return EventCondition(EventUnit{source, tag, how_many, is_distinct});
      },
      gen::element("*", "worker", "worker_1", "worker_*", "w*", "worker_1*", "coworker", "w"),
      gen::element("x", "y", "z", "*"), gen::inRange<std::uint32_t>(1, 4),
      gen::element<std::uint32_t>(1, 33, 34, 50, 60, 99, 100), gen::arbitrary<bool>(),
      gen::map(gen::inRange(0, 4), [](int dice) { return dice == 0; }));
}

rc::Gen<EventCondition> any_group(int depth) {
  if (depth == 0) return any_unit();
  const auto parts = gen::mapcat(gen::inRange<std::size_t>(1, 4), [depth](std::size_t count) {
    return gen::container<std::vector<EventCondition>>(count, any_group(depth - 1));
  });
  return gen::oneOf(any_unit(), gen::map(parts, [](const auto& list) { return all_of(list); }),
                    gen::map(parts, [](const auto& list) { return any_of(list); }));
}

rc::Gen<EventCondition> any_condition() {
  return gen::apply(
      [](const EventCondition& condition, int seconds) {
        return seconds > 5 ? condition : condition.within(std::chrono::seconds(seconds));
      },
      any_group(3), gen::inRange(1, 11));
}

rc::Gen<Step> any_step() {
  const auto what = gen::weightedElement<What>({{40, What::push},
                                                {6, What::join},
                                                {1, What::join_as_another},
                                                {5, What::leave},
                                                {5, What::wait},
                                                {4, What::add},
                                                {1, What::remove},
                                                {1, What::clear}});
  return gen::construct<Step>(
      what, gen::elementOf(std::vector<Peer>(std::begin(kPeers), std::end(kPeers))),
      gen::elementOf(std::vector<const char*>(std::begin(kTags), std::end(kTags))),
      gen::inRange(0, 6));
}

// Both at once, step by step.
class Pair {
 public:
  Pair(std::vector<EventCondition> conditions, std::size_t limit)
      : conditions_(std::move(conditions)), table_({limit}), model_(limit) {
    for (const EventCondition& condition : conditions_) add(condition);
  }

  void take(const Step& step) {
    const auto& [name, type] = step.peer;
    switch (step.what) {
      case What::push: push({name, type, step.tag, ++last_ticket_}); break;
      case What::join:
        agree(table_.joined(name, type, now_), model_.joined(name, type, now_));
        break;
      case What::join_as_another:
        agree(table_.joined(name, "other", now_), model_.joined(name, "other", now_));
        break;
      case What::leave: agree(table_.left(name, now_), model_.left(name, now_)); break;
      case What::wait:
        now_ += std::chrono::seconds(step.number);
        // Now and then the clock is late, and the next step finds out.
        if (step.number % 2 == 0) agree(table_.advance(now_), model_.advance(now_));
        break;
      case What::add:
        add(conditions_[static_cast<std::size_t>(step.number) % conditions_.size()]);
        break;
      case What::remove: remove(static_cast<EventId>(step.number)); break;
      case What::clear: RC_ASSERT(table_.clear() == model_.clear()); break;
    }
    RC_ASSERT(table_.next_deadline() == model_.next_deadline());
    for (EventId id = 1; id <= model_.last_id(); ++id) {
      RC_ASSERT(table_.waiting(id) == model_.waiting(id));
    }
  }

  std::size_t fired() const { return fired_; }

 private:
  void push(const EventArrival& arrival) {
    agree(table_.push(arrival, now_), model_.push(arrival, now_));
  }

  void add(const EventCondition& condition) {
    const Result<EventId> id = table_.add(condition);
    RC_ASSERT(id.has_value());
    RC_ASSERT(*id == model_.add(condition));
  }

  void remove(EventId id) {
    const Result<std::vector<EventTicket>> tickets = table_.remove(id);
    const auto expected = model_.remove(id);
    RC_ASSERT(tickets.has_value() == expected.has_value());
    if (expected) RC_ASSERT(*tickets == *expected);
  }

  void agree(const EventOutcome& outcome, const EventOutcome& expected) {
    RC_ASSERT(outcome.holders == expected.holders);
    RC_ASSERT(outcome.firings.size() == expected.firings.size());
    for (std::size_t i = 0; i < outcome.firings.size(); ++i) {
      RC_ASSERT(outcome.firings[i].event == expected.firings[i].event);
      RC_ASSERT(outcome.firings[i].tickets == expected.firings[i].tickets);
      RC_ASSERT(outcome.firings[i].is_partial == expected.firings[i].is_partial);
    }
    RC_ASSERT((outcome.dropped == expected.dropped));
    fired_ += outcome.firings.size();
  }

  std::vector<EventCondition> conditions_;
  EventTable table_;
  EventModel model_;
  TimePoint now_{std::chrono::hours(1)};
  EventTicket last_ticket_ = 0;
  std::size_t fired_ = 0;
};

RC_GTEST_PROP(EventProperty, DoesWhatTheModelDoes, ()) {
  const auto count = *gen::inRange<std::size_t>(1, 5);
  const auto conditions = *gen::container<std::vector<EventCondition>>(count, any_condition());
  const auto limit = *gen::inRange<std::size_t>(3, 8);
  const auto steps = *gen::scale(4, gen::container<std::vector<Step>>(any_step()));

  Pair pair(conditions, limit);
  for (const Step& step : steps) pair.take(step);
  RC_CLASSIFY(pair.fired() > 10, "fired more than ten times");
}

RC_GTEST_PROP(EventProperty, ReadsEveryConditionBackFromItsText, ()) {
  const EventCondition condition = *any_condition();

  const Result<EventCondition> read = parse_event(condition.to_string());
  RC_ASSERT(read.has_value());
  RC_ASSERT((*read == condition));
}

// A text that was right once, with some of it changed, lost or added.
std::string damaged(std::string text) {
  for (int edits = *gen::inRange(0, 3); edits > 0; --edits) {
    const auto at = *gen::inRange<std::size_t>(0, text.size() + 1);
    const auto word =
        *gen::element<std::string>("w", ":", ":1", "%", " && ", "||", " or ", "(", ")", " distinct",
                                   " within 5s", "'", "*", " ", "0", "\xC3\xA4", "\n", "");
    text.replace(at, *gen::inRange<std::size_t>(0, 3), word);
  }
  return text;
}

RC_GTEST_PROP(EventProperty, ReadsWhatItCanWriteAndPointsIntoTheRest, ()) {
  const std::string text = damaged((*any_condition()).to_string());

  const Result<EventCondition> read = parse_event(text);
  RC_CLASSIFY(read.has_value(), "readable");
  if (read) {
    RC_ASSERT((*parse_event(read->to_string()) == *read));
    return;
  }
  const std::string& message = read.error().message();
  RC_ASSERT(message.starts_with("read the event: character "));
  RC_ASSERT(std::stoul(message.substr(26)) <= text.size() + 1);
  RC_ASSERT(message.ends_with("^"));
}

}  // namespace
}  // namespace muster::msg
