#include "muster/msg/event_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "muster/msg/event_text.h"
#include "muster/msg/name_letters.h"
#include "muster/msg/tag.h"
#include "muster/net/handshake.h"

namespace muster::msg {

// By recursive descent, one function for each rule of the grammar. `at_` is
// the byte that comes next.
class EventParser {
 public:
  explicit EventParser(std::string_view text) : text_(text) {}

  // event = any [ "within" duration ]
  Result<EventCondition> whole() {
    if (text_.size() > kMaxEventText) {
      return wrong(kMaxEventText,
                   "an event is at most " + std::to_string(kMaxEventText) + " bytes long");
    }
    MUSTER_TRY(EventCondition condition, any());
    if (take_word("within")) {
      MUSTER_TRY(condition.bound_, duration());
    }
    skip_space();
    if (at_ < text_.size()) return wrong(at_, why_not_more(condition.bound_.has_value()));
    return condition;
  }

 private:
  using Kind = EventCondition::Kind;

  // any = all { ( "||" | "or" | "OR" ) all }
  Result<EventCondition> any() {
    return chain(Kind::any, &EventParser::all, [this] { return take_operator("||", "or", "OR"); });
  }

  // all = term { ( "&&" | "and" | "AND" ) term }
  Result<EventCondition> all() {
    return chain(Kind::all, &EventParser::term,
                 [this] { return take_operator("&&", "and", "AND"); });
  }

  template <class TakeOperator>
  Result<EventCondition> chain(Kind kind, Result<EventCondition> (EventParser::*rule)(),
                               TakeOperator take) {
    skip_space();
    const std::size_t begin = at_;
    std::vector<EventCondition> parts;
    do {
      MUSTER_TRY(EventCondition part, (this->*rule)());
      parts.push_back(std::move(part));
    } while (take());
    EventCondition group = EventCondition::assemble(kind, std::move(parts));
    if (group.depth_ > kMaxEventDepth) return wrong(begin, too_deep());
    return group;
  }

  // term = "(" any ")" | unit [ "distinct" ]
  Result<EventCondition> term() {
    skip_space();
    if (peek() != '(') return unit();
    const std::size_t open = at_++;
    // Also what keeps the recursion, and so the stack, within bounds.
    if (++open_ > kMaxEventDepth) return wrong(open, too_deep());
    MUSTER_TRY(EventCondition inside, any());
    skip_space();
    if (at_ == text_.size()) return wrong(open, "this bracket is never closed");
    if (peek() != ')') return wrong(at_, why_not_closed());
    ++at_;
    --open_;
    return inside;
  }

  // unit = tag | source ":" tag ":" amount
  Result<EventCondition> unit() {
    const std::size_t begin = at_;
    if (++units_ > kMaxEventUnits) {
      return wrong(begin, "an event has at most " + std::to_string(kMaxEventUnits) + " units");
    }
    if (is_event_keyword(word()) && text_.substr(at_ + word().size(), 1) != ":") {
      return wrong(begin, "a unit is expected here; if \"" + std::string(word()) +
                              "\" is a tag, put it in single quotes");
    }
    EventCondition condition;
    EventUnit& unit = condition.unit_;
    MUSTER_TRY(unit.tag, name("a tag or source:tag:amount"));
    std::size_t tag_begin = begin;
    if (take(':')) {
      unit.source = std::exchange(unit.tag, {});
      tag_begin = at_;
      MUSTER_TRY(unit.tag, name("a tag"));
      if (!take(':')) return wrong(at_, "an amount is missing: source:tag:amount");
      MUSTER_TRY(unit.amount, amount());
    }
    MUSTER_TRY_OK(check_source(unit.source, begin));
    MUSTER_TRY_OK(check_tag(unit.tag, tag_begin));
    unit.is_distinct = take_word("distinct");
    return condition;
  }

  // name = letter { letter } | "'" { any but "'" and control characters } "'"
  Result<std::string> name(std::string_view what) {
    const std::size_t begin = at_;
    std::string found;
    if (take('\'')) {
      const std::size_t end = text_.find('\'', at_);
      if (end == std::string_view::npos) return wrong(begin, "this quote is never closed");
      found = text_.substr(at_, end - at_);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto byte = static_cast<unsigned char>(found[i]);
        if (byte < 0x20 || byte == 0x7F) return wrong(at_ + i, "a control character in a name");
      }
      at_ = end + 1;
    } else {
      while (at_ < text_.size() && is_event_letter(text_[at_])) found += text_[at_++];
    }
    if (found.empty()) return wrong(begin, std::string(what) + " is expected here");
    return found;
  }

  // Nobody sends a message with another tag.
  Status check_tag(std::string_view tag, std::size_t begin) {
    if (tag.size() > kMaxTag) {
      return wrong(begin, "a tag is at most " + std::to_string(kMaxTag) + " bytes long");
    }
    return check_star(tag, begin, false);
  }

  // Nobody has another name or type.
  Status check_source(std::string_view source, std::size_t begin) {
    MUSTER_TRY_OK(check_star(source, begin, true));
    if (source.ends_with('*')) source.remove_suffix(1);
    if (source.size() > net::kMaxName) {
      return wrong(begin, "a source is at most " + std::to_string(net::kMaxName) + " bytes long");
    }
    const auto* const other = std::ranges::find_if_not(source, is_name_letter);
    if (other == source.end()) return ok();
    const auto offset = static_cast<std::size_t>(other - source.begin());
    return wrong(begin + offset + (text_[begin] == '\'' ? 1 : 0),
                 "a source has letters, digits, '_', '-' and '.' alone, as all names");
  }

  // A "*" stands for all, or ends a source; `begin` is where `name` was read.
  Status check_star(std::string_view name, std::size_t begin, bool is_source) {
    const std::size_t star = name.find('*');
    if (star == std::string_view::npos || name == "*") return ok();
    if (is_source && star + 1 == name.size()) return ok();
    const std::size_t at = begin + star + (text_[begin] == '\'' ? 1 : 0);
    return is_source ? wrong(at, "a * is a whole source or the end of one: * or worker_*")
                     : wrong(at, "a tag is exact, or * for any tag");
  }

  // amount = digits [ "%" ]
  Result<EventAmount> amount() {
    const std::size_t begin = at_;
    MUSTER_TRY(const std::uint64_t number,
               digits("an amount is a whole number such as 3, or a percentage such as 60%"));
    EventAmount amount;
    amount.is_percentage = take('%');
    if (number == 0) return wrong(begin, "an event that needs nothing would always fire");
    if (amount.is_percentage && number > 100) return wrong(begin, "a percentage is at most 100%");
    static_assert(kMaxEventAmount == 1'000'000'000, "as the message says");
    if (number > kMaxEventAmount) return wrong(begin, "an amount is at most 1000000000");
    amount.number = static_cast<std::uint32_t>(number);
    if (peek() == ':') return wrong(at_, "a unit has three parts: source:tag:amount");
    if (peek() == '%' || peek() == '\'' || is_event_letter(peek())) {
      return wrong(at_, "an amount is a whole number such as 3, or a percentage such as 60%");
    }
    return amount;
  }

  // duration = digits ( "ms" | "s" | "min" | "h" )
  Result<Duration> duration() {
    skip_space();
    const std::size_t begin = at_;
    MUSTER_TRY(const std::uint64_t number, digits("a time such as 500ms, 30s, 2min or 1h"));
    const std::string_view unit = word();
    const std::chrono::milliseconds one(unit == "ms"    ? 1
                                        : unit == "s"   ? 1000
                                        : unit == "min" ? 60'000
                                        : unit == "h"   ? 3'600'000
                                                        : 0);
    if (one.count() == 0) return wrong(at_, "the unit of a time is ms, s, min or h");
    if (number == 0) return wrong(begin, "a time bound is longer than nothing");
    if (number > static_cast<std::uint64_t>(kMaxEventBound / one)) {
      return wrong(begin, "a time bound is at most " + event_duration_text(kMaxEventBound));
    }
    at_ += unit.size();
    return Duration(one * static_cast<std::int64_t>(number));
  }

  Result<std::uint64_t> digits(std::string_view what) {
    const std::size_t begin = at_;
    while (std::isdigit(static_cast<unsigned char>(peek())) != 0) ++at_;
    std::uint64_t number = 0;
    const auto read = std::from_chars(text_.data() + begin, text_.data() + at_, number);
    if (read.ec == std::errc::result_out_of_range) return wrong(begin, "this number is too large");
    if (at_ == begin) return wrong(at_, what);
    return number;
  }

  // What stands where the event should have ended.
  std::string why_not_more(bool has_bound) {
    if (peek() == ')') return "this bracket closes none";
    if (has_bound) return "the event ends with its time bound";
    if (word() == "distinct") return "distinct follows one source:tag:amount, once";
    return "&& or || is expected here, or the end";
  }

  std::string why_not_closed() {
    if (word() != "within") return why_not_more(false);
    return "a time bound is for the whole event: write it at the end, outside all brackets";
  }

  static std::string too_deep() {
    return "groups nest at most " + std::to_string(kMaxEventDepth) + " deep";
  }

  bool take_operator(std::string_view sign, std::string_view lower, std::string_view upper) {
    if (take_word(lower) || take_word(upper)) return true;
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  bool take_word(std::string_view wanted) {
    skip_space();
    if (word() != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  // The letters that come next.
  std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && is_event_letter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // A zero, which stands nowhere in an event, at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  Error wrong(std::size_t at, std::string_view why) const { return event_error(text_, at, why); }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t open_ = 0;  // Brackets.
  std::size_t units_ = 0;
};

Result<EventCondition> parse_event(std::string_view text) { return EventParser(text).whole(); }

}  // namespace muster::msg
