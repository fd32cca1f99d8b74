// Moving bytes; tls_handshake.cpp has what comes before.

#include "muster/drivers/tcp/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "muster/drivers/tcp/runs.h"

namespace muster::drivers::tcp {
namespace {

// Batches after which a stream keeps OpenSSL's buffers, 34 KB, for good: to make
// and free them for each record takes longer than to encrypt a small one. Links
// that have hardly spoken have none, so that a thousand new ones are cheap.
constexpr int kOften = 4096;

// What others have left there would be taken for ours. To look is cheaper than
// to clear.
void forget_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

Transfer TlsStream::read(std::span<const iovec> into) {
  if (failure_ && !may_still_read_) return {Transfer::State::failed, 0};
  if (has_ended_) return {Transfer::State::ended, 0};
  forget_errors();
  wire_.start_reading();
  was_filled_ = false;
  std::size_t moved = 0;
  for (const iovec& run : into) {
    std::size_t filled = 0;
    while (filled < run.iov_len) {
      std::size_t got = 0;
      auto* const to = static_cast<std::byte*>(run.iov_base) + filled;
      if (SSL_read_ex(session_.get(), to, run.iov_len - filled, &got) == 1) {
        filled += got;
        moved += got;
        // Asking once more, only to hear that there is nothing, is not for free.
        if (wire_.is_drained() && SSL_has_pending(session_.get()) == 0) {
          return {Transfer::State::moved, moved};
        }
        continue;
      }
      const int kind = SSL_get_error(session_.get(), 0);
      if (kind == SSL_ERROR_ZERO_RETURN || wire_.has_ended()) {
        has_ended_ = true;
      } else if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) {
        failure_ = why_lost();
        may_still_read_ = false;
      }
      if (moved > 0) return {Transfer::State::moved, moved};
      if (failure_ && !may_still_read_) return {Transfer::State::failed, 0};
      return {has_ended_ ? Transfer::State::ended : Transfer::State::blocked, 0};
    }
  }
  was_filled_ = true;
  return {Transfer::State::moved, moved};
}

bool TlsStream::has_more() const {
  if (failure_ || has_ended_) return true;
  return was_filled_ && (wire_.has_ahead() || SSL_has_pending(session_.get()) == 1);
}

// What is told as moved has left wholly: the rest of a batch that the socket
// did not take is kept encrypted, and told when it has.
Transfer TlsStream::write(std::span<const iovec> from) {
  if (failure_) return {Transfer::State::failed, 0};
  forget_errors();
  std::size_t moved = 0;
  for (;;) {
    if (!wire_.flush()) {
      failure_ = why_lost();
      may_still_read_ = true;
      return {Transfer::State::failed, 0};
    }
    if (wire_.has_unsent()) break;
    moved += std::exchange(ahead_, 0);
    if (Cursor(from, moved).at_end()) break;
    if (!encrypt(from, moved)) return {Transfer::State::failed, 0};
  }
  if (moved == 0) return {Transfer::State::blocked, 0};
  return {Transfer::State::moved, moved};
}

// Encrypts a batch of what follows the first `skipped` bytes.
bool TlsStream::encrypt(std::span<const iovec> from, std::size_t skipped) {
  if (batches_ < kOften && ++batches_ == kOften) {
    SSL_clear_mode(session_.get(), SSL_MODE_RELEASE_BUFFERS);
  }
  Cursor rest(from, skipped);
  while (!rest.at_end() && ahead_ < kTlsBatch) {
    std::span<const std::byte> next = rest.here();
    if (next.size() >= kRecord) {
      const std::size_t whole = std::min(next.size(), kTlsBatch - ahead_);
      next = next.first(std::max(kRecord, whole / kRecord * kRecord));
      rest.skip(next.size());
    } else {
      std::vector<std::byte>& joined = context_.joined();
      joined.resize(kRecord);
      next = {joined.data(), rest.copy(joined.data(), kRecord)};
    }
    std::size_t written = 0;
    if (SSL_write_ex(session_.get(), next.data(), next.size(), &written) != 1) {
      failure_ = why_lost();
      wire_.flush();  // What was gathered is not for the next stream.
      return false;
    }
    ahead_ += written;
    count_records(written);
  }
  return true;
}

// What is written next goes with a new key, and tells the peer so. The kernel, where
// it encrypts, has been given its key for good.
void TlsStream::count_records(std::size_t bytes) {
  records_ += (bytes + kRecord - 1) / kRecord;
  if (records_ < context_.options().records_per_key) return;
  records_ = 0;
  if (BIO_get_ktls_send(SSL_get_wbio(session_.get()))) return;
  SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
}

Error TlsStream::why_lost() const {
  if (wire_.error() == EPIPE) return {Code::unavailable, "connection closed by peer"};
  if (wire_.error() != 0) return system_error(Code::unavailable, "connection lost", wire_.error());
  return {Code::unavailable, "connection lost: TLS: " + take_tls_error()};
}

}  // namespace muster::drivers::tcp
