#include "muster/drivers/tcp/tls_record_key.h"

#include <algorithm>
#include <memory>
#include <ostream>
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

struct Library {
  const char* name;
  std::unique_ptr<TlsCipher> (*make)(Use);
};
std::ostream& operator<<(std::ostream& out, const Library& library) { return out << library.name; }

class TlsRecordKeys : public ::testing::TestWithParam<Library> {};

TEST_P(TlsRecordKeys, WritesTheRecordsOfTheStandardsExample) {
  TlsRecordKey key(kClient, GetParam().make(Use::seal));
  EXPECT_EQ(seal(key, counting(50)), from_hex(kFirst));
  EXPECT_EQ(seal(key, {std::byte{1}, std::byte{0}}, RecordType::alert), from_hex(kSecond));
}

TEST_P(TlsRecordKeys, ReadsTheRecordsOfTheStandardsExample) {
  TlsRecordKey key(kClient, GetParam().make(Use::open));
  Bytes expected = counting(50);
  expected.push_back(static_cast<std::byte>(RecordType::data));
  EXPECT_EQ(open(key, from_hex(kFirst)), expected);
  EXPECT_EQ(open(key, from_hex(kSecond)), (Bytes{std::byte{1}, std::byte{0}, std::byte{21}}));
}

TEST_P(TlsRecordKeys, WhereTheContentLiesMakesNoDifference) {
  for (const std::size_t size : {0UL, 1UL, 15UL, 16UL, 1000UL, kRecord}) {
    TlsRecordKey apart(kClient, GetParam().make(Use::seal));
    TlsRecordKey in_place(kClient, GetParam().make(Use::seal));
    Bytes record(kSealedRecord);
    std::ranges::copy(counting(size), record.begin() + kRecordHeader);
    record.resize(in_place.seal(std::span(record).subspan(kRecordHeader, size), RecordType::data,
                                record.data()));
    EXPECT_EQ(record, seal(apart, counting(size))) << size;
  }
}

TEST_P(TlsRecordKeys, NeitherAChangedRecordNorOneOutOfOrderIsGenuine) {
  TlsRecordKey writing(kClient, GetParam().make(Use::seal));
  const Bytes first = seal(writing, counting(50));
  const Bytes second = seal(writing, counting(50));
  EXPECT_NE(first, second);
  for (std::size_t at = 0; at < first.size(); ++at) {
    TlsRecordKey reading(kClient, GetParam().make(Use::open));
    Bytes changed = first;
    changed[at] ^= std::byte{0x10};
    EXPECT_TRUE(open(reading, changed).empty()) << at;
  }
  TlsRecordKey reading(kClient, GetParam().make(Use::open));
  EXPECT_TRUE(open(reading, second).empty());
  TlsRecordKey again(kClient, GetParam().make(Use::open));
  EXPECT_FALSE(open(again, first).empty());
  EXPECT_TRUE(open(again, first).empty()) << "replayed";
}

TEST_P(TlsRecordKeys, BothEndsGoOnWithTheNextKeyAndNotWithTheOld) {
  TlsRecordKey writing(kClient, GetParam().make(Use::seal));
  TlsRecordKey reading(kClient, GetParam().make(Use::open));
  TlsRecordKey old(kClient, GetParam().make(Use::open));
  writing.advance();
  reading.advance();
  const Bytes record = seal(writing, counting(50));
  EXPECT_FALSE(open(reading, record).empty());
  EXPECT_TRUE(open(old, record).empty());
}

// Whatever one has sealed the other opens, of every size that ends in another way.
TEST(TlsCipher, BothLibrariesSealAlike) {
  for (std::size_t size = 0; size <= 600; ++size) {
    TlsRecordKey writing(kClient, make_tls_cipher(Use::seal));
    TlsRecordKey plain(kClient, make_openssl_cipher(Use::seal));
    EXPECT_EQ(seal(writing, counting(size)), seal(plain, counting(size))) << size;
    TlsRecordKey reading(kClient, make_tls_cipher(Use::open));
    TlsRecordKey again(kClient, make_openssl_cipher(Use::seal));
    Bytes expected = counting(size);
    expected.push_back(static_cast<std::byte>(RecordType::data));
    EXPECT_EQ(open(reading, seal(again, counting(size))), expected) << size;
  }
}

std::vector<Library> libraries() {
  std::vector<Library> found = {{"openssl", make_openssl_cipher}};
  if (make_ipsec_mb_cipher(Use::seal)) found.push_back({"ipsec_mb", make_ipsec_mb_cipher});
  return found;
}

INSTANTIATE_TEST_SUITE_P(Ciphers, TlsRecordKeys, ::testing::ValuesIn(libraries()),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace muster::drivers::tcp
