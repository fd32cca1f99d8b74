// Runtime: what a program needs to join a group, with the usual choices made.
//
//   auto runtime = *Runtime::make();
//   auto proxy = *runtime->join({.group = "demo", .type = "worker"});
//
// Owns a loop, the shm, tcp and zmq drivers, the embedded registry, and finds the
// token. Of the libraries it alone names drivers and a registry, so it stands
// above all of them and none includes it. Who wants another choice makes the
// parts by hand: it is a page of code, and runtime.cpp is that page.

#pragma once

#include <memory>
#include <vector>

#include "muster/base/result.h"
#include "muster/collectives/communicator.h"
#include "muster/drivers/tcp/tls_options.h"
#include "muster/loop/loop.h"
#include "muster/msg/proxy.h"
#include "muster/msg/registry.h"
#include "muster/msg/survey.h"
#include "muster/net/driver.h"
#include "muster/net/token_search.h"
#include "muster/registries/embedded/embedded.h"

namespace muster {

struct RuntimeOptions {
  // Where the token is found, if not in the usual places.
  net::TokenOptions token = {};
  // How tcp encrypts, and where processes of ucx meet. Certificates that are not named
  // here may be named by the environment: MUSTER_TLS_CA_FILE, MUSTER_TLS_CERTIFICATE_FILE
  // and MUSTER_TLS_KEY_FILE, all three. Else it is by the token, as is its proof always.
  drivers::TlsOptions tls = {};
  registries::EmbeddedOptions registry = {};
  // Also the ucx driver, for addresses that name it: on fabrics that are trusted.
  // Code::unsupported says what is missing.
  bool ucx = false;
};

class Runtime {
 public:
  // Code::not_found or Code::invalid say what is wrong with the token or a certificate.
  static Result<std::unique_ptr<Runtime>> make(const RuntimeOptions& options = {});
  // After the proxies.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Any thread, both. As Proxy's, with whatever of registry, drivers and token
  // the options leave open filled in.
  Result<std::unique_ptr<msg::Proxy>> start(msg::ProxyOptions options);
  Result<std::unique_ptr<msg::Proxy>> join(msg::ProxyOptions options, const msg::Wait& wait = {});

  // Any thread. Who is in a group and what each says of itself, without joining
  // it; filled in the same way.
  Result<std::vector<msg::Surveyed>> survey(msg::SurveyOptions options,
                                            const msg::Wait& wait = std::chrono::seconds(3));
  // Any thread. Memory for a body that all peers on this host can read where it
  // lies, whichever proxy sends it.
  Result<WritableBuffer> allocate(std::size_t size);
  // Any thread. As Communicator::join(), filled in likewise.
  Result<std::unique_ptr<collectives::Communicator>> communicator(
      collectives::CommunicatorOptions options, const msg::Wait& wait = {});

  loop::Loop& loop() { return *loop_; }
  // For another registry than the usual: what it needs to reach other hosts.
  const std::shared_ptr<net::TokenSource>& tokens() const { return tokens_; }
  std::vector<net::Driver*> drivers() const;

 private:
  Runtime() = default;
  msg::ProxyOptions complete(msg::ProxyOptions options) const;

  std::unique_ptr<loop::Loop> loop_;
  std::shared_ptr<net::TokenSource> tokens_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;  // The fastest first.
  std::unique_ptr<msg::Registry> registry_;
};

}  // namespace muster
