// The text of an event from a stranger: what is read, written again, reads the
// same, and can be waited for; what is refused is refused at one of its characters.

#include <cstdint>
#include <string_view>

#include "muster/base/check.h"
#include "muster/msg/event_parser.h"
#include "muster/msg/event_table.h"

using namespace muster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<msg::EventCondition> condition = msg::parse_event(text);
  if (!condition) {
    MUSTER_CHECK(condition.error().code() == Code::invalid, "one code for all that is wrong");
    MUSTER_CHECK(condition.error().message().ends_with("^"), "the place is shown");
    return 0;
  }
  MUSTER_CHECK(condition->depth() <= msg::kMaxEventDepth, "nested within the limit");
  MUSTER_CHECK(condition->unit_count() <= msg::kMaxEventUnits, "units within the limit");
  const Result<msg::EventCondition> again = msg::parse_event(condition->to_string());
  MUSTER_CHECK(again && *again == *condition, "what is written reads the same");

  msg::EventTable table({.waiting_limit = msg::kMaxEventAmount});
  const Result<msg::EventId> event = table.add(*condition);
  MUSTER_CHECK(event.has_value(), "what is read can be registered");
  for (msg::EventTicket ticket = 1; ticket <= 4; ++ticket) {
    table.push({"worker_1", "worker", "x", ticket}, TimePoint(std::chrono::seconds(ticket)));
  }
  MUSTER_CHECK(table.remove(*event).has_value(), "what was registered can be removed");
  return 0;
}
