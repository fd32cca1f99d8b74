// A folder for the registry that goes with the benchmark.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "benchmarks/common/fail.h"

namespace muster::bench::ours {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail_errno("make a folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace muster::bench::ours
