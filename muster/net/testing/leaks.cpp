#include "muster/net/testing/leaks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::net::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> open_descriptors() {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd", error)) {
    // Numbers and inodes differ from run to run; kinds do not.
    std::string target = fs::read_symlink(entry, error).string();
    found.push_back(target.substr(0, target.find(":[")));
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> shared_mappings() {
  std::vector<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, permissions, offset, device, inode, name;
    fields >> range >> permissions >> offset >> device >> inode >> name;
    if (permissions.size() == 4 && permissions[3] == 's') found.push_back(permissions + " " + name);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> shared_segments() {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find("muster") != std::string::npos) found.push_back(name);
  }
  std::ranges::sort(found);
  return found;
}

void list_new(const char* kind, const std::vector<std::string>& before,
              const std::vector<std::string>& after, std::string& out) {
  std::vector<std::string> added;
  std::ranges::set_difference(after, before, std::back_inserter(added));
  for (const std::string& item : added) out += std::string(kind) + " " + item + "\n";
}

}  // namespace

Holdings look_at_holdings() { return {open_descriptors(), shared_mappings(), shared_segments()}; }

std::string leaked(const Holdings& before, const Holdings& after) {
  std::string out;
  list_new("descriptor", before.descriptors, after.descriptors, out);
  list_new("mapping", before.shared, after.shared, out);
  list_new("segment", before.segments, after.segments, out);
  return out;
}

}  // namespace muster::net::testing
