// The command line that all benchmark programs share.
//
//   bench_X CASE [--seconds S]   prints one line of JSON, exit status 0
//   bench_X --list               prints the names of its cases
//
// Exit status 1: wrong bytes, or something failed; 2: wrong use; 3: this
// program has no such case.
#pragma once

#include <span>
#include <string_view>

#include "benchmarks/common/report.h"

namespace muster::bench {

struct Options {
  double seconds = 0.5;  // how long to measure; setting up comes on top
};

struct Case {
  std::string_view name;
  Report (*run)(const Options&);
};

// The whole of a program's main().
int run_program(int argc, char** argv, std::span<const Case> cases);

}  // namespace muster::bench
