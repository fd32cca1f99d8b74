#include "muster/drivers/tcp/tls_wire.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <openssl/bio.h>
#include <sys/uio.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/socket_options.h"

namespace muster::drivers::tcp {
namespace {

// What OpenSSL's own sockets are told about the kernel's TLS; bio.h lists the
// numbers in a comment only.
constexpr int kSetKernelTls = 72;
constexpr int kNextIsControl = 74;
constexpr int kNextIsData = 75;

}  // namespace

// What OpenSSL calls.
struct TlsWire::Method {
  static TlsWire& wire(BIO* bio) { return *static_cast<TlsWire*>(BIO_get_data(bio)); }
  static int read(BIO* bio, char* into, int size) { return wire(bio).read(into, size); }
  static int write(BIO* bio, const char* from, int size) { return wire(bio).write(from, size); }
  static long control(BIO* bio, int command, long number, void* pointer) {
    return wire(bio).control(command, number, pointer);
  }
  // Made once, and kept for as long as the process runs.
  static const BIO_METHOD* get() {
    static const BIO_METHOD* const kMethod = [] {
      BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "muster");
      MUSTER_CHECK(made != nullptr, "there is memory for a table");
      BIO_meth_set_read(made, read);
      BIO_meth_set_write(made, write);
      BIO_meth_set_ctrl(made, control);
      return made;
    }();
    return kMethod;
  }
};

TlsWire::TlsWire(int socket, Gathered& gathered)
    : socket_(socket),
      outgoing_(socket, gathered),
      bio_(BIO_new(Method::get())),
      kernel_(BIO_new_socket(socket, BIO_NOCLOSE)) {
  MUSTER_CHECK(bio_ != nullptr && kernel_ != nullptr, "there is memory for a connection");
  BIO_set_data(bio_, this);
  BIO_set_init(bio_, 1);
}

TlsWire::~TlsWire() {
  BIO_free(bio_);
  BIO_free(kernel_);
  if (socket_ >= 0) close_gently(socket_);
}

int TlsWire::read(char* into, int size) {
  BIO_clear_retry_flags(bio_);
  if (has_ahead()) {
    const std::size_t count = std::min(static_cast<std::size_t>(size), ahead_to_ - ahead_from_);
    std::memcpy(into, ahead_.data() + ahead_from_, count);
    ahead_from_ += count;
    return static_cast<int>(count);
  }
  if (is_drained_) {
    BIO_set_retry_read(bio_);
    return -1;
  }
  if (uses_kernel_ && BIO_get_ktls_recv(kernel_)) {
    const int got = BIO_read(kernel_, into, size);
    if (BIO_should_retry(kernel_)) BIO_set_retry_read(bio_);
    has_ended_ |= got == 0;
    return got;
  }
  return read_along(into, static_cast<std::size_t>(size));
}

int TlsWire::read_along(char* into, std::size_t size) {
  const std::array<iovec, 2> both = {iovec{into, size}, iovec{ahead_.data(), ahead_.size()}};
  const ssize_t got = readv(socket_, both.data(), static_cast<int>(both.size()));
  if (got > 0) {
    const auto count = static_cast<std::size_t>(got);
    is_drained_ = count < size + ahead_.size();
    ahead_from_ = 0;
    ahead_to_ = count > size ? count - size : 0;
    return static_cast<int>(std::min(count, size));
  }
  if (got == 0) {
    has_ended_ = true;
    return 0;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    is_drained_ = true;
    BIO_set_retry_read(bio_);
  } else {
    error_ = errno;
  }
  return -1;
}

int TlsWire::write(const char* from, int size) {
  BIO_clear_retry_flags(bio_);
  if (is_control_next_) {
    // The kernel has to be told what it is, and so gets it by itself.
    is_control_next_ = false;
    return flush() && !has_unsent() ? BIO_write(kernel_, from, size) : -1;
  }
  const auto count = static_cast<std::size_t>(size);
  std::memcpy(outgoing_.gathered().room(count), from, count);
  outgoing_.gathered().add(count);
  return size;
}

long TlsWire::control(int command, long number, void* pointer) {
  switch (command) {
    // What the socket does not take leaves later; OpenSSL need not wait for it.
    case BIO_CTRL_FLUSH: return flush() ? 1 : 0;
    case BIO_CTRL_EOF: return has_ended_ ? 1 : 0;
    case kNextIsControl: is_control_next_ = true; [[fallthrough]];
    case kNextIsData: return BIO_ctrl(kernel_, command, number, pointer);
    case kSetKernelTls: {
      const long is_set = BIO_ctrl(kernel_, command, number, pointer);
      uses_kernel_ |= is_set > 0;
      return is_set;
    }
    // Asked several times per record.
    case BIO_CTRL_GET_KTLS_SEND:
    case BIO_CTRL_GET_KTLS_RECV:
      return uses_kernel_ ? BIO_ctrl(kernel_, command, number, pointer) : 0;
    default: return 0;
  }
}

}  // namespace muster::drivers::tcp
