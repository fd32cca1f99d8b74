#include "muster/drivers/shm/shm_listener.h"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/id.h"
#include "muster/drivers/shm/shm_connection.h"

namespace muster::drivers::shm {
namespace {

constexpr std::size_t kMostGuests = 256;
constexpr Duration kPatience = std::chrono::seconds(5);
// For descriptors to come free again.
constexpr Duration kPause = std::chrono::milliseconds(100);

}  // namespace

class ShmListener::Guest final : public loop::FdHandler {
 public:
  Guest(ShmListener& listener, Descriptor socket, const Credentials& credentials)
      : listener_(listener), socket_(std::move(socket)), credentials_(credentials), timer_([this] {
          listener_.refuse(Error(Code::timeout, "it said nothing"));
          listener_.dismiss(*this);
        }) {
    loop::Loop& loop = listener.hub_.loop();
    is_watched_ = loop.watch(socket_.get(), EPOLLIN | EPOLLRDHUP, *this).has_value();
    loop.start(timer_, loop.now() + kPatience);
  }
  ~Guest() { stop_watching(); }

  void on_ready(std::uint32_t) override { listener_.admit(*this); }
  void stop_watching() {
    if (is_watched_) listener_.hub_.loop().unwatch(socket_.get());
    is_watched_ = false;
  }

  Descriptor& socket() { return socket_; }
  const Credentials& credentials() const { return credentials_; }

 private:
  ShmListener& listener_;
  Descriptor socket_;
  Credentials credentials_;
  loop::Timer timer_;
  bool is_watched_ = false;
};

ShmListener::ShmListener(ShmHub& hub, net::Address address, net::Driver::Accept accept,
                         Descriptor socket)
    : hub_(hub),
      address_(std::move(address)),
      accept_(std::move(accept)),
      socket_(std::move(socket)),
      resume_([this] { hub_.loop().change(socket_.get(), EPOLLIN); }) {}

Result<std::unique_ptr<ShmListener>> ShmListener::open(ShmHub& hub, const net::Address& address,
                                                       net::Driver::Accept accept) {
  net::Address actual = address;
  if (actual.host == "*") actual.host = Id::random().to_string();
  const std::string attempt = "listen on " + actual.to_string();
  MUSTER_TRY(const auto name, socket_name(actual));
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error(Code::overloaded, attempt, errno);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.first), name.second) != 0) {
    if (errno == EADDRINUSE) {
      return Error(Code::invalid, "somebody listens there already").during(attempt);
    }
    return system_error(Code::unsupported, attempt, errno);
  }
  if (::listen(socket.get(), 1024) != 0) return system_error(Code::overloaded, attempt, errno);
  std::unique_ptr<ShmListener> made(
      new ShmListener(hub, std::move(actual), std::move(accept), std::move(socket)));
  MUSTER_TRY_OK(hub.loop().watch(made->socket_.get(), EPOLLIN, *made));
  made->is_watched_ = true;
  return made;
}

ShmListener::~ShmListener() {
  if (is_watched_) hub_.loop().unwatch(socket_.get());
}

void ShmListener::on_ready(std::uint32_t) {
  for (;;) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) pause(errno);
      return;
    }
    const Result<Credentials> credentials = peer_credentials(socket.get());
    if (!credentials || credentials->uid != getuid()) {
      refuse(Error(Code::invalid, "it belongs to another user"));
      continue;
    }
    // Whoever dials says its part at once, so it is there already as a rule.
    Result<std::optional<ReceivedMessage>> hello = receive_message(socket.get());
    if (!hello || *hello) {
      welcome(std::move(socket), *credentials, std::move(hello));
      continue;
    }
    if (guests_.size() == kMostGuests) {
      refuse(Error(Code::overloaded, "too many at the door"));
      guests_.pop_front();
    }
    guests_.push_back(std::make_unique<Guest>(*this, std::move(socket), *credentials));
  }
}

// Trying again at once would find the same, over and over.
void ShmListener::pause(int error) {
  refuse(system_error(Code::overloaded, "accept", error));
  hub_.loop().change(socket_.get(), 0);
  hub_.loop().start(resume_, hub_.loop().now() + kPause);
}

void ShmListener::admit(Guest& guest) {
  Result<std::optional<ReceivedMessage>> hello = receive_message(guest.socket().get());
  if (hello && !*hello) return;
  guest.stop_watching();
  Descriptor socket = std::move(guest.socket());
  const Credentials credentials = guest.credentials();
  dismiss(guest);
  welcome(std::move(socket), credentials, std::move(hello));
}

void ShmListener::welcome(Descriptor socket, const Credentials& credentials,
                          Result<std::optional<ReceivedMessage>> hello) {
  if (!hello && hello.error().code() != Code::unavailable) return refuse(hello.error());
  if (!hello || (*hello)->size == 0) {
    return refuse(Error(Code::unavailable, "it went away without a word"));
  }
  auto connection = ShmConnection::answer(hub_, std::move(socket), credentials, std::move(**hello));
  if (!connection) return refuse(connection.error());
  ShmConnection& made = **connection;
  made.set_sink(accept_(std::move(*connection)));
}

void ShmListener::dismiss(Guest& guest) {
  std::erase_if(guests_, [&](const auto& other) { return other.get() == &guest; });
}

void ShmListener::refuse(const Error& why) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(hub_.loop().now().time_since_epoch())
          .count();
  const int held_back = refusals_.admit(now);
  if (held_back < 0) return;
  log::warning("stranger refused  at " + address_.to_string() + "  why " + why.message() +
               "  others " + std::to_string(held_back));
}

}  // namespace muster::drivers::shm
