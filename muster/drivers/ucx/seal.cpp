#include "muster/drivers/ucx/seal.h"

#include <charconv>
#include <filesystem>
#include <functional>

#include <fcntl.h>

namespace muster::drivers::ucx {
namespace {

namespace fs = std::filesystem;

// Calls `visit` with the number and the target of each open descriptor.
void each_descriptor(const std::function<void(int, const std::string&)>& visit) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    std::error_code gone;
    const fs::path target = fs::read_symlink(entry, gone);
    if (!gone && number > 2) visit(number, target.string());
  }
}

bool may_be_of_ucx(const std::string& target) {
  return target.starts_with("socket:") || target.starts_with("anon_inode:") ||
         target.starts_with("pipe:") || target.starts_with("/dev/");
}

}  // namespace

Seal::Seal() {
  each_descriptor([this](int number, const std::string& target) {
    before_.insert(std::to_string(number) + target);
  });
}

void Seal::close() const {
  each_descriptor([this](int number, const std::string& target) {
    if (!may_be_of_ucx(target) || before_.contains(std::to_string(number) + target)) return;
    const int flags = fcntl(number, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) fcntl(number, F_SETFD, flags | FD_CLOEXEC);
  });
}

}  // namespace muster::drivers::ucx
