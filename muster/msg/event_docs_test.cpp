// Runs the examples of docs/reference/events.md.

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "muster/msg/event_parser.h"
#include "muster/msg/event_table.h"

namespace muster::msg {
namespace {

using Lines = std::vector<std::string>;

// The blocks of the page that are fenced as `kind`.
std::vector<Lines> blocks(const std::string& kind) {
  std::ifstream page(MUSTER_SOURCE_DIR "/docs/reference/events.md");
  std::vector<Lines> found;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```" + kind) {
      is_inside = true;
      found.emplace_back();
    } else if (line.starts_with("```")) {
      is_inside = false;
    } else if (is_inside) {
      found.back().push_back(line);
    }
  }
  return found;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

std::string_view type_of(std::string_view name) { return name.substr(0, name.find('_')); }

// One example: does what a line says and tells what came of it.
class Example {
 public:
  std::string run(const std::string& line) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (first == "limit") return table_.emplace(EventOptions{std::stoul(rest)}), "";
    if (!table_) table_.emplace();
    if (first == "on") return add(rest.substr(0, 1), rest.substr(2));
    if (first == "wait") return told(table_->advance(now_ += seconds(rest)));
    if (first == "lose") return told(table_->left(rest, now_));
    if (first == "join") return join(rest);
    return told(table_->push({first, type_of(first), rest, ++last_}, now_));
  }

 private:
  static Duration seconds(const std::string& text) { return std::chrono::seconds(std::stoi(text)); }

  std::string add(const std::string& name, const std::string& text) {
    const Result<EventId> id = table_->add(text);
    EXPECT_TRUE(id) << text;
    if (id) names_[*id] = name;
    return "";
  }

  std::string join(const std::string& rest) {
    std::istringstream words(rest);
    std::string all;
    for (std::string name; words >> name;) all += told(table_->joined(name, type_of(name), now_));
    return all;
  }

  std::string told(const EventOutcome& outcome) {
    std::string text;
    for (const EventFiring& firing : outcome.firings) {
      text += names_[firing.event] + "(";
      for (const EventTicket ticket : firing.tickets) text += std::to_string(ticket) + " ";
      text.back() = ')';
      text += firing.is_partial ? "partial " : " ";
    }
    for (const EventDrop& drop : outcome.dropped) {
      text += "dropped " + names_[drop.event] + "(" + std::to_string(drop.ticket) + ") ";
    }
    return trimmed(text);
  }

  std::optional<EventTable> table_;
  std::map<EventId, std::string> names_;
  TimePoint now_{std::chrono::hours(1)};
  EventTicket last_ = 0;
};

TEST(EventDocs, EveryExampleDoesWhatThePageSays) {
  const std::vector<Lines> examples = blocks("events");
  ASSERT_GE(examples.size(), 9U);
  for (const Lines& lines : examples) {
    Example example;
    for (const std::string& line : lines) {
      const std::size_t arrow = line.find("->");
      const bool has_arrow = arrow != std::string::npos;
      const std::string expected = has_arrow ? trimmed(line.substr(arrow + 2)) : "";
      EXPECT_EQ(example.run(trimmed(line.substr(0, arrow))), expected) << line;
    }
  }
}

TEST(EventDocs, EveryRefusalPointsWhereThePageSays) {
  const std::vector<Lines> lists = blocks("refused");
  ASSERT_EQ(lists.size(), 1U);
  for (const std::string& line : lists.front()) {
    const std::size_t space = line.rfind(' ');
    const Result<EventCondition> read = parse_event(trimmed(line.substr(0, space)));
    ASSERT_FALSE(read) << line;
    EXPECT_TRUE(read.error().message().starts_with("read the event: character " +
                                                   line.substr(space + 1) + ":"))
        << read.error().message();
  }
}

}  // namespace
}  // namespace muster::msg
