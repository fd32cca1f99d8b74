#include "muster/registries/redis/resp.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace muster::registries::redis {
namespace {

using Kind = Reply::Kind;

constexpr std::string_view kEnd = "\r\n";

Error not_resp(const char* why) {
  return Error(Code::invalid, std::string("read Redis's reply: ") + why);
}

std::optional<std::int64_t> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

Status RespReader::feed(std::string_view bytes, std::vector<Reply>& replies) {
  if (is_broken_) return not_resp("nothing more can be read");
  const auto broken = [this](Error why) {
    is_broken_ = true;
    return why;
  };
  while (!bytes.empty()) {
    if (is_in_text_) {
      const std::size_t taken = std::min(bytes.size(), text_size_ + kEnd.size() - text_.size());
      text_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (text_.size() < text_size_ + kEnd.size()) continue;
      if (!text_.ends_with(kEnd)) return broken(not_resp("a string does not end where it should"));
      is_in_text_ = false;
      text_.resize(text_size_);
      // A verbatim string begins with its kind, such as "txt:".
      if (text_mark_ == '=') text_.erase(0, 4);
      put({.kind = text_mark_ == '!' ? Kind::error : Kind::text, .text = std::exchange(text_, {})},
          replies);
      continue;
    }
    const std::size_t end = bytes.find('\n');
    const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
    if (line_.size() + taken > limits_.line) return broken(not_resp("a line is too long"));
    line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (end == std::string_view::npos) continue;
    if (!line_.ends_with(kEnd)) return broken(not_resp("a line does not end as it should"));
    const std::string line = std::exchange(line_, {});
    if (Status status = take_line(std::string_view(line).substr(0, line.size() - 2), replies);
        !status) {
      return broken(std::move(status).error());
    }
  }
  return ok();
}

Status RespReader::take_line(std::string_view line, std::vector<Reply>& replies) {
  if (line.empty()) return not_resp("an empty line");
  const char mark = line.front();
  const std::string_view rest = line.substr(1);
  switch (mark) {
    case '$':
    case '=':
    case '!': return begin_text(rest, mark, replies);
    case '*':
    case '~':
    case '%':
    case '|':
    case '>': return begin_list(rest, mark, replies);
    default: break;
  }
  MUSTER_TRY_OK(count(rest.size()));
  switch (mark) {
    case '+':
    case ',':
    case '(': put({.kind = Kind::text, .text = std::string(rest)}, replies); return ok();
    case '-': put({.kind = Kind::error, .text = std::string(rest)}, replies); return ok();
    case '_': put({}, replies); return ok();
    case '#':
      if (rest != "t" && rest != "f") return not_resp("a boolean is t or f");
      put({.kind = Kind::integer, .integer = rest == "t"}, replies);
      return ok();
    case ':': {
      const auto value = number(rest);
      if (!value) return not_resp("an integer is none");
      put({.kind = Kind::integer, .integer = *value}, replies);
      return ok();
    }
    default: return not_resp("of no known type");
  }
}

Status RespReader::begin_text(std::string_view length, char mark, std::vector<Reply>& replies) {
  const auto size = number(length);
  if (size == -1 && mark == '$') {
    MUSTER_TRY_OK(count(0));
    put({}, replies);
    return ok();
  }
  if (!size || *size < 0 || (mark == '=' && *size < 4))
    return not_resp("a string has no such size");
  if (static_cast<std::uint64_t>(*size) > limits_.text) return not_resp("a string is too long");
  MUSTER_TRY_OK(count(static_cast<std::size_t>(*size)));
  is_in_text_ = true;
  text_mark_ = mark;
  text_size_ = static_cast<std::size_t>(*size);
  text_.clear();
  return ok();
}

Status RespReader::begin_list(std::string_view length, char mark, std::vector<Reply>& replies) {
  const auto items = number(length);
  MUSTER_TRY_OK(count(0));
  if (items == -1 && mark == '*') {
    put({}, replies);
    return ok();
  }
  if (!items || *items < 0) return not_resp("a list has no such size");
  // A claim alone takes no memory: items are added as they come.
  if (static_cast<std::uint64_t>(*items) > limits_.values) return not_resp("a list is too long");
  if (open_.size() == limits_.depth) return not_resp("lists are nested too deep");
  if (mark == '>' && !open_.empty()) return not_resp("a push inside a reply");
  const std::size_t factor = mark == '%' || mark == '|' ? 2 : 1;
  Open open{.reply = {.kind = mark == '>' ? Kind::push : Kind::list},
            .wanted = static_cast<std::size_t>(*items) * factor,
            .is_attribute = mark == '|'};
  if (open.wanted > 0) {
    open_.push_back(std::move(open));
  } else if (!open.is_attribute) {
    put(std::move(open.reply), replies);
  }
  return ok();
}

void RespReader::put(Reply reply, std::vector<Reply>& replies) {
  while (!open_.empty()) {
    Open& top = open_.back();
    top.reply.items.push_back(std::move(reply));
    if (--top.wanted > 0) return;
    const bool is_attribute = top.is_attribute;
    reply = std::move(top.reply);
    open_.pop_back();
    if (is_attribute) return;
  }
  values_ = 0;
  bytes_ = 0;
  replies.push_back(std::move(reply));
}

Status RespReader::count(std::size_t bytes) {
  bytes_ += bytes;
  if (++values_ > limits_.values) return not_resp("too many values in one reply");
  if (bytes_ > limits_.bytes) return not_resp("too many bytes in one reply");
  return ok();
}

std::string encode_command(std::span<const std::string> words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n";
    out += word;
    out += kEnd;
  }
  return out;
}

}  // namespace muster::registries::redis
