#include "muster/base/journal.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr std::string_view kMagic = "muster-journal-1";
constexpr std::size_t kHead = 12;  // Checksum and size.

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

std::array<std::byte, kHead> head_of(std::span<const std::byte> record) {
  std::array<std::byte, kHead> head{};
  const std::uint64_t size = record.size();
  std::memcpy(head.data() + 4, &size, sizeof size);
  const std::uint32_t sum = ~checksum(checksum(UINT32_MAX, std::span(head).subspan(4)), record);
  std::memcpy(head.data(), &sum, sizeof sum);
  return head;
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
Result<std::optional<std::vector<std::byte>>> record_at(int file, std::uint64_t at,
                                                        std::uint64_t end) {
  using Found = std::optional<std::vector<std::byte>>;
  std::array<std::byte, kHead> head{};
  MUSTER_TRY(const std::size_t got, read_at(file, at, head));
  std::uint64_t size = 0;
  std::memcpy(&size, head.data() + 4, sizeof size);
  if (got < kHead || size > end - at - kHead) return Found();
  std::vector<std::byte> record(size);
  MUSTER_TRY(const std::size_t body, read_at(file, at + kHead, record));
  if (body < size || head_of(record) != head) return Found();
  return Found(std::move(record));
}

// A record that is not whole is what a crash has left only if none follows it.
Result<bool> is_followed(int file, std::uint64_t at, std::uint64_t end) {
  std::array<std::byte, kHead> head{};
  MUSTER_TRY(const std::size_t got, read_at(file, at, head));
  std::uint64_t size = 0;
  std::memcpy(&size, head.data() + 4, sizeof size);
  if (got < kHead || size > end - at - kHead) return false;
  const std::uint64_t next = at + kHead + size;
  if (next >= end) return false;
  MUSTER_TRY(const auto record, record_at(file, next, end));
  return record.has_value();
}

Result<std::uint64_t> bytes_in(int file) {
  struct stat about{};
  if (fstat(file, &about) != 0) return system_error(Code::unavailable, "look at it", errno);
  return static_cast<std::uint64_t>(about.st_size);
}

// Where the whole records end.
Result<std::uint64_t> scan(int file, const Journal::OnRecord& on_record) {
  MUSTER_TRY(const std::uint64_t end, bytes_in(file));
  std::uint64_t at = kMagic.size();
  while (at < end) {
    MUSTER_TRY(const auto record, record_at(file, at, end));
    if (!record) {
      MUSTER_TRY(const bool is_damage, is_followed(file, at, end));
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

// A file that ends inside the magic bytes was just being made.
Status check_magic(int file) {
  std::array<std::byte, kMagic.size()> bytes{};
  MUSTER_TRY(const std::size_t got, read_at(file, 0, bytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), got);
  if (text == kMagic) return ok();
  if (!kMagic.starts_with(text)) return Error(Code::invalid, "it is no journal");
  return write_at(file, 0, std::as_bytes(std::span(kMagic)));
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
  if (Status magic = check_magic(file); !magic) return magic.error().during(attempt);
  Result<std::uint64_t> end = scan(file, on_record);
  if (!end) return end.error().during(attempt);
  if (ftruncate(file, static_cast<off_t>(*end)) != 0 || fsync(file) != 0) {
    return system_error(Code::unavailable, attempt, errno);
  }
  MUSTER_TRY_OK(sync_folder(path));
  journal.size_ = *end;
  return journal;
}

Status Journal::append_to(int file, std::uint64_t at, std::span<const std::byte> record) const {
  auto head = head_of(record);
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
  MUSTER_TRY_OK(scan(file_.get(), on_record));
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
  MUSTER_TRY_OK(write_at(file.get(), 0, std::as_bytes(std::span(kMagic))));
  std::uint64_t end = kMagic.size();
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
