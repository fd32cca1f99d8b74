// Site: what a process of these tests needs to join a group that others, in a
// folder of the test's own, have joined.

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "muster/loop/loop.h"
#include "muster/msg/proxy.h"
#include "muster/net/driver.h"

namespace muster::tests {

// A folder that goes with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class Site {
 public:
  // `drivers` is "shm", "tcp" or "shm,tcp".
  Site(const std::string& folder, const std::string& drivers);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // For NAME, of the type that stands before its last '_'.
  msg::ProxyOptions options(const std::string& name) const;
  std::unique_ptr<msg::Proxy> join(const msg::ProxyOptions& options);
  loop::Loop& loop() { return *loop_; }

 private:
  std::unique_ptr<loop::Loop> loop_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::unique_ptr<msg::Registry> registry_;
};

}  // namespace muster::tests
