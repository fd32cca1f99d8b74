// What Redis says and hears: RESP2 and RESP3, read piece by piece. Pure.
//
// Bytes come from outside: each limit is checked before memory is taken, and
// whatever breaks one, or the grammar, ends the reading for good.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"

namespace muster::registries::redis {

struct Reply {
  enum class Kind : std::uint8_t {
    null,
    text,     // Simple, bulk and verbatim strings; doubles and big numbers as they are written.
    error,    // Its text begins with a word such as ERR or WRONGPASS.
    integer,  // Booleans too.
    list,     // Arrays, sets, and maps as key, value, key, value.
    push,     // A list that answers no command.
  };
  Kind kind = Kind::null;
  std::int64_t integer = 0;
  std::string text = {};
  std::vector<Reply> items = {};

  bool is_error() const { return kind == Kind::error; }
  bool operator==(const Reply&) const = default;
};

struct RespLimits {
  std::size_t line = 4096;                    // Of what is not a bulk string.
  std::size_t text = std::size_t{1} << 20;    // Of a bulk string.
  std::size_t values = std::size_t{1} << 18;  // In one reply.
  std::size_t bytes = std::size_t{64} << 20;  // In all its texts.
  std::size_t depth = 8;
};

class RespReader {
 public:
  explicit RespReader(const RespLimits& limits = {}) : limits_(limits) {}

  // Adds the replies that are whole with these bytes to `replies`.
  // Code::invalid once what came is not RESP or beyond a limit; nothing can be
  // read any more.
  Status feed(std::string_view bytes, std::vector<Reply>& replies);

 private:
  struct Open {
    Reply reply;
    std::size_t wanted = 0;     // Items still to come.
    bool is_attribute = false;  // To be dropped: another value stands for it.
  };

  Status take_line(std::string_view line, std::vector<Reply>& replies);
  Status begin_text(std::string_view length, char mark, std::vector<Reply>& replies);
  Status begin_list(std::string_view count, char mark, std::vector<Reply>& replies);
  // A whole value: into what is open, or out.
  void put(Reply reply, std::vector<Reply>& replies);
  Status count(std::size_t bytes);

  RespLimits limits_;
  bool is_broken_ = false;
  std::string line_;  // Begun, not ended.
  // A bulk string under way.
  bool is_in_text_ = false;
  char text_mark_ = 0;
  std::size_t text_size_ = 0;
  std::string text_;
  std::vector<Open> open_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

// A command, as an array of bulk strings.
std::string encode_command(std::span<const std::string> words);

}  // namespace muster::registries::redis
