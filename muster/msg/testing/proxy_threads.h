// ThreadsTest: proxies of one process with real threads and time.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/local_group.h"

namespace muster::msg::testing {

// Answers each task with `answer(message)` until it is told to stop.
class Worker {
 public:
  using Answer = std::function<wire::Value(const Message&)>;
  Worker(LocalGroup& group, const std::string& name, Answer answer)
      : proxy_(group.start(name)),
        thread_([this, answer = std::move(answer)](const std::stop_token& stop) {
          for (const Message& message : proxy_->receive(Wait(stop))) {
            if (message.session_type() == SessionType::task) {
              EXPECT_TRUE(proxy_->reply(message, answer(message)));
            }
            ++count;
          }
        }) {}
  Proxy& proxy() { return *proxy_; }
  std::atomic<int> count{0};

 private:
  std::unique_ptr<Proxy> proxy_;
  std::jthread thread_;
};

inline wire::Value echo(const Message& message) { return message.body(); }

class ThreadsTest : public ::testing::Test {
 protected:
  explicit ThreadsTest(const LocalGroup::MakeDriver& make_driver) : group(make_driver) {}
  std::unique_ptr<Proxy> join(const std::string& name, std::vector<Expected> expected) {
    return group.join(name, std::move(expected));
  }

  LocalGroup group;
};

}  // namespace muster::msg::testing
