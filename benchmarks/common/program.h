// The command line that all benchmark programs share.
//
//   bench_X CASE [--seconds S]   prints one line of JSON, exit status 0
//   bench_X --list               prints the names of its cases
//
// Exit status 1: wrong bytes, or something failed; 2: wrong use; 3: this
// program has no such case.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/common/report.h"

namespace muster::bench {

struct Options {
  double seconds = 0.5;  // how long to measure; setting up comes on top
};

struct Case {
  std::string_view name;
  Report (*run)(const Options&);
};

// Cases whose names say what they are, too many to write down.
struct Family {
  std::vector<std::string> names = {};  // Some of them, for --list.
  bool (*has)(std::string_view name) = nullptr;
  Report (*run)(std::string_view name, const Options& options) = nullptr;
};

// The whole of a program's main().
int run_program(int argc, char** argv, std::span<const Case> cases, const Family& family = {});

}  // namespace muster::bench
