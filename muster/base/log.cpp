#include "muster/base/log.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "muster/base/check.h"

namespace muster {
namespace log {
namespace {

using Callback = std::function<void(Level, std::string_view)>;

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
    case Level::off: return spdlog::level::off;
  }
  return spdlog::level::off;
}

Level from_spdlog(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return Level::error;
  if (level >= spdlog::level::warn) return Level::warning;
  return level >= spdlog::level::info ? Level::info : Level::debug;
}

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(Callback callback) : callback_(std::move(callback)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    callback_(from_spdlog(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}
  Callback callback_;
};

struct Destination {
  std::mutex guard;
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<Level> level{Level::off};
};

// Never destroyed: threads may log while the process ends.
Destination& destination() {
  static auto* const kDestination = new Destination;
  return *kDestination;
}

void install(Level level, std::shared_ptr<spdlog::logger> logger) {
  Destination& to = destination();
  const std::lock_guard lock(to.guard);
  if (logger) logger->set_level(to_spdlog(level));
  to.logger = std::move(logger);
  to.level = to.logger ? level : Level::off;
}

void write(Level level, std::string_view line) {
  if (!wants(level)) return;
  std::shared_ptr<spdlog::logger> logger;
  {
    const std::lock_guard lock(destination().guard);
    logger = destination().logger;
  }
  if (logger) logger->log(to_spdlog(level), "{}", line);
}

}  // namespace

void error(std::string_view line) { write(Level::error, line); }
void warning(std::string_view line) { write(Level::warning, line); }
void info(std::string_view line) { write(Level::info, line); }
void debug(std::string_view line) { write(Level::debug, line); }

bool wants(Level level) { return level >= destination().level.load(std::memory_order_relaxed); }

void to_stderr(Level level) {
  auto logger = std::make_shared<spdlog::logger>(
      "muster", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %^%l%$ %v");
  install(level, std::move(logger));
}

void to(Level level, std::function<void(Level, std::string_view)> sink) {
  if (!sink) return install(Level::off, nullptr);
  install(level, std::make_shared<spdlog::logger>("muster",
                                                  std::make_shared<CallbackSink>(std::move(sink))));
}

int RateLimit::admit(std::int64_t now_ms, std::int64_t period_ms) {
  if (now_ms < next_ms_ && next_ms_ - now_ms <= period_ms) {
    ++held_back_;
    return -1;
  }
  next_ms_ = now_ms + period_ms;
  return std::exchange(held_back_, 0);
}

}  // namespace log

void check_failed(std::string_view file, int line, std::string_view why) {
  const std::string text = "broken invariant  why " + std::string(why) + "  at " +
                           std::string(file) + ":" + std::to_string(line);
  log::error(text);
  // The process ends here, so the reason must be seen even where nobody set up logging.
  std::fputs((text + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace muster
