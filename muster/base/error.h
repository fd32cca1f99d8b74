// An error: what the caller should do next, and a sentence about what happened.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

// Grouped by the caller's next move, not by the layer that failed.
// The numbers travel between processes: append, never renumber.
enum class Code : std::uint8_t {
  invalid = 1,      // The request is wrong. Fix it; retrying cannot help.
  not_found = 2,    // No such peer, actor or job.
  unsupported = 3,  // This peer or driver cannot. Take another way.
  unavailable = 4,  // The peer is gone. Reconnect, then retry.
  overloaded = 5,   // A bounded queue is full. Back off, then retry.
  timeout = 6,      // The deadline passed. The outcome is unknown.
  cancelled = 7,    // The caller asked for this.
  failed = 8,       // User code ran and raised.
  internal = 9,     // A bug in muster.
};

// The code's name, as it stands above; "unknown" for a number of a later version.
std::string_view name(Code code);

class Error {
 public:
  [[gnu::cold, gnu::noinline]] Error(Code code, std::string message)
      : code_(code), message_(std::move(message)) {}

  // The same error, with what was being attempted put in front: "attempt: cause".
  [[gnu::cold]] Error during(std::string_view attempt) const&;
  [[gnu::cold]] Error during(std::string_view attempt) &&;

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // "unavailable: dial tcp://h1:7000: connection refused", for logs.
  std::string describe() const;

  friend bool operator==(const Error&, const Error&) = default;

 private:
  Code code_;
  std::string message_;
};

// An error from errno-style number `number`, with the system's own text.
[[gnu::cold]] Error system_error(Code code, std::string_view attempt, int number);

}  // namespace muster
