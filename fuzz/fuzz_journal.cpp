// A journal whose bytes are anybody's, and stores whose records are: what can be opened
// has the same in it when it is opened again.
//
// Input: a byte. Even: the rest is the file. Odd: the rest are records, each a byte that
// is its size and its bytes.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "muster/base/check.h"
#include "muster/base/journal.h"
#include "muster/msg/file_dedup_store.h"
#include "muster/msg/file_outbox.h"
#include "muster/msg/stored_message.h"

namespace {

using namespace muster;

using Records = std::vector<std::vector<std::byte>>;

constexpr JournalOptions kQuick{.syncs = false};

// In memory, and gone with the process.
class Folder {
 public:
  Folder() {
    std::string name = "/dev/shm/muster-fuzz-XXXXXX";
    MUSTER_CHECK(mkdtemp(name.data()) != nullptr, "a folder can be made");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file() const { return path_ + "/journal"; }

 private:
  std::string path_;
};

Result<Records> records_of(const std::string& path) {
  Records records;
  MUSTER_TRY(const Journal journal, Journal::open(
                                        path,
                                        [&](std::span<const std::byte> record) {
                                          records.emplace_back(record.begin(), record.end());
                                          return ok();
                                        },
                                        kQuick));
  return records;
}

void check_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const Result<Records> first = records_of(path);
  if (!first) return;
  const Result<Records> second = records_of(path);
  MUSTER_CHECK(second && *second == *first, "what was opened can be opened again");
}

void check_outbox(const std::string& path) {
  const auto outbox = msg::FileOutbox::open(path, {.journal = kQuick});
  if (!outbox) return;
  const auto messages = (*outbox)->load();
  MUSTER_CHECK(messages.has_value(), "what was opened can be loaded");
  for (const msg::StoredMessage& stored : *messages) {
    const Buffer bytes = msg::internal::message_to_bytes(stored.message);
    MUSTER_CHECK(msg::internal::message_from_bytes(bytes).has_value(),
                 "what was read can be written");
  }
}

void check_dedup(const std::string& path) {
  const auto store = msg::FileDedupStore::open(path, nullptr, {.journal = kQuick});
  if (!store) return;
  const auto handled = (*store)->load();
  MUSTER_CHECK(handled.has_value(), "what was opened can be loaded");
  const std::vector<msg::HandledId> ids(handled->begin(), handled->end());
  MUSTER_CHECK((*store)->forget(ids).has_value(), "what is known can be forgotten");
  MUSTER_CHECK((*store)->load()->empty(), "what was forgotten is not known");
}

void check_records(const std::string& path, std::span<const std::byte> bytes) {
  {
    auto journal = Journal::open(path, [](auto) { return ok(); }, kQuick);
    MUSTER_CHECK(journal.has_value(), "a new journal can be opened");
    while (!bytes.empty()) {
      const std::size_t size = std::min(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 1);
      MUSTER_CHECK(journal->append(bytes.subspan(1, size)).has_value(), "records can be added");
      bytes = bytes.subspan(1 + size);
    }
  }
  check_outbox(path);
  check_dedup(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder kFolder;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (bytes.empty()) return 0;
  std::filesystem::remove(kFolder.file());
  const auto check = std::to_integer<int>(bytes[0]) % 2 == 0 ? check_file : check_records;
  check(kFolder.file(), bytes.subspan(1));
  return 0;
}
