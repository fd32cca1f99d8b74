// A master has two workers add up its numbers. The parts go out as tasks, which
// are answered; the workers check out by a notification, which is only received.
// Run it as master, worker_1 and worker_2 in three terminals, or without arguments.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "examples/roles.h"
#include "muster/msg/component.h"
#include "muster/runtime/runtime.h"

using namespace muster;
using namespace muster::msg;
using namespace std::chrono_literals;
using wire::Value;

Status master(Proxy& proxy) {
  const Value low = Value::List{1, 2, 3, 4}, high = Value::List{10, 20, 30, 40};
  MUSTER_TRY(const Replies replies,
             proxy.scatter({.tag = "sum"}, {{"worker_1", low}, {"worker_2", high}}, 30s));
  if (!replies.is_complete()) return Error(Code::failed, "a part of the sum is missing");
  std::int64_t total = 0;
  for (const Message& reply : replies.messages) total += reply.body().as_integer().value_or(0);
  std::printf("the sum is %ld\n", static_cast<long>(total));
  Component<int> desk(proxy);
  desk.on("worker:check_out:2", [&](int&, Proxy&, auto) { desk.stop(); });
  return desk.launch(30s);
}

struct Adder {
  Result<Value> sum(Proxy&, const std::vector<Message>& messages) {
    const Value::List* numbers = messages[0].body().as_list();
    if (numbers == nullptr) return Error(Code::invalid, "these are no numbers");
    std::int64_t sum = 0;
    for (const Value& number : *numbers) sum += number.as_integer().value_or(0);
    return Value(sum);  // The reply to the task.
  }
};

Status worker(Proxy& proxy) {
  Component<Adder> adder(proxy, {{"master:sum:1", &Adder::sum}});
  adder.on("master:sum:1", [&](Adder&, Proxy&, auto) { adder.stop(); });  // One is enough.
  MUSTER_TRY_OK(adder.launch(60s));
  Draft bye{.tag = "check_out", .destination = "master", .session_type = SessionType::notification};
  MUSTER_TRY_OK(proxy.send(bye, 30s));
  return ok();
}

Status run(const std::string& name) {
  const bool is_master = name == "master";
  MUSTER_TRY(const auto runtime, Runtime::make());
  ProxyOptions options{.group = "sum", .type = is_master ? "master" : "worker", .name = name};
  options.expected = {is_master ? Expected{"worker", 2} : Expected{"master"}};
  MUSTER_TRY(const auto proxy, runtime->join(options, 30s));
  MUSTER_TRY_OK(is_master ? master(*proxy) : worker(*proxy));
  return proxy->leave(10s);
}

int main(int argc, char** argv) { return run_roles(argc, argv, "master", 2, run); }
