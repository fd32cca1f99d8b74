#include "tests/collectives/history.h"

#include <filesystem>

namespace muster::tests {
namespace {

std::filesystem::path path_of(const std::string& folder, collectives::Rank rank) {
  return std::filesystem::path(folder).parent_path() / ("history_" + std::to_string(rank));
}

}  // namespace

History::History(const std::string& folder, collectives::Rank rank)
    : file_(path_of(folder, rank)) {}

// In one piece: a line is there or it is not.
void History::note(const collectives::Outcome& done) {
  std::string line = std::to_string(done.number);
  for (const collectives::Rank one : *done.contributors) line += " " + std::to_string(one);
  file_ << line + "\n" << std::flush;
}

std::map<std::uint64_t, std::string> History::of(const std::string& folder,
                                                 collectives::Rank rank) {
  std::map<std::uint64_t, std::string> all;
  std::ifstream file(path_of(folder, rank));
  std::uint64_t number = 0;
  for (std::string rest; file >> number && std::getline(file, rest);) all.emplace(number, rest);
  return all;
}

}  // namespace muster::tests
