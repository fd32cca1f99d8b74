#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/shm/shm_connection.h"
#include "muster/drivers/shm/shm_hub.h"
#include "muster/drivers/shm/shm_listener.h"

namespace muster::drivers {
namespace {

class ShmDriver final : public net::Driver {
 public:
  explicit ShmDriver(std::unique_ptr<shm::ShmHub> hub) : hub_(std::move(hub)) {}

  std::string_view scheme() const override { return "shm"; }

  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address,
                                                Accept accept) override {
    MUSTER_TRY(auto listener, shm::ShmListener::open(*hub_, address, std::move(accept)));
    return std::unique_ptr<net::Listener>(std::move(listener));
  }

  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address,
                                                net::Sink& sink) override {
    const std::string attempt = "dial " + address.to_string();
    MUSTER_TRY(const auto name, shm::socket_name(address));
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return system_error(Code::overloaded, attempt, errno);
    const int connected =
        connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.first), name.second);
    if (connected != 0) return fail_later(attempt, errno, sink);
    MUSTER_TRY(const shm::Credentials peer, shm::peer_credentials(socket.get()));
    if (peer.uid != getuid()) {
      return Error(Code::invalid, "it belongs to another user").during(attempt);
    }
    MUSTER_TRY(auto made, shm::ShmConnection::start(*hub_, std::move(socket), peer, sink));
    return std::unique_ptr<net::Connection>(std::move(made));
  }

  Result<WritableBuffer> allocate(std::size_t size) override {
    return hub_->arena().allocate(size);
  }

 private:
  // A connection that only ever tells its sink that nobody was there.
  class Stillborn final : public net::Connection, private loop::Flusher {
   public:
    Stillborn(loop::Loop& loop, Error why, net::Sink& sink)
        : loop_(loop), why_(std::move(why)), sink_(sink) {
      loop_.flush_later(*this);
    }
    ~Stillborn() override { loop_.forget(*this); }
    Status send(wire::Frame&) override { return why_; }
    Result<WritableBuffer> allocate(std::size_t) override { return why_; }
    bool passes(const Buffer&) const override { return false; }
    std::size_t max_body() const override { return net::kLargePart; }
    void close() override {
      if (!has_told_) why_ = Error(Code::cancelled, "closed by this side");
    }
    net::Peer peer() const override { return {}; }

   private:
    void flush() override {
      has_told_ = true;
      const Error why = why_;
      sink_.on_closed(why);  // May destroy this.
    }
    loop::Loop& loop_;
    Error why_;
    net::Sink& sink_;
    bool has_told_ = false;
  };

  Result<std::unique_ptr<net::Connection>> fail_later(const std::string& attempt, int number,
                                                      net::Sink& sink) {
    Error why = number == ECONNREFUSED
                    ? Error(Code::unavailable, "nobody listens there").during(attempt)
                    : system_error(Code::unavailable, attempt, number);
    return std::unique_ptr<net::Connection>(
        std::make_unique<Stillborn>(hub_->loop(), std::move(why), sink));
  }

  std::unique_ptr<shm::ShmHub> hub_;
};

}  // namespace

Result<std::unique_ptr<net::Driver>> make_shm_driver(loop::Loop& loop, ShmOptions options) {
  MUSTER_TRY(auto hub, shm::ShmHub::make(loop, options));
  return std::unique_ptr<net::Driver>(std::make_unique<ShmDriver>(std::move(hub)));
}

}  // namespace muster::drivers
