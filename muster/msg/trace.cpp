#include "muster/msg/trace.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::msg {
namespace {

// How long events gather before they are written together.
constexpr std::chrono::milliseconds kGather(20);

std::atomic<int> last_track{0};

// From the clock of the loop to the time of day, so that the files of several
// hosts can be laid beside each other.
Duration epoch() {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch() -
                                              std::chrono::steady_clock::now().time_since_epoch());
}

// Tags are UTF-8; the rest of what JSON will not have is escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string_view category(MessageKind kind) {
  return kind >= MessageKind::notification_request ? "notification" : "task";
}

std::string_view stage_of(MessageKind kind) {
  MessageHead head;
  head.kind = kind;
  return name(head.stage());
}

}  // namespace

std::string to_lines(const TraceEvent& event, int pid, int track, Duration epoch) {
  const auto at =
      std::chrono::duration_cast<std::chrono::nanoseconds>(event.at.time_since_epoch() + epoch)
          .count();
  const std::string where =
      fmt::format(R"("ts":{}.{:03},"pid":{},"tid":{})", at / 1000, at % 1000, pid, track);
  const std::string tag(event.tag.text());
  const std::string_view cat = category(event.kind);
  // A slice for the message itself, and the end of an arrow to its other end.
  std::string lines = fmt::format(
      R"({{"ph":"X","dur":0.001,"cat":"{}","name":{},{},"args":{{"{}":{},"stage":"{}","session":"{}","message":"{}","bytes":{},"failure":{},"thread":{}}}}},)"
      "\n",
      cat, quoted((event.is_sent ? "send " : "receive ") + tag), where,
      event.is_sent ? "to" : "from", quoted(event.peer.text()), stage_of(event.kind),
      event.session.to_string(), event.message.to_string(), event.bytes, event.is_failure,
      event.thread);
  lines += fmt::format(R"({{"ph":"{}","bp":"e","cat":"message","name":"message","id":"{}",{}}},)"
                       "\n",
                       event.is_sent ? "s" : "f", event.message.to_string(), where);
  // From a task's request to its completion, where it was asked for.
  const bool begins = event.is_sent && event.kind == MessageKind::task_request;
  const bool ends = !event.is_sent && event.kind == MessageKind::task_complete;
  if (begins || ends) {
    lines += fmt::format(R"({{"ph":"{}","cat":"session","name":{},"id":"{}",{}}},)"
                         "\n",
                         begins ? "b" : "e", quoted(tag), event.session.to_string(), where);
  }
  return lines;
}

Result<std::unique_ptr<Trace>> Trace::open(const std::string& folder, const std::string& group,
                                           const std::string& name, std::size_t most_waiting) {
  std::string path = fmt::format("{}/{}.{}.{}.json", folder, group, name, getpid());
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return system_error(Code::unavailable, "make the folder for traces " + folder, errno);
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                                S_IRUSR | S_IWUSR);
  std::FILE* const file = descriptor >= 0 ? fdopen(descriptor, "w") : nullptr;
  if (file == nullptr) {
    const Error why = system_error(Code::unavailable, "make the trace " + path, errno);
    if (descriptor >= 0) close(descriptor);
    return why;
  }
  std::unique_ptr<Trace> made(new Trace(std::move(path), file, most_waiting));
  // An array without its end is read all the same, so what a process that is
  // killed leaves behind can be looked at.
  made->write(fmt::format(
      R"([{{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"{1} {0}"}}}},)"
      "\n"
      R"({{"ph":"M","name":"thread_name","pid":{0},"tid":{2},"args":{{"name":"{3}"}}}},)"
      "\n",
      made->pid_, group, made->track_, name));
  made->writer_ = std::thread([trace = made.get()] { trace->run(); });
  return made;
}

Trace::Trace(std::string path, std::FILE* file, std::size_t most_waiting)
    : path_(std::move(path)),
      file_(file),
      pid_(getpid()),
      track_(++last_track),
      epoch_(epoch()),
      most_waiting_(most_waiting) {}

Trace::~Trace() {
  if (writer_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    news_.notify_one();
    writer_.join();
  }
  write(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":0}}}}]
)",
                    pid_));
}

void Trace::note(TraceEvent event) {
  thread_local const int kThread = gettid();
  event.thread = kThread;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= most_waiting_) {
    ++left_out_;
    return;
  }
  waiting_.push_back(std::move(event));
  if (waiting_.size() == 1) news_.notify_one();
}

// A full disk ends the trace, not the program.
void Trace::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file_.get());
}

void Trace::run() {
  std::vector<TraceEvent> taken;
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    news_.wait_for(lock, kGather, [this] { return is_over_; });
    if (waiting_.empty() && is_over_) return;
    taken.swap(waiting_);
    const std::uint64_t left_out = std::exchange(left_out_, 0);
    lock.unlock();
    for (const TraceEvent& event : taken) write(to_lines(event, pid_, track_, epoch_));
    if (left_out > 0) {
      write(fmt::format(R"({{"ph":"M","name":"left_out","pid":{},"args":{{"events":{}}}}},)"
                        "\n",
                        pid_, left_out));
    }
    std::fflush(file_.get());
    taken.clear();
    lock.lock();
  }
}

}  // namespace muster::msg
