// The trace of messages: what stands in the file.

#include "muster/msg/trace.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/local_group.h"

namespace muster::msg {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::LocalGroup;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

struct Traces : ::testing::Test {
  Traces() {
    std::string pattern = fs::temp_directory_path() / "muster-trace-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  ~Traces() override { fs::remove_all(folder); }
  // The file of NAME.
  std::string read(const std::string& name) const {
    for (const auto& file : fs::directory_iterator(folder)) {
      if (file.path().filename().string().find("." + name + ".") == std::string::npos) continue;
      std::ostringstream text;
      text << std::ifstream(file.path()).rdbuf();
      return text.str();
    }
    return "";
  }
  fs::path folder;
};

TEST_F(Traces, HaveASliceAnArrowAndTheTimeOfEachMessageAndASpanOfEachTask) {
  TraceEvent event{.at = TimePoint(std::chrono::nanoseconds(1'234'567)),
                   .is_sent = true,
                   .kind = MessageKind::task_request,
                   .tag = "a\"b\\c\n",
                   .session = {1, 2},
                   .message = {3, 4},
                   .peer = Buffer::copy_of(std::string_view("worker_1")),
                   .bytes = 64};
  const std::string sent = to_lines(event, 7, 1, seconds(1));
  EXPECT_NE(sent.find(R"("name":"send a\"b\\c\u000a")"), std::string::npos) << sent;
  EXPECT_NE(sent.find(R"("ts":1001234.567,"pid":7,"tid":1)"), std::string::npos) << sent;
  EXPECT_NE(sent.find(R"("to":"worker_1")"), std::string::npos);
  EXPECT_EQ(count(sent, R"("ph":"s")"), 1U);
  EXPECT_EQ(count(sent, R"("ph":"b")"), 1U);
  event.is_sent = false;
  const std::string received = to_lines(event, 7, 1, seconds(1));
  EXPECT_EQ(count(received, R"("ph":"f")"), 1U);
  EXPECT_EQ(count(received, R"("ph":"b")"), 0U);
  event.kind = MessageKind::task_complete;
  EXPECT_EQ(count(to_lines(event, 7, 1, seconds(1)), R"("ph":"e")"), 1U);
  event.kind = MessageKind::notification_request;
  EXPECT_NE(to_lines(event, 7, 1, seconds(1)).find(R"("cat":"notification")"), std::string::npos);
}

TEST_F(Traces, TellEveryMessageOfAProxyThatAsksForOne) {
  constexpr int kTasks = 50;
  {
    LocalGroup group([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); });
    ProxyOptions options = group.options("master");
    options.trace = folder;
    const auto master = *Proxy::start(group.loop(), options);
    const auto worker = group.start("worker_1");  // Without one.
    ASSERT_TRUE(master->wait_for_peers({{.name = "worker_1"}}, seconds(20)));
    const std::jthread serving([&] {
      for (int i = 0; i < kTasks; ++i) {
        const auto message = worker->receive_once(seconds(20));
        ASSERT_TRUE(message && *message);
        EXPECT_TRUE(worker->reply(**message, 1));
      }
    });
    for (int i = 0; i < kTasks; ++i) {
      ASSERT_TRUE(master->send({.tag = "work", .destination = "worker_1"}, seconds(20)));
    }
  }
  const std::string text = read("master");
  EXPECT_TRUE(text.starts_with("[{")) << text.substr(0, 100);
  EXPECT_TRUE(text.ends_with("}]\n"));
  EXPECT_EQ(count(text, "\"name\":\"send work\""), kTasks);
  EXPECT_EQ(count(text, "\"name\":\"receive work\""), kTasks);
  EXPECT_EQ(count(text, R"("ph":"b")"), kTasks);
  EXPECT_EQ(count(text, R"("ph":"e")"), kTasks);
  EXPECT_EQ(count(text, "introduction"), 0U);
  EXPECT_TRUE(read("worker_1").empty());
}

TEST_F(Traces, AreAskedForByTheEnvironmentToo) {
  setenv("MUSTER_TRACE", folder.c_str(), 1);
  {
    LocalGroup group([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); });
    const auto master = group.start("master");
  }
  unsetenv("MUSTER_TRACE");
  EXPECT_TRUE(read("master").ends_with("}]\n"));
}

TEST_F(Traces, ThatCannotBeWrittenAreAnError) {
  LocalGroup group([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); });
  ProxyOptions options = group.options("master");
  options.trace = folder / "no" / "such";
  const auto made = Proxy::start(group.loop(), options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::unavailable);
}

TEST_F(Traces, LeaveOutWhatComesFasterThanItIsWrittenAndSayHowMuch) {
  constexpr std::size_t kEvents = 5000;
  {
    const auto trace = *Trace::open(folder, "g", "busy", 100);
    for (std::size_t i = 0; i < kEvents; ++i) trace->note({.tag = "t"});
  }
  const std::string text = read("busy");
  const std::size_t written = count(text, "receive t");
  std::size_t left_out = 0;
  const std::string mark = R"("name":"left_out")";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    left_out += std::stoul(text.substr(text.find("\"events\":", at) + 9));
  }
  EXPECT_EQ(written + left_out, kEvents);
  EXPECT_GT(left_out, 0U);
}

}  // namespace
}  // namespace muster::msg
