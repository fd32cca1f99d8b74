// The tcp driver: frames over TCP, encrypted by TLS 1.3 beyond this host.
//
// tcp://127.0.0.1:7000, tcp://[::1]:0, tcp://localhost:7000-7100 go without
// encryption, unless they end in ?tls=on. tcp://10.0.0.7:7000, tcp://node-7:7000
// and tcp://0.0.0.0:0 never do: without a token or certificates they are refused
// with Code::unsupported.

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/drivers/tcp/tls_options.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::drivers {

struct TcpOptions {
  // The host that listeners tell others. Empty: the one they bind or, if that is
  // all addresses, the first of this host that is not loopback.
  std::string advertised_host = {};
  // How long a dial may take in all, looking up the name included.
  Duration connect_timeout = std::chrono::seconds(5);
  // A connection refuses frames while this many bytes wait to be written.
  std::size_t queue_limit = std::size_t{4} << 20;
  // How long the two ends may take to agree on encryption.
  Duration handshake_timeout = std::chrono::seconds(5);
  TlsOptions tls = {};
};

// Any thread. Whether it can encrypt with these: Code::unsupported if they name neither
// tokens nor certificates, Code::invalid and the file if one cannot be used.
Status check_tls(const TlsOptions& options);

// Any thread. The loop outlives the driver.
std::unique_ptr<net::Driver> make_tcp_driver(loop::Loop& loop, TcpOptions options = {});

}  // namespace muster::drivers
