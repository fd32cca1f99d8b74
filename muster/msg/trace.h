// Trace: what one proxy sends and receives, in a file for Perfetto or
// chrome://tracing.
//
// Whoever notes an event only puts it aside; a thread of the trace's own writes.
// What comes faster than the file takes it is left out, and counted there.
// docs/reference/observing.md says what is in the file.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/msg/message_head.h"

namespace muster::msg {

struct TraceEvent {
  TimePoint at = {};
  bool is_sent = false;  // Else it was received.
  MessageKind kind = MessageKind::task_request;
  bool is_failure = false;
  Tag tag = {};
  Id session = {};
  Id message = {};
  Buffer peer = {};  // Its name.
  std::uint64_t bytes = 0;
  int thread = 0;  // The system's number of it.
};

// As lines of the file, each with a comma and a newline behind it. Pure. `pid`
// and `track` say whose they are; `epoch` is added to each time.
std::string to_lines(const TraceEvent& event, int pid, int track, Duration epoch);

class Trace {
 public:
  // What waits to be written, in events.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 16;

  // Makes FOLDER/GROUP.NAME.PID.json. Code::unavailable if it cannot be.
  static Result<std::unique_ptr<Trace>> open(const std::string& folder, const std::string& group,
                                             const std::string& name,
                                             std::size_t most_waiting = kMostWaiting);
  ~Trace();  // Once all is written.
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Any thread. Does not wait for the file.
  void note(TraceEvent event);
  const std::string& path() const { return path_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Trace(std::string path, std::FILE* file, std::size_t most_waiting);
  void write(const std::string& text);
  void run();

  const std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  const int pid_;
  const int track_;  // Among those of this process.
  const Duration epoch_;
  const std::size_t most_waiting_;

  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<TraceEvent> waiting_;
  std::uint64_t left_out_ = 0;
  bool is_over_ = false;
  std::thread writer_;
};

}  // namespace muster::msg
