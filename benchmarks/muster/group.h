// Components of one group, a process each, for the cases about messages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/common/fail.h"
#include "benchmarks/muster/folder.h"
#include "muster/loop/loop.h"
#include "muster/msg/proxy.h"
#include "muster/msg/registry.h"
#include "muster/net/driver.h"

namespace muster::bench::ours {

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().describe());
  return *std::move(result);
}

enum class Over { shm, tcp };

// One component with all that it needs. What fails ends the program.
class Member {
 public:
  // Returns once those expected are here.
  Member(Over over, const std::string& folder, const std::string& type, const std::string& name,
         std::vector<msg::Expected> expected);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  msg::Proxy& proxy() { return *proxy_; }

 private:
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<msg::Registry> registry_;
  std::unique_ptr<msg::Proxy> proxy_;
};

}  // namespace muster::bench::ours
