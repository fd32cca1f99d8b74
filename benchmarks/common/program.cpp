#include "benchmarks/common/program.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace muster::bench {
namespace {

constexpr int kWrongUse = 2;
constexpr int kNoSuchCase = 3;

int usage() {
  std::fputs("usage: bench_X CASE [--seconds S] | --list\n", stderr);
  return kWrongUse;
}

int list(std::span<const Case> cases, const Family& family) {
  for (const Case& one : cases) {
    std::printf("%.*s\n", static_cast<int>(one.name.size()), one.name.data());
  }
  for (const std::string& name : family.names) std::printf("%s\n", name.c_str());
  return 0;
}

// Nothing when the words after the case are not understood.
std::optional<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  if (words.empty()) return options;
  if (words.size() != 2 || words[0] != "--seconds") return std::nullopt;
  char* end = nullptr;
  options.seconds = std::strtod(words[1].c_str(), &end);
  if (*end != '\0' || !(options.seconds > 0)) return std::nullopt;
  return options;
}

}  // namespace

int run_program(int argc, char** argv, std::span<const Case> cases, const Family& family) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return usage();
  if (words[0] == "--list") return list(cases, family);
  const auto options = parse_options({words.begin() + 1, words.end()});
  if (!options) return usage();
  for (const Case& one : cases) {
    if (one.name != words[0]) continue;
    const Report report = one.run(*options);
    std::printf("%s\n", to_json(report).c_str());
    return 0;
  }
  if (family.has != nullptr && family.has(words[0])) {
    std::printf("%s\n", to_json(family.run(words[0], *options)).c_str());
    return 0;
  }
  std::fprintf(stderr, "bench: no case named %s\n", words[0].c_str());
  return kNoSuchCase;
}

}  // namespace muster::bench
