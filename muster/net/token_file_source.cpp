#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "muster/base/log.h"
#include "muster/net/token_file.h"

namespace muster::net {
namespace {

// What tells whether a file was replaced.
struct Version {
  dev_t device = 0;
  ino_t file = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  friend bool operator==(const Version&, const Version&) = default;
};

// Unlike any other while there is no file.
Version version_of(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return {};
  return {about.st_dev, about.st_ino, about.st_ctim.tv_sec, about.st_ctim.tv_nsec};
}

class TokenFile final : public TokenSource {
 public:
  TokenFile(std::string path, std::function<UnixTime()> clock, Version version, TokenList list)
      : path_(std::move(path)),
        clock_(std::move(clock)),
        version_(version),
        list_(std::move(list)) {}

  std::vector<Token> accepted() override {
    // A mutex, since loops share it; nobody holds it for longer than this.
    const std::scoped_lock lock(mutex_);
    const UnixTime now = clock_();
    const Version version = version_of(path_);
    if (version != version_) read_again(version, now);
    return accepted_at(list_, now);
  }

 private:
  void read_again(Version version, UnixTime now) {
    Result<TokenList> list = read_token_file(path_);
    if (list) {
      list_ = *std::move(list);
      version_ = version;
      log::info(fmt::format("token replaced  generation {}  accepted {}",
                            list_.front().token.generation, accepted_at(list_, now).size()));
    } else if (complaints_.admit(now * 1000) >= 0) {
      log::warning("token not replaced  why " + list.error().message());
    }
  }

  const std::string path_;
  const std::function<UnixTime()> clock_;
  std::mutex mutex_;
  Version version_;
  TokenList list_;
  log::RateLimit complaints_;
};

}  // namespace

Result<std::shared_ptr<TokenSource>> make_token_file_source(const std::string& path,
                                                            std::function<UnixTime()> clock) {
  // Before the file is read: a change in between is then noticed.
  const Version version = version_of(path);
  MUSTER_TRY(TokenList list, read_token_file(path));
  return std::shared_ptr<TokenSource>(
      std::make_shared<TokenFile>(path, std::move(clock), version, std::move(list)));
}

}  // namespace muster::net
