#include "muster/registries/embedded/channel.h"

#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/registries/embedded/process.h"

namespace muster::registries::embedded {
namespace {

constexpr std::size_t kMostQueued = 16384;
constexpr std::size_t kMostAtOnce = 64;
// What a socket's buffer can hold of even the smallest packets.
constexpr std::size_t kAll = 100'000;

Result<ucred> credentials_of(int socket) {
  ucred facts{};
  socklen_t size = sizeof facts;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &facts, &size) != 0) {
    return system_error(Code::internal, "ask who is at the other end", errno);
  }
  return facts;
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::open(loop::Loop& loop, Descriptor socket,
                                               CarrierSink& sink) {
  MUSTER_TRY(const ucred peer, credentials_of(socket.get()));
  if (peer.uid != geteuid()) {
    return Error(Code::invalid, "the process at the other end belongs to another user");
  }
  std::unique_ptr<Channel> made(new Channel(loop, std::move(socket), sink, peer.pid));
  MUSTER_TRY_OK(made->start());
  return made;
}

Channel::Channel(loop::Loop& loop, Descriptor socket, CarrierSink& sink, int pid)
    : loop_(loop), socket_(std::move(socket)), sink_(sink), pid_(pid), deathwatch_(*this) {}

Status Channel::start() {
  if (pid_ > 0 && pid_ != getpid()) {
    Result<Descriptor> process = open_process(pid_);
    if (!process && process.error().code() == Code::unavailable) return process.error();
    // Without one, where there are no descriptors left, the socket must do.
    if (process) {
      deathwatch_.process = *std::move(process);
      MUSTER_TRY_OK(loop_.watch(deathwatch_.process.get(), EPOLLIN, deathwatch_));
      deathwatch_.is_watched = true;
    }
  }
  MUSTER_TRY_OK(loop_.watch(socket_.get(), EPOLLIN | EPOLLRDHUP, *this));
  watched_ = EPOLLIN | EPOLLRDHUP;
  return ok();
}

Channel::~Channel() {
  if (watched_ != 0) loop_.unwatch(socket_.get());
  if (deathwatch_.is_watched) loop_.unwatch(deathwatch_.process.get());
}

void Channel::Deathwatch::on_ready(std::uint32_t) {
  // What it said before it died counts.
  owner.read(kAll);
  owner.end(Error(Code::unavailable, "its process has died"));
}

void Channel::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) write();
  const bool is_over = (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0;
  if (const auto why = read(is_over ? kAll : kMostAtOnce)) end(*why);
}

std::optional<Error> Channel::read(std::size_t most) {
  std::array<std::byte, kMaxMessage + 1> bytes;
  bool was_reset = false;
  for (std::size_t i = 0; i < most; ++i) {
    const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size > 0) {
      sink_.on_packet(std::span(bytes).first(static_cast<std::size_t>(size)));
      continue;
    }
    if (size == 0) return Error(Code::unavailable, "the connection was closed");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    // Told once, and before what came ahead of it.
    if (errno != EINTR && std::exchange(was_reset, true)) {
      return system_error(Code::unavailable, "read from the registry's socket", errno);
    }
  }
  return std::nullopt;
}

bool Channel::send(const Message& message) {
  if (queue_.size() == kMostQueued) return false;
  queue_.push_back(encode(message));
  if (queue_.size() == 1) write();
  return true;
}

void Channel::write() {
  while (!queue_.empty()) {
    const std::vector<std::byte>& packet = queue_.front();
    if (::send(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) break;
      queue_.clear();  // It is gone; reading will tell.
      break;
    }
    queue_.pop_front();
  }
  watch_for(EPOLLIN | EPOLLRDHUP | (queue_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT)));
}

void Channel::watch_for(std::uint32_t events) {
  if (events == watched_) return;
  loop_.change(socket_.get(), events);
  watched_ = events;
}

void Channel::end(const Error& why) {
  loop_.unwatch(socket_.get());
  watched_ = 0;
  if (deathwatch_.is_watched) loop_.unwatch(deathwatch_.process.get());
  deathwatch_.is_watched = false;
  sink_.on_gone(why);
}

}  // namespace muster::registries::embedded
