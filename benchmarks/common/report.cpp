#include "benchmarks/common/report.h"

#include <cstdio>

namespace muster::bench {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace

std::string to_json(const Report& report) {
  std::string line = "{\"value\": " + number(report.value) + ", \"unit\": \"" + report.unit +
                     "\", \"lower_is_better\": " + (report.lower_is_better ? "true" : "false") +
                     ", \"extra\": {";
  const char* separator = "";
  for (const auto& [name, value] : report.extra) {
    line += separator + ("\"" + name + "\": ") + number(value);
    separator = ", ";
  }
  return line + "}}";
}

}  // namespace muster::bench
