#include "muster/drivers/tcp/tls_record_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "muster/drivers/tcp/socket_options.h"

namespace muster::drivers::tcp {
namespace {

// Records without content that may follow one another: each costs us more than the peer.
constexpr int kMostIdle = 32;

// Messages and alerts of RFC 8446, sections 4.6.3 and 6.
constexpr std::byte kKeyUpdate{24};
constexpr std::byte kWarning{1};
constexpr std::byte kFatal{2};
constexpr std::byte kCloseNotify{0};
constexpr std::byte kUnexpectedMessage{10};
constexpr std::byte kBadRecordMac{20};
constexpr std::byte kRecordOverflow{22};
constexpr std::byte kIllegalParameter{47};

// The size of the record that begins there, once its header has come; else 0.
std::size_t record_size(std::span<const std::byte> bytes) {
  if (bytes.size() < kRecordHeader) return 0;
  return kRecordHeader + (std::to_integer<std::size_t>(bytes[3]) << 8) +
         std::to_integer<std::size_t>(bytes[4]);
}

// All but header, tag and type.
std::size_t content_size(std::size_t record) { return record - kRecordHeader - kRecordTag - 1; }

bool has_whole_record(std::span<const std::byte> bytes) {
  const std::size_t size = record_size(bytes);
  return size > 0 && (size <= bytes.size() || size > kLongestRecord);
}

}  // namespace

TlsRecordStream::TlsRecordStream(int socket, const Secrets& secrets,
                                 std::span<const std::byte> received, Lent lent,
                                 std::uint64_t records_per_key)
    : socket_(socket),
      reading_(secrets.reading, TlsRecordKey::Use::open),
      writing_(secrets.writing, TlsRecordKey::Use::seal),
      incoming_(lent.incoming),
      outgoing_(socket, lent.gathered),
      received_(received.begin(), received.end()),
      records_per_key_(records_per_key) {}

TlsRecordStream::~TlsRecordStream() {
  // The peer shall know that nothing is missing, if it can be told at once.
  if (!failure_ && !outgoing_.has_unsent()) {
    seal_message(RecordType::alert, std::array{kWarning, kCloseNotify});
    outgoing_.flush();
  }
  close_gently(socket_);
}

Transfer TlsRecordStream::read(std::span<const iovec> into) {
  Room room(into);
  taken_ += room.fill(std::span(opened_).subspan(taken_));
  if (taken_ == opened_.size()) {
    opened_ = {};
    taken_ = 0;
  }
  from_ = 0;
  to_ = received_.size();
  std::ranges::copy(received_, incoming_.received().begin());
  is_drained_ = false;
  while (open_whole_records(room) && !is_drained_ && receive(room.left())) continue;
  put_by();
  if (room.filled() > 0) return {Transfer::State::moved, room.filled()};
  if (failure_ && !may_still_read_) return {Transfer::State::failed, 0};
  return {has_ended_ ? Transfer::State::ended : Transfer::State::blocked, 0};
}

bool TlsRecordStream::has_more() const {
  return is_over() || !opened_.empty() || has_whole_record(received_);
}

// Keeps what is not yet a whole record, or for which there was no room, with the stream.
void TlsRecordStream::put_by() {
  if (from_ == to_) {
    if (!received_.empty()) received_ = {};
    return;
  }
  const auto left = incoming_.received().subspan(from_, to_ - from_);
  received_.assign(left.begin(), left.end());
}

// True if more of them would be taken.
bool TlsRecordStream::open_whole_records(Room& room) {
  while (room.left() > 0 && !is_over()) {
    const auto left = incoming_.received().subspan(from_, to_ - from_);
    if (!has_whole_record(left)) return true;
    const std::size_t size = record_size(left);
    if (!check_header(left[0], size)) return false;
    // Where it belongs is known, perhaps, once what came before it has been looked at.
    if (room.filled() > 0 && content_size(size) > room.here().size()) return false;
    from_ += size;
    open(left.first(size), room);
  }
  return false;
}

bool TlsRecordStream::check_header(std::byte type, std::size_t size) {
  if (type != static_cast<std::byte>(RecordType::data)) {
    refuse(kUnexpectedMessage, "a record that is not encrypted");
  } else if (size > kLongestRecord) {
    refuse(kRecordOverflow, "a record that is too long");
  } else if (size <= kRecordHeader + kRecordTag) {
    refuse(kBadRecordMac, "a record without a type");
  }
  return !is_over();
}

void TlsRecordStream::open(std::span<const std::byte> record, Room& room) {
  std::size_t size = content_size(record.size());
  const bool is_placed = size <= room.here().size();
  std::byte* const to = is_placed ? room.here().data() : incoming_.opened().data();
  std::byte type{};
  if (!reading_.open(record, to, type)) {
    return refuse(kBadRecordMac, "a record that is not genuine");
  }
  // Zeros may follow the type.
  while (type == std::byte{0} && size > 0) type = to[--size];
  if (size > kRecord) return refuse(kRecordOverflow, "a record that is too long");
  take(static_cast<RecordType>(type), {to, size}, is_placed, room);
}

void TlsRecordStream::take(RecordType type, std::span<const std::byte> content, bool is_placed,
                           Room& room) {
  idle_ = type == RecordType::data && !content.empty() ? 0 : idle_ + 1;
  if (idle_ > kMostIdle) return refuse(kUnexpectedMessage, "many records without content");
  switch (type) {
    case RecordType::alert: return take_alert(content);
    case RecordType::handshake: return take_key_update(content);
    case RecordType::data:
      if (is_placed) return room.skip(content.size());
      content = content.subspan(room.fill(content));
      opened_.assign(content.begin(), content.end());
      return;
  }
  refuse(kUnexpectedMessage, "a record of an unknown kind");
}

void TlsRecordStream::take_alert(std::span<const std::byte> content) {
  if (content.size() == 2 && content[1] == kCloseNotify) {
    has_ended_ = true;
    return;
  }
  const int told = content.size() == 2 ? std::to_integer<int>(content[1]) : -1;
  failure_ = Error(Code::unavailable, std::string("connection lost: TLS: the peer says ") +
                                          SSL_alert_desc_string_long(told));
  may_still_read_ = false;
}

// The only message that may follow the handshake here: there are no tickets.
void TlsRecordStream::take_key_update(std::span<const std::byte> content) {
  constexpr std::array kBeginning = {kKeyUpdate, std::byte{0}, std::byte{0}, std::byte{1}};
  if (content.size() != kBeginning.size() + 1 ||
      !std::ranges::equal(content.first(kBeginning.size()), kBeginning)) {
    return refuse(kUnexpectedMessage, "an unexpected message");
  }
  const auto wants_ours = std::to_integer<int>(content.back());
  if (wants_ours > 1) return refuse(kIllegalParameter, "an unknown kind of key update");
  reading_.advance();
  owes_key_ |= wants_ours == 1;
}

// Takes from the socket what may fill `room` bytes, or else the next record. False if
// there is nothing.
bool TlsRecordStream::receive(std::size_t room) {
  const std::span<std::byte> buffer = incoming_.received();
  std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(from_),
            buffer.begin() + static_cast<std::ptrdiff_t>(to_), buffer.begin());
  to_ -= std::exchange(from_, 0);
  // Headers and tags of whole records are 22 bytes of 16 KiB.
  const std::size_t most = std::clamp(room + room / 512, 2 * kLongestRecord, buffer.size());
  const std::size_t asked = most - to_;
  const ssize_t got = recv(socket_, buffer.data() + to_, asked, 0);
  is_drained_ = got < static_cast<ssize_t>(asked);
  if (got > 0) to_ += static_cast<std::size_t>(got);
  has_ended_ |= got == 0;
  if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    lose(errno);
    may_still_read_ = false;
  }
  return got > 0;
}

// What is told as moved has left wholly: the rest of a batch that the socket
// did not take is kept encrypted, and told when it has.
Transfer TlsRecordStream::write(std::span<const iovec> from) {
  if (failure_) return {Transfer::State::failed, 0};
  std::size_t moved = 0;
  for (;;) {
    if (!outgoing_.flush()) {
      lose(outgoing_.error());
      may_still_read_ = true;
      return {Transfer::State::failed, 0};
    }
    if (outgoing_.has_unsent()) break;
    moved += std::exchange(ahead_, 0);
    if (Cursor(from, moved).at_end()) break;
    seal(from, moved);
  }
  if (moved == 0) return {Transfer::State::blocked, 0};
  return {Transfer::State::moved, moved};
}

// Encrypts a batch of what follows the first `skipped` bytes.
void TlsRecordStream::seal(std::span<const iovec> from, std::size_t skipped) {
  Cursor rest(from, skipped);
  while (!rest.at_end() && ahead_ < kTlsBatch) {
    if (owes_key_ || records_ >= records_per_key_) change_key();
    std::byte* const out = outgoing_.gathered().room(kSealedRecord);
    std::span<const std::byte> next = rest.here();
    if (next.size() >= kRecord) {
      next = next.first(kRecord);
      rest.skip(kRecord);
    } else {
      next = {out + kRecordHeader, rest.copy(out + kRecordHeader, kRecord, kRecord)};
    }
    outgoing_.gathered().add(writing_.seal(next, RecordType::data, out));
    ++records_;
    ahead_ += next.size();
  }
}

void TlsRecordStream::seal_message(RecordType type, std::span<const std::byte> message) {
  std::byte* const out = outgoing_.gathered().room(kSealedRecord);
  outgoing_.gathered().add(writing_.seal(message, type, out));
}

// What is written next goes with a new key, and tells the peer so.
void TlsRecordStream::change_key() {
  seal_message(RecordType::handshake,
               std::array{kKeyUpdate, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}});
  writing_.advance();
  records_ = 0;
  owes_key_ = false;
}

void TlsRecordStream::lose(int error) {
  failure_ = error == EPIPE ? Error(Code::unavailable, "connection closed by peer")
                            : system_error(Code::unavailable, "connection lost", error);
}

// The peer does not speak as it should, or somebody has changed what it said.
void TlsRecordStream::refuse(std::byte alert, std::string_view why) {
  ERR_clear_error();  // Others would take it for theirs.
  if (!failure_) {
    seal_message(RecordType::alert, std::array{kFatal, alert});
    outgoing_.flush();
  }
  failure_ = Error(Code::unavailable, "connection lost: TLS: " + std::string(why));
  may_still_read_ = false;
}

}  // namespace muster::drivers::tcp
