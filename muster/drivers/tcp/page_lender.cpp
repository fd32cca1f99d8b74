#include "muster/drivers/tcp/page_lender.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace muster::drivers::tcp {
namespace {

// Pages that a pipe holds at once, in bytes. A user without privileges has some dozens of such;
// with less than the least a copy is as quick.
constexpr int kPipe = 1 << 20;
constexpr int kLeastPipe = 64 << 10;

// splice() has no MSG_NOSIGNAL.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

  // One was raised for this thread. One that was there before is another's.
  void swallow() const {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

// What the system says to who may not, or where there is no such thing.
bool is_forbidden(int error) {
  return error == EPERM || error == EACCES || error == ENOSYS || error == EINVAL;
}

}  // namespace

Pipe Pipe::make() {
  int ends[2];
  Pipe made;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return made;
  made.out_ = Descriptor(ends[0]);
  made.in_ = Descriptor(ends[1]);
  fcntl(made.in(), F_SETPIPE_SZ, kPipe);
  return fcntl(made.in(), F_GETPIPE_SZ) < kLeastPipe ? Pipe() : std::move(made);
}

Pipe PipeShelf::take() { return kept_.is_made() ? std::exchange(kept_, Pipe()) : Pipe::make(); }

void PipeShelf::give_back(Pipe pipe) { kept_ = std::move(pipe); }

Lent PageLender::lend(int socket, const iovec& from) {
  using enum Lent::Refusal;
  Lent lent;
  if (!pipe_.is_made()) pipe_ = shelf_.take();
  if (!pipe_.is_made()) return {.refusal = now};
  while (lent.bytes < from.iov_len && lent.error == 0 && lent.refusal == none) {
    const iovec rest{static_cast<std::byte*>(from.iov_base) + lent.bytes,
                     from.iov_len - lent.bytes};
    if (inside_ < rest.iov_len && !fill(rest) && inside_ == 0) {
      lent.refusal = is_forbidden(errno) ? always : now;
    } else {
      drain(socket, lent);
    }
  }
  if (inside_ == 0 && pipe_.is_made()) shelf_.give_back(std::exchange(pipe_, Pipe()));
  return lent;
}

// Puts what is not in the pipe yet behind what is. False if it took nothing.
bool PageLender::fill(const iovec& from) {
  const iovec behind{static_cast<std::byte*>(from.iov_base) + inside_, from.iov_len - inside_};
  const ssize_t put = vmsplice(pipe_.in(), &behind, 1, SPLICE_F_NONBLOCK);
  if (put <= 0) return false;
  inside_ += static_cast<std::size_t>(put);
  return true;
}

void PageLender::drain(int socket, Lent& lent) {
  const WithoutSigpipe without_sigpipe;
  while (inside_ > 0) {
    const ssize_t moved = splice(pipe_.out(), nullptr, socket, nullptr, inside_, SPLICE_F_NONBLOCK);
    if (moved > 0) {
      inside_ -= static_cast<std::size_t>(moved);
      lent.bytes += static_cast<std::size_t>(moved);
      continue;
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && is_forbidden(errno)) return refuse(lent);
    lent.error = moved == 0 ? EAGAIN : errno;
    if (lent.error == EPIPE) without_sigpipe.swallow();
    return;
  }
}

// What is in the pipe has not left, and leaves in another way.
void PageLender::refuse(Lent& lent) {
  lent.refusal = Lent::Refusal::always;
  inside_ = 0;
  pipe_ = Pipe();
}

}  // namespace muster::drivers::tcp
