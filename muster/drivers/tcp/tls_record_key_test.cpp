#include "muster/drivers/tcp/tls_record_key.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace muster::drivers::tcp {
namespace {

using Bytes = std::vector<std::byte>;
using Use = TlsRecordKey::Use;

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TrafficSecret secret(std::string_view text) {
  TrafficSecret made{};
  std::ranges::copy(from_hex(text), made.begin());
  return made;
}

// "Simple 1-RTT Handshake" in RFC 8448, section 3: what the client writes with.
const TrafficSecret kClient =
    secret("9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
constexpr std::string_view kFirst =
    "1703030043a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e"
    "2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4";
constexpr std::string_view kSecond = "1703030013c9872760655666b74d7ff1153efd6db6d0b0e3";

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

Bytes seal(TlsRecordKey& key, const Bytes& content, RecordType type = RecordType::data) {
  Bytes record(kSealedRecord);
  record.resize(key.seal(content, type, record.data()));
  return record;
}

// The content and the type behind it; nothing if the record is not genuine.
Bytes open(TlsRecordKey& key, const Bytes& record) {
  Bytes content(record.size());
  std::byte last{};
  if (!key.open(record, content.data(), last)) return {};
  content.resize(record.size() - kRecordHeader - kRecordTag);
  content.back() = last;
  return content;
}

TEST(TlsRecordKey, WritesTheRecordsOfTheStandardsExample) {
  TlsRecordKey key(kClient, Use::seal);
  EXPECT_EQ(seal(key, counting(50)), from_hex(kFirst));
  EXPECT_EQ(seal(key, {std::byte{1}, std::byte{0}}, RecordType::alert), from_hex(kSecond));
}

TEST(TlsRecordKey, ReadsTheRecordsOfTheStandardsExample) {
  TlsRecordKey key(kClient, Use::open);
  Bytes expected = counting(50);
  expected.push_back(static_cast<std::byte>(RecordType::data));
  EXPECT_EQ(open(key, from_hex(kFirst)), expected);
  EXPECT_EQ(open(key, from_hex(kSecond)), (Bytes{std::byte{1}, std::byte{0}, std::byte{21}}));
}

TEST(TlsRecordKey, WhereTheContentLiesMakesNoDifference) {
  for (const std::size_t size : {0UL, 1UL, 15UL, 16UL, 1000UL, kRecord}) {
    TlsRecordKey apart(kClient, Use::seal);
    TlsRecordKey in_place(kClient, Use::seal);
    Bytes record(kSealedRecord);
    std::ranges::copy(counting(size), record.begin() + kRecordHeader);
    record.resize(in_place.seal(std::span(record).subspan(kRecordHeader, size), RecordType::data,
                                record.data()));
    EXPECT_EQ(record, seal(apart, counting(size))) << size;
  }
}

TEST(TlsRecordKey, NeitherAChangedRecordNorOneOutOfOrderIsGenuine) {
  TlsRecordKey writing(kClient, Use::seal);
  const Bytes first = seal(writing, counting(50));
  const Bytes second = seal(writing, counting(50));
  EXPECT_NE(first, second);
  for (std::size_t at = 0; at < first.size(); ++at) {
    TlsRecordKey reading(kClient, Use::open);
    Bytes changed = first;
    changed[at] ^= std::byte{0x10};
    EXPECT_TRUE(open(reading, changed).empty()) << at;
  }
  TlsRecordKey reading(kClient, Use::open);
  EXPECT_TRUE(open(reading, second).empty());
  TlsRecordKey again(kClient, Use::open);
  EXPECT_FALSE(open(again, first).empty());
  EXPECT_TRUE(open(again, first).empty()) << "replayed";
}

TEST(TlsRecordKey, BothEndsGoOnWithTheNextKeyAndNotWithTheOld) {
  TlsRecordKey writing(kClient, Use::seal);
  TlsRecordKey reading(kClient, Use::open);
  TlsRecordKey old(kClient, Use::open);
  writing.advance();
  reading.advance();
  const Bytes record = seal(writing, counting(50));
  EXPECT_FALSE(open(reading, record).empty());
  EXPECT_TRUE(open(old, record).empty());
}

}  // namespace
}  // namespace muster::drivers::tcp
