#include "muster/msg/event_text.h"

#include <algorithm>

namespace muster::msg {
namespace {

// Columns of the text that an error shows on either side of its character.
constexpr std::size_t kShown = 40;

constexpr std::string_view kKeywords[] = {"and", "AND", "or", "OR", "distinct", "within"};

// One column for each character, so that the caret stands where it should; and
// nothing that a terminal would obey.
std::string one_column_each(std::string_view text) {
  std::string columns;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // Goes on with a UTF-8 character.
    columns += byte < 0x20 || byte >= 0x7F ? '?' : c;
  }
  return columns;
}

}  // namespace

bool is_event_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7F && std::string_view("():&|,%'\"").find(c) == std::string::npos;
}

bool is_event_keyword(std::string_view word) {
  return std::ranges::find(kKeywords, word) != std::end(kKeywords);
}

std::string quote_event_text(std::string_view text) {
  const bool is_plain = !text.empty() && std::ranges::all_of(text, is_event_letter);
  if (is_plain && !is_event_keyword(text)) return std::string(text);
  return "'" + std::string(text) + "'";
}

std::string event_duration_text(Duration duration) {
  const struct {
    Duration one;
    const char* name;
  } units[] = {{std::chrono::hours(1), "h"},
               {std::chrono::minutes(1), "min"},
               {std::chrono::seconds(1), "s"}};
  for (const auto& [one, name] : units) {
    if (duration % one == Duration::zero()) return std::to_string(duration / one) + name;
  }
  return std::to_string(duration / std::chrono::milliseconds(1)) + "ms";
}

Error event_error(std::string_view text, std::size_t at, std::string_view why) {
  at = std::min(at, text.size());
  const std::string before = one_column_each(text.substr(0, at));
  const std::string after = one_column_each(text.substr(at));
  const std::size_t cut = before.size() - std::min(before.size(), kShown);
  const std::string left = (cut > 0 ? "..." : "") + before.substr(cut);
  const std::string right = after.size() > kShown ? after.substr(0, kShown) + "..." : after;
  return Error(Code::invalid, "read the event: character " + std::to_string(before.size() + 1) +
                                  ": " + std::string(why) + "\n  " + left + right + "\n  " +
                                  std::string(left.size(), ' ') + "^");
}

}  // namespace muster::msg
