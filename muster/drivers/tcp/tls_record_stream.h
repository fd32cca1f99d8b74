// TlsRecordStream: the records of a TLS 1.3 connection whose ends OpenSSL has
// introduced to each other.
//
// OpenSSL's own record layer copies every byte once more on either side. This one
// encrypts large parts from where they lie into what is sent, and decrypts them from
// what was received into where they belong; small runs are joined into one record.
// The cipher is TlsCipher's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "muster/drivers/tcp/runs.h"
#include "muster/drivers/tcp/stream.h"
#include "muster/drivers/tcp/tls_outgoing.h"
#include "muster/drivers/tcp/tls_record_key.h"

namespace muster::drivers::tcp {

// Lent to one stream at a time, as is Gathered; nothing stays in it after a read. Takes
// memory when it is first used.
class TlsIncoming {
 public:
  // As much as TcpConnection asks for at once, a large part of 256 KiB, in one call.
  static constexpr std::size_t kSize = 18 * kRecord;

  // Records, as they came.
  std::span<std::byte> received() { return sized(received_, kSize); }
  // One for which there was no room.
  std::span<std::byte> opened() { return sized(opened_, kLongestRecord); }

 private:
  static std::span<std::byte> sized(std::vector<std::byte>& bytes, std::size_t size) {
    if (bytes.empty()) bytes.resize(size);
    return bytes;
  }

  std::vector<std::byte> received_;
  std::vector<std::byte> opened_;
};

class TlsRecordStream final : public Stream {
 public:
  struct Secrets {
    TrafficSecret reading;
    TrafficSecret writing;
  };
  struct Lent {
    Gathered& gathered;
    TlsIncoming& incoming;
  };

  // Takes over `socket`, of which `received` was read already. What is lent outlives it.
  TlsRecordStream(int socket, const Secrets& secrets, std::span<const std::byte> received,
                  Lent lent, std::uint64_t records_per_key);
  ~TlsRecordStream() override;
  TlsRecordStream(const TlsRecordStream&) = delete;
  TlsRecordStream& operator=(const TlsRecordStream&) = delete;

  Handshake handshake() override { return Handshake::done; }
  Transfer read(std::span<const iovec> into) override;
  Transfer write(std::span<const iovec> from) override;
  bool has_more() const override;
  Error failure() const override { return *failure_; }
  int descriptor() const override { return socket_; }

 private:
  // Reading.
  bool is_over() const { return has_ended_ || (failure_ && !may_still_read_); }
  bool open_whole_records(Room& room);
  bool check_header(std::byte type, std::size_t size);
  void open(std::span<const std::byte> record, Room& room);
  void take(RecordType type, std::span<const std::byte> content, bool is_placed, Room& room);
  void take_alert(std::span<const std::byte> content);
  void take_key_update(std::span<const std::byte> content);
  bool receive(std::size_t room);
  void put_by();

  // Writing.
  void seal(std::span<const iovec> from, std::size_t skipped);
  void seal_message(RecordType type, std::span<const std::byte> message);
  void change_key();

  void lose(int error);
  void refuse(std::byte alert, std::string_view why);

  int socket_;
  TlsRecordKey reading_;
  TlsRecordKey writing_;
  TlsIncoming& incoming_;
  TlsOutgoing outgoing_;
  std::vector<std::byte> received_;  // Not yet opened; between two reads.
  std::vector<std::byte> opened_;    // Content for which there was no room,
  std::size_t taken_ = 0;            // and how much of it was taken since.
  std::size_t from_ = 0;             // What is in incoming_, during a read.
  std::size_t to_ = 0;
  std::size_t ahead_ = 0;          // Bytes that are encrypted, but not all have left.
  std::uint64_t records_ = 0;      // That the key has encrypted,
  std::uint64_t records_per_key_;  // and may.
  int idle_ = 0;                   // Records without content since there was one with some.
  std::optional<Error> failure_;
  bool may_still_read_ = false;  // It failed, but for what the peer sent before.
  bool is_drained_ = false;      // The socket, when it was last asked.
  bool has_ended_ = false;
  bool owes_key_ = false;  // The peer wants us to change it.
};

}  // namespace muster::drivers::tcp
