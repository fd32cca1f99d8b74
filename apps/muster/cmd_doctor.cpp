// `muster doctor`: which drivers this machine has, how fast they are, and which
// would be chosen.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/muster/between.h"
#include "apps/muster/commands.h"
#include "apps/muster/exit.h"
#include "apps/muster/json.h"
#include "apps/muster/measure.h"
#include "apps/muster/station.h"

namespace muster::app {
namespace {

struct Options {
  bool measure = false;
  bool json = false;
  std::vector<std::string> between;
};

// What each driver is for, in a few words.
std::string reach_of(const std::string& scheme) {
  if (scheme == "inproc") return "components of one process, by reference";
  if (scheme == "shm") return "processes of one user on one host, by shared memory";
  if (scheme == "tcp") return "any host; encrypted beyond loopback";
  return "used only when named";
}

// Those for two processes, and the one within a process.
std::vector<std::string> all_schemes() {
  std::vector<std::string> all = schemes();
  all.insert(all.begin(), "inproc");
  return all;
}

Status explain_choice(const Options& options) {
  MUSTER_TRY(const net::AddressChoice choice,
             choose_between(options.between[0], options.between[1], all_schemes()));
  const std::string chosen = choice.order.empty() ? "none" : choice.order.front().scheme;
  if (options.json) {
    fmt::print("{{\"driver\":{},\"why\":{}}}\n", json_string(chosen), json_string(choice.why));
  } else {
    fmt::print("{}  {}\n", chosen, choice.why);
  }
  return ok();
}

std::string to_table(const std::vector<Measurement>& rows) {
  std::string text = fmt::format("{:<8}{:>16}{:>18}{:>16}{:>20}\n", "driver", "round trip",
                                 "messages", "64 MiB copied", "64 MiB handed over");
  for (const Measurement& row : rows) {
    text +=
        fmt::format("{:<8}{:>13.2f} us{:>14.2f} M/s{:>16}{:>20}\n", row.scheme, row.round_trip_us,
                    row.messages_per_s / 1e6,
                    row.copied_gb_per_s > 0 ? fmt::format("{:.2f} GB/s", row.copied_gb_per_s) : "-",
                    row.handover_us > 0 ? fmt::format("{:.2f} us", row.handover_us) : "-");
  }
  return text;
}

std::string rows_to_json(const std::vector<Measurement>& rows) {
  std::string text = "[";
  for (const Measurement& row : rows) {
    text += fmt::format(
        R"({}{{"driver":"{}","round_trip_us":{:.3f},"messages_per_s":{:.0f},"copied_gb_per_s":{:.3f},"handover_us":{:.3f}}})",
        text.size() > 1 ? "," : "", row.scheme, row.round_trip_us, row.messages_per_s,
        row.copied_gb_per_s, row.handover_us);
  }
  return text + "]\n";
}

void list_drivers() {
  for (const std::string& scheme : all_schemes()) {
    fmt::print("{:<8}{}\n", scheme, reach_of(scheme));
  }
  for (const std::string& missing : missing_drivers()) fmt::print("no {}\n", missing);
  if (const std::vector<std::string> known = fabrics(); !known.empty()) {
    fmt::print("ucx, when named, over {}\n", fmt::join(known, ", "));
  }
}

void list_drivers_as_json() {
  wire::Value::List drivers;
  for (const std::string& scheme : all_schemes()) {
    drivers.push_back(wire::Value::Map{{"driver", scheme}, {"use", reach_of(scheme)}});
  }
  const auto to_list = [](const std::vector<std::string>& texts) {
    return wire::Value::List(texts.begin(), texts.end());
  };
  fmt::print("{}\n", to_json(wire::Value(wire::Value::Map{{"drivers", std::move(drivers)},
                                                          {"missing", to_list(missing_drivers())},
                                                          {"fabrics", to_list(fabrics())}})));
}

Status run(const Options& options) {
  if (!options.between.empty()) return explain_choice(options);
  if (!options.measure) {
    options.json ? list_drivers_as_json() : list_drivers();
    return ok();
  }
  std::vector<Measurement> rows;
  for (const std::string& scheme : all_schemes()) {
    const Result<Measurement> row = measure(scheme);
    if (!row) return row.error().during("measure " + scheme);
    rows.push_back(*row);
  }
  fmt::print("{}", options.json ? rows_to_json(rows) : to_table(rows));
  return ok();
}

}  // namespace

void add_doctor(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<Options>();
  auto* cmd = app.add_subcommand("doctor", "List the drivers of this machine");
  cmd->add_flag("--measure", options->measure, "Let two ends talk over each, and time it");
  cmd->add_option("--between", options->between,
                  "Two components, each by its addresses, separated by commas: which driver they "
                  "would use, and why")
      ->expected(2);
  cmd->add_flag("--json", options->json, "Print it for scripts");
  cmd->callback([options, &exit] { exit.with(run(*options)); });
}

void add_measure_peer(CLI::App& app, Exit& exit) {
  auto scheme = std::make_shared<std::string>();
  auto* cmd = app.add_subcommand("measure-peer", "The other process of `doctor --measure`");
  cmd->group("");  // Not listed: people have no use for it.
  cmd->add_option("scheme", *scheme)->required();
  cmd->callback([scheme, &exit] { exit.with(serve_measurement(*scheme)); });
}

}  // namespace muster::app
