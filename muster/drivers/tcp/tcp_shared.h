// What the connections and listeners of one tcp driver have in common.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/drivers/tcp/busy_poller.h"
#include "muster/drivers/tcp/page_lender.h"
#include "muster/drivers/tcp/stream.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/tcp/tls_context.h"
#include "muster/net/complaints.h"
#include "muster/net/resolver.h"

namespace muster::drivers::tcp {

// The most bytes of parts in one frame that comes in.
inline constexpr std::size_t kMaxBody = kNearBody;

struct TcpShared {
  TcpShared(loop::Loop& the_loop, TcpOptions the_options)
      : loop(the_loop),
        options(std::move(the_options)),
        resolver(the_loop),
        tls(TlsContext::make(options.tls)),
        poller(the_loop),
        reading(kReadAtOnce) {}

  // Whether connections at `address` are encrypted. Code::unsupported if they
  // have to be and cannot.
  Result<bool> encrypts(const net::Address& address) const;

  // Logs a warning, unless there was one a moment ago.
  void warn(std::string_view event, std::string_view detail);

  // Small frames are read together, up to this many bytes at a time.
  static constexpr std::size_t kReadAtOnce = std::size_t{128} << 10;

  loop::Loop& loop;
  TcpOptions options;
  net::Resolver resolver;
  Result<std::unique_ptr<TlsContext>> tls;
  BufferPool pool;
  PipeShelf pipes;
  BusyPoller poller;
  std::vector<std::byte> reading;  // One for all: nothing stays in it after a read.
  net::Complaints complaints{"tcp"};
};

}  // namespace muster::drivers::tcp
