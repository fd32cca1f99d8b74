#include "muster/net/token_file.h"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "muster/base/id.h"

namespace muster::net {
namespace {

// No token file is longer.
constexpr std::size_t kMaxFile = 4096;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Nobody but the owner may be able to read it, or to have written it.
Status check_owner_only(int fd) {
  struct stat about{};
  if (fstat(fd, &about) != 0) return system_error(Code::invalid, "look at it", errno);
  if (!S_ISREG(about.st_mode)) return Error(Code::invalid, "it is not a file");
  if (about.st_uid != geteuid() && about.st_uid != 0) {
    return Error(Code::invalid, "it belongs to another user");
  }
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Error(Code::invalid,
                 "others may read or write it; make it yours alone with chmod 600, "
                 "and replace the token if it may have been seen");
  }
  return ok();
}

Status check_folder(const std::string& folder) {
  struct stat about{};
  if (stat(folder.c_str(), &about) != 0) {
    return system_error(Code::invalid, "look at " + folder, errno);
  }
  const bool is_sticky = (about.st_mode & S_ISVTX) != 0;
  if (!is_sticky && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(Code::invalid, "others may write to " + folder +
                                    "; take that from them with "
                                    "chmod go-w");
  }
  return ok();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Makes the folder, and those above it, for the owner only.
Status make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST) return check_folder(folder);
  if (errno != ENOENT) return system_error(Code::invalid, "make " + folder, errno);
  MUSTER_TRY_OK(make_folder(folder_of(folder)));
  if (mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST) return check_folder(folder);
  return system_error(Code::invalid, "make " + folder, errno);
}

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(Code::unavailable, "write", errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(fd) != 0) return system_error(Code::unavailable, "write", errno);
  return ok();
}

// A file beside `path` that holds `list`. Gone with this.
class Draft {
 public:
  static Result<Draft> write(const std::string& path, const TokenList& list) {
    Draft draft(path + "." + Id::random().to_string());
    const Descriptor fd(
        open(draft.name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (fd.get() < 0) return system_error(Code::invalid, "make a file", errno);
    // Whatever the umask of the process: the owner's own rights.
    if (fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) {
      return system_error(Code::invalid, "make a file", errno);
    }
    MUSTER_TRY_OK(write_all(fd.get(), reveal_token_list(list)));
    return draft;
  }
  ~Draft() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  Draft(Draft&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  Draft& operator=(Draft&&) = delete;
  const char* name() const { return name_.c_str(); }

 private:
  explicit Draft(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// True if this call made it, false if it was there.
Result<bool> make_if_missing(const std::string& path) {
  MUSTER_TRY_OK(make_folder(folder_of(path)));
  MUSTER_TRY(const Draft draft, Draft::write(path, {{Token::random(1)}}));
  // Whole or not at all, and never over another's.
  if (link(draft.name(), path.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  return system_error(Code::invalid, "make the file", errno);
}

Result<TokenList> read_list(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    return system_error(errno == ENOENT ? Code::not_found : Code::invalid, "open", errno);
  }
  MUSTER_TRY_OK(check_owner_only(fd.get()));
  std::string text(kMaxFile, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(Code::invalid, "read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size == kMaxFile) return Error(Code::invalid, "it is too long for a token file");
  return parse_token_list(std::string_view(text).substr(0, size));
}

// A link stays one: what it leads to is replaced, for all who read it there.
std::string resolved(const std::string& path) {
  std::error_code none;
  const std::filesystem::path target = std::filesystem::canonical(path, none);
  return none ? path : target.string();
}

Result<TokenList> rotate(const std::string& path, std::chrono::seconds keep_old, UnixTime now) {
  MUSTER_TRY_OK(make_folder(folder_of(path)));
  // Two who replace it at once would lose one of the generations.
  const Descriptor folder(open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || flock(folder.get(), LOCK_EX) != 0) {
    return system_error(Code::invalid, "lock the folder", errno);
  }
  Result<TokenList> before = read_list(path);
  if (!before && before.error().code() != Code::not_found) return before;
  const TokenList known = before ? *std::move(before) : TokenList();
  const std::uint32_t last = known.empty() ? 0 : known.front().token.generation;
  TokenList after = rotate_tokens(known, Token::random(last + 1), now, keep_old);
  MUSTER_TRY(const Draft draft, Draft::write(path, after));
  if (rename(draft.name(), path.c_str()) != 0) {
    return system_error(Code::invalid, "replace the file", errno);
  }
  fsync(folder.get());
  return after;
}

Result<TokenList> named(const std::string& path, Result<TokenList> result) {
  if (result) return result;
  return std::move(result).error().during("token file " + path);
}

}  // namespace

UnixTime unix_now() { return std::time(nullptr); }

Result<TokenList> read_token_file(const std::string& path) { return named(path, read_list(path)); }

Result<TokenList> read_or_make_token_file(const std::string& path) {
  Result<TokenList> list = read_list(path);
  if (list || list.error().code() != Code::not_found) return named(path, std::move(list));
  if (const Result<bool> made = make_if_missing(path); !made) return named(path, made.error());
  return read_token_file(path);
}

Result<TokenList> rotate_token_file(const std::string& path, std::chrono::seconds keep_old,
                                    UnixTime now) {
  return named(path, rotate(resolved(path), keep_old, now));
}

}  // namespace muster::net
