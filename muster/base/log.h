// Logging: one line, lower case, event first, then `key value` pairs.
//
// Nothing is printed until the program says where: a library is silent by
// itself. Levels: error, somebody must act; warning, we acted; info,
// membership and jobs; debug, connections. Nothing per message.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace muster::log {

enum class Level : std::uint8_t { debug = 0, info = 1, warning = 2, error = 3, off = 4 };

// Any thread, all of these.
void error(std::string_view line);
void warning(std::string_view line);
void info(std::string_view line);
void debug(std::string_view line);

// False where building the line would be in vain.
bool wants(Level level);

// Lines of `level` and above go to standard error.
void to_stderr(Level level);

// Lines of `level` and above go to `sink`, on the thread that logs; null turns
// logging off again. The sink must not log.
void to(Level level, std::function<void(Level, std::string_view)> sink);

// Lets one line through per period, and counts the rest, so that a stranger
// cannot fill a disk.
class RateLimit {
 public:
  // How many lines were held back since the last one that went through;
  // negative if this one is to be held back too. A clock that was set back holds
  // nothing back for longer than a period.
  int admit(std::int64_t now_ms, std::int64_t period_ms = 1000);

 private:
  std::int64_t next_ms_ = INT64_MIN;
  int held_back_ = 0;
};

}  // namespace muster::log
