// A master greets a worker, and the worker answers.
//
// Run it as `example_hello_proxy worker_1` in one terminal and as
// `example_hello_proxy master` in another, or without arguments.
#include <chrono>
#include <cstdio>
#include <string>

#include "examples/roles.h"
#include "muster/runtime/runtime.h"

using namespace muster;
using namespace muster::msg;
using namespace std::chrono_literals;

void print(const Message& message) {
  const std::string* text = message.body().as_string();
  std::printf("%.*s says %s\n", static_cast<int>(message.source().size()), message.source().data(),
              text != nullptr ? text->c_str() : "nothing");
}

Status master(Proxy& proxy) {
  MUSTER_TRY(const Message reply,
             proxy.send({.tag = "greet", .destination = "worker_1", .body = "hello"}, 30s));
  print(reply);
  return ok();
}

Status worker(Proxy& proxy) {
  MUSTER_TRY(const std::optional<Message> message, proxy.receive_once(30s));
  if (!message) return Error(Code::timeout, "nobody greets");
  print(*message);
  return proxy.reply(*message, "hello back");
}

Status run(const std::string& name) {
  const bool is_master = name == "master";
  MUSTER_TRY(const auto runtime, Runtime::make());
  ProxyOptions options{.group = "hello", .type = is_master ? "master" : "worker", .name = name};
  options.expected = {is_master ? Expected{"worker", 1} : Expected{"master"}};
  MUSTER_TRY(const auto proxy, runtime->join(options, 30s));
  MUSTER_TRY_OK(is_master ? master(*proxy) : worker(*proxy));
  return proxy->leave(10s);
}

int main(int argc, char** argv) { return run_roles(argc, argv, "master", 1, run); }
