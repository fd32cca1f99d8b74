// Conditions and the table that keeps what waits for them. Nothing here waits.

#include <chrono>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collected.h"
#include "conditions.h"
#include "errors.h"
#include "muster/msg/event_table.h"
#include "muster/msg/event_tuple.h"

namespace muster::python {

using msg::EventCondition;

namespace {

TimePoint to_time(double seconds) {
  constexpr double kLongest = 9e9;  // Nanoseconds fit into 64 bits.
  if (!(std::abs(seconds) <= kLongest)) {
    raise(Error(Code::invalid, "a time is a number of seconds, at most 9e9"));
  }
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
}

EventCondition checked(EventCondition condition) {
  if (condition.error() != nullptr) raise(*condition.error());
  return condition;
}

std::vector<EventCondition> to_parts(const nb::args& said) {
  std::vector<EventCondition> parts;
  for (const nb::handle part : said) parts.push_back(to_condition(part));
  return parts;
}

// The table, and what the tickets in it stand for.
class PyEventTable {
 public:
  explicit PyEventTable(std::size_t waiting_limit) : table_({.waiting_limit = waiting_limit}) {}
  PyEventTable(const PyEventTable&) = delete;
  PyEventTable& operator=(const PyEventTable&) = delete;

  msg::EventId add(nb::handle condition) { return unwrap(table_.add(to_condition(condition))); }

  nb::list remove(msg::EventId event) {
    nb::list items;
    for (const msg::EventTicket ticket : unwrap(table_.remove(event)))
      items.append(release(ticket));
    return items;
  }

  void clear() {
    table_.clear();
    // What goes with an item may call this.
    const auto gone = std::exchange(held_, {});
  }

  nb::list push(nb::object item, const std::string& source, const std::string& tag,
                const std::string& type, double now) {
    const msg::EventTicket ticket = ++last_;
    msg::EventOutcome outcome = table_.push({source, type, tag, ticket}, to_time(now));
    if (outcome.holders > 0) held_.emplace(ticket, Held{std::move(item), outcome.holders});
    return give(outcome);
  }
  nb::list joined(const std::string& name, const std::string& type, double now) {
    return give(table_.joined(name, type, to_time(now)));
  }
  nb::list left(const std::string& name, double now) {
    return give(table_.left(name, to_time(now)));
  }
  nb::list advance(double now) { return give(table_.advance(to_time(now))); }

  std::size_t size() const { return table_.size(); }
  std::size_t waiting(msg::EventId event) const { return table_.waiting(event); }

  // For collected.h.
  template <class Visit>
  int each_held(Visit visit) const {
    for (const auto& [ticket, held] : held_) {
      if (const int stops = visit(held.item.ptr())) return stops;
    }
    return 0;
  }
  void let_go() { clear(); }

 private:
  struct Held {
    nb::object item;
    std::size_t holders;
  };

  nb::object release(msg::EventTicket ticket) {
    const auto found = held_.find(ticket);
    if (found == held_.end()) return nb::none();  // What went with another has called clear().
    nb::object item = found->second.item;
    if (--found->second.holders == 0) held_.erase(found);
    return item;
  }

  nb::list give(const msg::EventOutcome& outcome) {
    nb::list firings;
    for (const msg::EventFiring& firing : outcome.firings) {
      nb::list items;
      for (const msg::EventTicket ticket : firing.tickets) items.append(release(ticket));
      firings.append(nb::make_tuple(firing.event, items, firing.is_partial));
    }
    // Let go when all are found: what goes with one may call this.
    std::vector<nb::object> gone;
    for (const msg::EventDrop& drop : outcome.dropped) gone.push_back(release(drop.ticket));
    return firings;
  }

  msg::EventTable table_;
  std::unordered_map<msg::EventTicket, Held> held_;
  msg::EventTicket last_ = 0;
};

}  // namespace

EventCondition to_condition(nb::handle said) {
  if (nb::isinstance<EventCondition>(said)) return nb::cast<EventCondition&>(said);
  if (PyUnicode_Check(said.ptr())) return EventCondition(nb::cast<std::string>(said));
  if (!PyTuple_Check(said.ptr()) && !PyList_Check(said.ptr())) {
    raise(Error(Code::invalid, "an event is a text, or a tuple of events with AND or OR last"));
  }
  std::vector<nb::object> items;
  for (const nb::handle item : said) items.push_back(nb::borrow(item));
  if (items.size() < 2 || !PyUnicode_Check(items.back().ptr())) {
    raise(Error(Code::invalid, "a tuple of events has AND or OR as its last item"));
  }
  const std::string last = nb::cast<std::string>(items.back());
  items.pop_back();
  std::vector<EventCondition> parts;
  for (const nb::object& item : items) parts.push_back(to_condition(item));
  return msg::join_event(std::move(parts), last);
}

void bind_events(nb::module_& module) {
  nb::class_<EventCondition>(module, "EventCondition", R"(Which messages an event waits for.

A text such as ``worker:update:60%`` (docs/reference/events.md has the grammar), or a tuple with
the operator last.

>>> import muster
>>> str(muster.EventCondition(("worker_1:update:2", "worker_2:update:3", "AND")))
'worker_1:update:2 && worker_2:update:3'
>>> str(muster.EventCondition("worker:rollout:100%").distinct().within(30))
'worker:rollout:100% distinct within 30s'
)")
      .def(
          "__init__",
          [](EventCondition* self, nb::handle said) {
            new (self) EventCondition(checked(to_condition(said)));
          },
          nb::arg("said"))
      .def(
          "distinct", [](const EventCondition& self) { return checked(self.distinct()); },
          "The same, but senders are counted instead of messages.")
      .def(
          "within",
          [](const EventCondition& self, double seconds) {
            return checked(self.within(to_time(seconds).time_since_epoch()));
          },
          nb::arg("seconds"))
      .def("__str__", &EventCondition::to_string)
      .def("__repr__",
           [](const EventCondition& self) { return "EventCondition('" + self.to_string() + "')"; })
      .def("__hash__",
           [](const EventCondition& self) { return std::hash<std::string>()(self.to_string()); })
      .def("__eq__", [](const EventCondition& self, nb::handle other) {
        return nb::isinstance<EventCondition>(other) && nb::cast<EventCondition&>(other) == self;
      });
  module.def("all_of", [](const nb::args& parts) { return checked(msg::all_of(to_parts(parts))); });
  module.def("any_of", [](const nb::args& parts) { return checked(msg::any_of(to_parts(parts))); });

  nb::class_<PyEventTable>(module, "EventTable", nb::type_slots(kCollected<PyEventTable>),
                           R"(Keeps items until the conditions of events are met.

Pure: time and membership are told to it. What fires is a list of ``(event, items, is_partial)``.

>>> import muster
>>> table = muster.EventTable()
>>> event = table.add("worker:update:2")
>>> table.push("first", source="worker_1", type="worker", tag="update")
[]
>>> table.push("second", source="worker_2", type="worker", tag="update") == [
...     (event, ["first", "second"], False)
... ]
True
)")
      .def(nb::init<std::size_t>(), nb::arg("waiting_limit") = msg::EventOptions().waiting_limit)
      .def("add", &PyEventTable::add, nb::arg("condition"),
           "Adds an event, and gives its number. Raises InvalidError for what cannot be.")
      .def("remove", &PyEventTable::remove, nb::arg("event"),
           "Removes an event, and gives back what waited for it.")
      .def("clear", &PyEventTable::clear, "Removes all events.")
      .def("push", &PyEventTable::push, nb::arg("item"), nb::kw_only(), nb::arg("source"),
           nb::arg("tag"), nb::arg("type") = "", nb::arg("now") = 0.0)
      .def("joined", &PyEventTable::joined, nb::arg("name"), nb::arg("type"), nb::arg("now") = 0.0)
      .def("left", &PyEventTable::left, nb::arg("name"), nb::arg("now") = 0.0)
      .def("advance", &PyEventTable::advance, nb::arg("now"))
      .def("waiting", &PyEventTable::waiting, nb::arg("event"))
      .def("__len__", &PyEventTable::size);
}

}  // namespace muster::python
