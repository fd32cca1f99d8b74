// Golden files: bytes as they were written once, kept as text that people can compare.
//
// MUSTER_REWRITE=1 in the environment writes the files anew, to be reviewed as a diff.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"

namespace muster::wire::testing {

// What a file holds: named byte strings, in order.
struct Section {
  std::string name;
  Buffer bytes;
};
using Sections = std::vector<Section>;

inline std::string to_text(const std::string& about, const Sections& sections) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "# " + about + "\n";
  for (const auto& [name, bytes] : sections) {
    text += name;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = std::to_integer<unsigned>(bytes.bytes()[i]);
      text += i % 32 == 0 ? "\n " : i % 4 == 0 ? " " : "";
      text += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    text += "\n";
  }
  return text;
}

inline Sections from_text(const std::string& text) {
  Sections sections;
  std::vector<std::byte> bytes;
  const auto finish = [&] {
    if (!sections.empty()) sections.back().bytes = Buffer::adopt(std::exchange(bytes, {}));
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    if (!line.starts_with(" ")) {
      finish();
      sections.push_back({line, {}});
      continue;
    }
    std::erase(line, ' ');
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes.push_back(static_cast<std::byte>(std::stoi(line.substr(i, 2), nullptr, 16)));
    }
  }
  finish();
  return sections;
}

// What the file says.
inline std::string golden(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The same; after writing `expected` to it, if it is to be written anew.
inline std::string golden(const std::filesystem::path& path, const std::string& expected) {
  const char* rewrite = std::getenv("MUSTER_REWRITE");
  if (rewrite != nullptr && std::string_view(rewrite) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << expected;
  }
  return golden(path);
}

}  // namespace muster::wire::testing
