#include "muster/drivers/ucx/seal.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>

namespace muster::drivers::ucx {
namespace {

namespace fs = std::filesystem;

bool is_inherited(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Calls `visit` with the number and the target of each open descriptor that a
// program which is started would inherit. Few of the thousands that may be open,
// of which none may cost much: this is done while two processes meet.
void each_inherited(const std::function<void(int, const std::string&)>& visit) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  if (!folder) return;
  while (const dirent* const entry = readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number <= 2 || !is_inherited(number)) continue;
    std::error_code gone;
    const fs::path target = fs::read_symlink("/proc/self/fd/" + std::string(name), gone);
    if (!gone) visit(number, target.string());
  }
}

bool may_be_of_ucx(const std::string& target) {
  return target.starts_with("socket:") || target.starts_with("anon_inode:") ||
         target.starts_with("pipe:") || target.starts_with("/dev/");
}

}  // namespace

Seal::Seal() {
  each_inherited([this](int number, const std::string& target) {
    before_.insert(std::to_string(number) + target);
  });
}

void Seal::close() const {
  each_inherited([this](int number, const std::string& target) {
    if (!may_be_of_ucx(target) || before_.contains(std::to_string(number) + target)) return;
    fcntl(number, F_SETFD, FD_CLOEXEC);
  });
}

}  // namespace muster::drivers::ucx
