// Runtime: what a program needs to join a group, with the usual choices made.
//
//   auto runtime = *Runtime::make();
//   auto proxy = *runtime->join({.group = "demo", .type = "worker"});
//
// Owns a loop, the shm and tcp drivers, the embedded registry, and finds the
// token. Of the libraries it alone names drivers and a registry, so it stands
// above all of them and none includes it. Who wants another choice makes the
// parts by hand: it is a page of code, and runtime.cpp is that page.

#pragma once

#include <memory>
#include <vector>

#include "muster/base/result.h"
#include "muster/collectives/communicator.h"
#include "muster/loop/loop.h"
#include "muster/msg/proxy.h"
#include "muster/msg/registry.h"
#include "muster/net/driver.h"
#include "muster/net/token_search.h"
#include "muster/registries/embedded/embedded.h"

namespace muster {

struct RuntimeOptions {
  // Where the token is found, if not in the usual places.
  net::TokenOptions token = {};
  registries::EmbeddedOptions registry = {};
};

class Runtime {
 public:
  // Code::not_found or Code::invalid say what is wrong with the token.
  static Result<std::unique_ptr<Runtime>> make(const RuntimeOptions& options = {});
  // After the proxies.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Any thread, both. As Proxy's, with whatever of registry, drivers and token
  // the options leave open filled in.
  Result<std::unique_ptr<msg::Proxy>> start(msg::ProxyOptions options);
  Result<std::unique_ptr<msg::Proxy>> join(msg::ProxyOptions options, const msg::Wait& wait = {});

  // Any thread. Memory for a body that all peers on this host can read where it
  // lies, whichever proxy sends it.
  Result<WritableBuffer> allocate(std::size_t size);
  // Any thread. As Communicator::join(), filled in likewise.
  Result<std::unique_ptr<collectives::Communicator>> communicator(
      collectives::CommunicatorOptions options, const msg::Wait& wait = {});

  loop::Loop& loop() { return *loop_; }

 private:
  Runtime() = default;
  msg::ProxyOptions complete(msg::ProxyOptions options) const;

  std::unique_ptr<loop::Loop> loop_;
  std::shared_ptr<net::TokenSource> tokens_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;  // The fastest first.
  std::unique_ptr<msg::Registry> registry_;
};

}  // namespace muster
