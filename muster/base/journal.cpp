#include "muster/base/journal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "muster/base/id.h"

namespace muster {
namespace {

using Mark = JournalMark;

constexpr std::string_view kMagic = "muster-journal-2";
constexpr std::size_t kSum = 4;
constexpr std::size_t kBegin = kMagic.size() + sizeof(Mark) + kSum;  // The first record.
constexpr std::size_t kHead = sizeof(Mark) + kSum + 8;               // And the size.

// CRC-32C.
constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (0x82F63B78U & (0U - (value & 1U)));
    table[i] = value;
  }
  return table;
}();

std::uint32_t checksum(std::uint32_t sum, std::span<const std::byte> bytes) {
  for (const std::byte one : bytes) {
    sum = (sum >> 8) ^ kTable[(sum ^ std::to_integer<std::uint32_t>(one)) & 0xFF];
  }
  return sum;
}

using Head = std::array<std::byte, kHead>;

Head head_of(const Mark& mark, std::span<const std::byte> record) {
  Head head{};
  const std::uint64_t size = record.size();
  const auto sized = std::span(head).last<sizeof size>();
  std::memcpy(sized.data(), &size, sizeof size);
  const std::uint32_t sum = ~checksum(checksum(UINT32_MAX, sized), record);
  std::memcpy(head.data(), mark.data(), sizeof mark);
  std::memcpy(head.data() + sizeof mark, &sum, sizeof sum);
  return head;
}

std::uint64_t size_in(const Head& head) {
  std::uint64_t size = 0;
  std::memcpy(&size, head.data() + kHead - sizeof size, sizeof size);
  return size;
}

// What stands before the records: the magic bytes, the mark and its checksum.
std::array<std::byte, kBegin> beginning_with(const Mark& mark) {
  std::array<std::byte, kBegin> all{};
  const std::uint32_t sum = ~checksum(UINT32_MAX, mark);
  std::memcpy(all.data(), kMagic.data(), kMagic.size());
  std::memcpy(all.data() + kMagic.size(), mark.data(), sizeof mark);
  std::memcpy(all.data() + kMagic.size() + sizeof mark, &sum, sizeof sum);
  return all;
}

Status write_at(int file, std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(Code::unavailable, "write", errno);
    at += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return ok();
}

// Fewer than asked for at the end of the file.
Result<std::size_t> read_at(int file, std::uint64_t at, std::span<std::byte> bytes) {
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t part =
        pread(file, bytes.data() + got, bytes.size() - got, static_cast<off_t>(at + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return system_error(Code::unavailable, "read", errno);
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

// The record at `at`, or none if there is no whole one.
Result<std::optional<std::vector<std::byte>>> record_at(int file, const Mark& mark,
                                                        std::uint64_t at, std::uint64_t end) {
  using Found = std::optional<std::vector<std::byte>>;
  Head head{};
  MUSTER_TRY(const std::size_t got, read_at(file, at, head));
  const std::uint64_t size = size_in(head);
  if (got < kHead || size > end - at - kHead) return Found();
  std::vector<std::byte> record(size);
  MUSTER_TRY(const std::size_t body, read_at(file, at + kHead, record));
  if (body < size || head_of(mark, record) != head) return Found();
  return Found(std::move(record));
}

// Where the mark stands next, from `at` on; `end` if nowhere.
Result<std::uint64_t> next_mark(int file, const Mark& mark, std::uint64_t at, std::uint64_t end) {
  std::vector<std::byte> bytes(std::size_t{1} << 16);
  while (at < end) {
    MUSTER_TRY(const std::size_t got, read_at(file, at, bytes));
    const auto found = std::search(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(got),
                                   mark.begin(), mark.end());
    const auto place = static_cast<std::size_t>(found - bytes.begin());
    if (place < got) return at + place;
    if (got < bytes.size()) break;
    at += got - (sizeof mark - 1);  // One may begin here and end behind it.
  }
  return end;
}

// A record that is not whole is what a crash has left only if none follows it.
// Nothing in it can be believed, neither its size nor its bytes: those may be another journal's,
// which is why each file has a mark of its own.
Result<bool> is_followed(int file, const Mark& mark, std::uint64_t at, std::uint64_t end) {
  for (;;) {
    MUSTER_TRY(at, next_mark(file, mark, at + 1, end));
    if (at >= end) return false;
    MUSTER_TRY(const auto record, record_at(file, mark, at, end));
    if (record) return true;
  }
}

Result<std::uint64_t> bytes_in(int file) {
  struct stat about{};
  if (fstat(file, &about) != 0) return system_error(Code::unavailable, "look at it", errno);
  return static_cast<std::uint64_t>(about.st_size);
}

// Where the whole records end.
Result<std::uint64_t> scan(int file, const Mark& mark, const Journal::OnRecord& on_record) {
  MUSTER_TRY(const std::uint64_t end, bytes_in(file));
  std::uint64_t at = kBegin;
  while (at < end) {
    MUSTER_TRY(const auto record, record_at(file, mark, at, end));
    if (!record) {
      MUSTER_TRY(const bool is_damage, is_followed(file, mark, at, end));
      if (!is_damage) break;
      return Error(Code::invalid, "it is damaged at byte " + std::to_string(at) +
                                      "; restore it from a copy, or move it away");
    }
    MUSTER_TRY_OK(on_record(*record));
    at += kHead + record->size();
  }
  return at;
}

Status sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const Descriptor there(
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!there || fsync(there.get()) != 0) return system_error(Code::unavailable, "sync", errno);
  return ok();
}

Result<Descriptor> open_file(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return system_error(Code::unavailable, "open " + path, errno);
  return file;
}

// The mark of the file. One that ends before its first record was just being made.
Result<Mark> begin(int file) {
  std::array<std::byte, kBegin> bytes{};
  MUSTER_TRY(const std::size_t got, read_at(file, 0, bytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(got, kMagic.size()));
  if (!kMagic.starts_with(text)) {
    return Error(Code::invalid, "it is no journal, or one of another version");
  }
  Mark mark{};
  std::memcpy(mark.data(), bytes.data() + kMagic.size(), sizeof mark);
  if (got == kBegin && beginning_with(mark) == bytes) return mark;
  MUSTER_TRY(const std::uint64_t end, bytes_in(file));
  if (end > kBegin) return Error(Code::invalid, "it is damaged at its beginning");
  mark = std::bit_cast<Mark>(random_bits());
  MUSTER_TRY_OK(write_at(file, 0, beginning_with(mark)));
  return mark;
}

}  // namespace

Result<Journal> Journal::open(const std::string& path, const OnRecord& on_record,
                              const JournalOptions& options) {
  Journal journal(path, options);
  const std::string attempt = "open journal " + path;
  // A file of its own: the journal itself is replaced now and then.
  Result<FileLock> lock = FileLock::take(path + ".lock");
  if (!lock) return lock.error().during(attempt);
  journal.lock_ = *std::move(lock);
  MUSTER_TRY(journal.file_, open_file(path, O_RDWR));
  const int file = journal.file_.get();
  Result<Mark> mark = begin(file);
  if (!mark) return mark.error().during(attempt);
  journal.mark_ = *mark;
  Result<std::uint64_t> end = scan(file, *mark, on_record);
  if (!end) return end.error().during(attempt);
  if (ftruncate(file, static_cast<off_t>(*end)) != 0 || fsync(file) != 0) {
    return system_error(Code::unavailable, attempt, errno);
  }
  MUSTER_TRY_OK(sync_folder(path));
  journal.size_ = *end;
  return journal;
}

Status Journal::append_to(int file, std::uint64_t at, std::span<const std::byte> record) const {
  Head head = head_of(mark_, record);
  const iovec both[] = {{head.data(), head.size()},
                        {const_cast<std::byte*>(record.data()), record.size()}};
  const ssize_t result = pwritev(file, both, 2, static_cast<off_t>(at));
  if (result < 0 && errno != EINTR) return system_error(Code::unavailable, "write", errno);
  const std::size_t written = result < 0 ? 0 : static_cast<std::size_t>(result);
  if (written < kHead) MUSTER_TRY_OK(write_at(file, at, head));
  const std::size_t begun = written < kHead ? 0 : written - kHead;
  return write_at(file, at + kHead + begun, record.subspan(begun));
}

Status Journal::append(std::span<const std::byte> record) {
  return append_all(std::span(&record, 1));
}

Status Journal::append_all(std::span<const std::span<const std::byte>> records) {
  const std::string attempt = "append to journal " + path_;
  if (is_broken_) return Error(Code::unavailable, attempt + ": it failed before");
  std::uint64_t end = size_;
  for (const auto& record : records) {
    if (Status written = append_to(file_.get(), end, record); !written) {
      is_broken_ = !cut_back();
      return written.error().during(attempt);
    }
    end += kHead + record.size();
  }
  if (options_.syncs && fdatasync(file_.get()) != 0) {
    const int why = errno;
    is_broken_ = true;  // Nobody knows what is on the disk now.
    static_cast<void>(cut_back());
    return system_error(Code::unavailable, attempt, why);
  }
  size_ = end;
  return ok();
}

// Takes back what an attempt has left.
bool Journal::cut_back() const { return ftruncate(file_.get(), static_cast<off_t>(size_)) == 0; }

Status Journal::read(const OnRecord& on_record) const {
  MUSTER_TRY_OK(scan(file_.get(), mark_, on_record));
  return ok();
}

Status Journal::rewrite(const std::function<Status(const Write& write)>& fill) {
  const std::string attempt = "rewrite journal " + path_;
  if (is_broken_) return Error(Code::unavailable, attempt + ": it failed before");
  const std::string name = path_ + ".new";
  if (Status replaced = replace_by(name, fill); !replaced) {
    unlink(name.c_str());  // The disk may be full as it is.
    return replaced.error().during(attempt);
  }
  return sync_folder(path_);
}

Status Journal::replace_by(const std::string& name,
                           const std::function<Status(const Write& write)>& fill) {
  MUSTER_TRY(Descriptor file, open_file(name, O_RDWR | O_TRUNC));
  MUSTER_TRY_OK(write_at(file.get(), 0, beginning_with(mark_)));
  std::uint64_t end = kBegin;
  MUSTER_TRY_OK(fill([&](std::span<const std::byte> record) -> Status {
    MUSTER_TRY_OK(append_to(file.get(), end, record));
    end += kHead + record.size();
    return ok();
  }));
  if (fsync(file.get()) != 0) return system_error(Code::unavailable, "sync", errno);
  if (rename(name.c_str(), path_.c_str()) != 0) {
    return system_error(Code::unavailable, "rename", errno);
  }
  file_ = std::move(file);
  size_ = end;
  return ok();
}

}  // namespace muster
