// A TlsRecordStream at one end of a socket; at the other, records made by hand.

#include "muster/drivers/tcp/tls_record_stream.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::drivers::tcp {
namespace {

using Bytes = std::vector<std::byte>;
using State = Transfer::State;
using Use = TlsRecordKey::Use;

TrafficSecret filled_with(int value) {
  TrafficSecret secret;
  secret.fill(static_cast<std::byte>(value));
  return secret;
}

Bytes pattern(std::size_t size, unsigned seed) {
  std::minstd_rand random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class TlsRecords : public ::testing::Test {
 protected:
  TlsRecords() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    theirs = ends[1];
    stream.emplace(ends[0], TlsRecordStream::Secrets{filled_with(1), filled_with(2)}, Bytes{},
                   TlsRecordStream::Lent{gathered, incoming}, 4);
  }
  ~TlsRecords() override {
    stream.reset();
    close(theirs);
  }

  void send_raw(const Bytes& bytes) const {
    ASSERT_EQ(send(theirs, bytes.data(), bytes.size(), 0), std::ssize(bytes));
  }
  Bytes seal(const Bytes& content, RecordType type = RecordType::data) {
    Bytes record(kSealedRecord);
    record.resize(peer_writes.seal(content, type, record.data()));
    return record;
  }
  void send_record(const Bytes& content, RecordType type = RecordType::data) {
    send_raw(seal(content, type));
  }
  Transfer read(Bytes& into) {
    const iovec run{into.data(), into.size()};
    return stream->read({&run, 1});
  }
  // All that comes, by reads of `at_a_time` bytes.
  Bytes read_all(std::size_t at_a_time) {
    Bytes all;
    Bytes piece(at_a_time);
    for (;;) {
      const Transfer got = read(piece);
      if (got.state != State::moved) return all;
      all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got.bytes));
    }
  }
  void expect_refused(const std::string& why) {
    Bytes into(100);
    ASSERT_EQ(read(into).state, State::failed);
    EXPECT_NE(stream->failure().message().find(why), std::string::npos)
        << stream->failure().message();
    EXPECT_EQ(read(into).state, State::failed);
    const iovec run{into.data(), into.size()};
    EXPECT_EQ(stream->write({&run, 1}).state, State::failed);
    EXPECT_EQ(next_record().front(), std::byte{2}) << "the peer is told: a fatal alert";
  }
  // What the stream has written next, and its type behind it.
  Bytes next_record() {
    if (!has_record()) {
      ADD_FAILURE() << "nothing was written";
      return {std::byte{0}};
    }
    const auto end = arrived.begin() + static_cast<std::ptrdiff_t>(record_size());
    const Bytes record(arrived.begin(), end);
    arrived.erase(arrived.begin(), end);
    Bytes content(record.size());
    std::byte last{};
    EXPECT_TRUE(peer_reads.open(record, content.data(), last));
    content.resize(record.size() - kRecordHeader - kRecordTag);
    content.back() = last;
    return content;
  }
  bool has_record() {
    Bytes piece(kLongestRecord);
    for (;;) {
      if (arrived.size() >= kRecordHeader && arrived.size() >= record_size()) return true;
      const ssize_t got = recv(theirs, piece.data(), piece.size(), 0);
      if (got <= 0) return false;
      arrived.insert(arrived.end(), piece.begin(), piece.begin() + got);
    }
  }
  std::size_t record_size() const {
    return kRecordHeader + (std::to_integer<std::size_t>(arrived[3]) << 8) +
           std::to_integer<std::size_t>(arrived[4]);
  }

  Gathered gathered;
  TlsIncoming incoming;
  TlsRecordKey peer_writes{filled_with(1), Use::seal};
  TlsRecordKey peer_reads{filled_with(2), Use::open};
  int theirs = -1;
  Bytes arrived;  // What the stream has written, as far as it has been fetched.
  std::optional<TlsRecordStream> stream;
};

TEST_F(TlsRecords, ContentArrivesHoweverItIsCut) {
  const Bytes said = pattern(70'000, 1);
  for (const std::size_t record : {1UL, 100UL, kRecord}) {
    for (const std::size_t room : {7UL, 16'384UL, 20'000UL, 300'000UL}) {
      Bytes heard;
      const std::size_t size = record == 1 ? 700 : said.size();
      for (std::size_t at = 0; at < size; at += record) {
        const auto* const from = said.data() + at;
        send_record({from, from + std::min(record, size - at)});
        if (at / record % 50 != 3) continue;
        const Bytes came = read_all(room);
        heard.insert(heard.end(), came.begin(), came.end());
      }
      const Bytes came = read_all(room);
      heard.insert(heard.end(), came.begin(), came.end());
      EXPECT_EQ(heard, Bytes(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(size)))
          << record << " into " << room;
    }
  }
}

TEST_F(TlsRecords, ARecordWaitsForTheRestOfItself) {
  const Bytes said = pattern(1000, 2);
  const Bytes record = seal(said);
  Bytes into(2000);
  for (const std::byte byte : record) {
    EXPECT_EQ(read(into).state, State::blocked);
    EXPECT_FALSE(stream->has_more());
    send_raw({byte});
  }
  ASSERT_EQ(read(into).bytes, said.size());
  EXPECT_TRUE(std::equal(said.begin(), said.end(), into.begin()));
}

TEST_F(TlsRecords, WhatDoesNotFitWaitsAndIsTold) {
  send_record(pattern(100, 3));
  send_record(pattern(kRecord, 4));
  Bytes into(200);
  // The second is left whole: where it belongs may be known later.
  ASSERT_EQ(read(into).bytes, 100U);
  EXPECT_TRUE(stream->has_more());
  Bytes larger(kRecord - 1);
  ASSERT_EQ(read(larger).bytes, kRecord - 1);
  EXPECT_TRUE(stream->has_more());
  ASSERT_EQ(read(into).bytes, 1U);
  EXPECT_EQ(into[0], pattern(kRecord, 4).back());
  EXPECT_FALSE(stream->has_more());
}

TEST_F(TlsRecords, PaddingIsNoContent) {
  Bytes padded = pattern(50, 5);
  padded.push_back(static_cast<std::byte>(RecordType::data));
  padded.resize(80, std::byte{0});
  send_record(padded, RecordType{0});
  EXPECT_EQ(read_all(100), pattern(50, 5));
}

TEST_F(TlsRecords, AGoodbyeEndsItAfterWhatCameBefore) {
  send_record(pattern(10, 6));
  send_record({std::byte{1}, std::byte{0}}, RecordType::alert);
  Bytes into(100);
  EXPECT_EQ(read(into).bytes, 10U);
  EXPECT_TRUE(stream->has_more());
  EXPECT_EQ(read(into).state, State::ended);
}

TEST_F(TlsRecords, APeerThatGoesWithoutAWordEndsIt) {
  shutdown(theirs, SHUT_WR);
  Bytes into(100);
  EXPECT_EQ(read(into).state, State::ended);
}

TEST_F(TlsRecords, SaysGoodbyeItself) {
  stream.reset();
  EXPECT_EQ(next_record(), (Bytes{std::byte{1}, std::byte{0}, std::byte{21}}));
}

TEST_F(TlsRecords, AnAlertOfThePeersIsNamed) {
  send_record({std::byte{2}, std::byte{20}}, RecordType::alert);
  Bytes into(100);
  ASSERT_EQ(read(into).state, State::failed);
  EXPECT_NE(stream->failure().message().find("bad record mac"), std::string::npos)
      << stream->failure().message();
}

TEST_F(TlsRecords, ARecordThatIsNotGenuineIsRefused) {
  Bytes record = seal(pattern(10, 7));
  record.back() ^= std::byte{1};
  send_raw(record);
  expect_refused("not genuine");
}

TEST_F(TlsRecords, WrongHeadersAreRefused) {
  send_raw({std::byte{22}, std::byte{3}, std::byte{3}, std::byte{0}, std::byte{1}, std::byte{0}});
  expect_refused("not encrypted");
}

TEST_F(TlsRecords, ALengthBeyondTheLimitIsRefusedAtOnce) {
  send_raw({std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0x41}, std::byte{1}});
  expect_refused("too long");
}

TEST_F(TlsRecords, ALengthWithoutRoomForATypeIsRefused) {
  Bytes bytes = {std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0}, std::byte{16}};
  bytes.resize(bytes.size() + 16);
  send_raw(bytes);
  expect_refused("without a type");
}

TEST_F(TlsRecords, AnUnknownKindIsRefused) {
  send_record(pattern(10, 8), RecordType{99});
  expect_refused("unknown kind");
}

TEST_F(TlsRecords, ARecordOfZerosIsRefused) {
  send_record(Bytes(30), RecordType{0});
  expect_refused("unknown kind");
}

TEST_F(TlsRecords, RecordsWithoutContentAreTakenButNotForEver) {
  for (int i = 0; i < 32; ++i) send_record({});
  send_record(pattern(10, 9));
  EXPECT_EQ(read_all(100), pattern(10, 9));
  for (int i = 0; i < 33; ++i) send_record({});
  expect_refused("without content");
}

TEST_F(TlsRecords, AMessageThatIsNoKeyUpdateIsRefused) {
  send_record({std::byte{4}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}},
              RecordType::handshake);
  expect_refused("unexpected message");
}

TEST_F(TlsRecords, AnUnknownKindOfKeyUpdateIsRefused) {
  send_record({std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2}},
              RecordType::handshake);
  expect_refused("key update");
}

TEST_F(TlsRecords, AKeyIsTakenUpAndGivenWhenAskedFor) {
  for (int i = 0; i < 2; ++i) {  // Asked for twice, given once.
    send_record({std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1}},
                RecordType::handshake);
    peer_writes.advance();
  }
  send_record(pattern(10, 10));
  EXPECT_EQ(read_all(100), pattern(10, 10));

  Bytes said = pattern(10, 11);
  const iovec run{said.data(), said.size()};
  ASSERT_EQ(stream->write({&run, 1}).bytes, said.size());
  EXPECT_EQ(next_record(), (Bytes{std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1},
                                  std::byte{0}, std::byte{22}}));
  peer_reads.advance();
  said.push_back(std::byte{23});
  EXPECT_EQ(next_record(), said);
}

TEST_F(TlsRecords, NoKeyWritesMoreRecordsThanItMay) {
  for (int i = 0; i < 10; ++i) {
    Bytes said = pattern(1, 12);
    const iovec run{said.data(), said.size()};
    ASSERT_EQ(stream->write({&run, 1}).bytes, 1U);
    if (i == 4 || i == 8) {
      EXPECT_EQ(next_record().back(), std::byte{22}) << i;
      peer_reads.advance();
    }
    EXPECT_EQ(next_record().back(), std::byte{23}) << i;
  }
}

// A large run has records of its own, so that its end reads it into its place.
TEST_F(TlsRecords, SmallRunsAreJoinedAndLargeOnesAreNot) {
  std::array<Bytes, 5> said = {pattern(40, 13), pattern(2 * kRecord, 14), pattern(5, 15),
                               pattern(6, 16), pattern(kRecord + 10, 17)};
  std::array<iovec, 5> runs;
  for (std::size_t i = 0; i < said.size(); ++i) runs[i] = {said[i].data(), said[i].size()};
  ASSERT_EQ(stream->write(runs).bytes, 40 + 2 * kRecord + 11 + kRecord + 10);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 7; ++i) {
    const Bytes record = next_record();
    if (record.back() == std::byte{22}) {
      peer_reads.advance();
    } else {
      sizes.push_back(record.size() - 1);
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{40, kRecord, kRecord, 11, kRecord, 10}));
}

TEST_F(TlsRecords, WhatTheSocketDoesNotTakeLeavesLater) {
  Bytes said = pattern(3'000'000, 18);
  Bytes heard;
  std::size_t sent = 0;
  int blocked = 0;
  while (sent < said.size()) {
    const iovec run{said.data() + sent, said.size() - sent};
    const Transfer written = stream->write({&run, 1});
    ASSERT_NE(written.state, State::failed);
    if (written.bytes < run.iov_len) ++blocked;
    sent += written.bytes;
    while (has_record()) {
      const Bytes record = next_record();
      if (record.back() == std::byte{22}) {
        peer_reads.advance();
      } else {
        heard.insert(heard.end(), record.begin(), record.end() - 1);
      }
    }
  }
  EXPECT_GT(blocked, 3);
  EXPECT_EQ(heard, said);
}

}  // namespace
}  // namespace muster::drivers::tcp
