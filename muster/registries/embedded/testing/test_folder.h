// A folder of a test's own, removed with all that is in it. For tests alone.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "muster/base/check.h"

namespace muster::registries::embedded {

class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    MUSTER_CHECK(mkdtemp(pattern.data()) != nullptr, "a test can make a folder");
    outer_ = pattern;
    std::filesystem::create_directory(path());
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  ~TestFolder() { std::filesystem::remove_all(outer_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path() const { return outer_ + "/registry"; }

 private:
  std::string outer_;
};

}  // namespace muster::registries::embedded
