#include "apps/muster/peers_view.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "apps/muster/json.h"

namespace muster::app {
namespace {

using msg::PeerInfo;
using msg::Surveyed;
using wire::Value;

struct Sums {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t queued = 0;
  std::uint64_t kept = 0;
  std::set<std::string> drivers;
};

Sums sums_of(const msg::Report& report) {
  Sums sums;
  for (const PeerInfo& peer : report.peers) {
    sums.messages_sent += peer.messages_sent;
    sums.messages_received += peer.messages_received;
    sums.bytes_sent += peer.bytes_sent;
    sums.bytes_received += peer.bytes_received;
    sums.queued += peer.queued;
    sums.kept += peer.kept;
    if (!peer.driver.empty()) sums.drivers.insert(peer.driver);
  }
  return sums;
}

std::string joined(const auto& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " ") + text;
  return all.empty() ? "-" : all;
}

std::string with_unit(std::uint64_t count, double step, const std::array<const char*, 5>& units) {
  auto number = static_cast<double>(count);
  std::size_t unit = 0;
  while (number >= step && unit + 1 < units.size()) {
    number /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}{}", count, units[0])
                   : fmt::format("{:.1f}{}", number, units[unit]);
}

std::string count_of(std::uint64_t count) {
  return with_unit(count, 1000, {"", "k", "M", "G", "T"});
}
std::string size_of(std::uint64_t bytes) {
  return with_unit(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string time_of(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 100) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

using Row = std::array<std::string, 11>;

Row row_of(const Surveyed& one, const std::vector<Surveyed>& all) {
  const auto beat = last_beat(one, all);
  Row row{one.member.name,
          one.member.type,
          std::to_string(one.member.incarnation),
          "-",
          "-",
          beat ? time_of(*beat) : "-",
          "-",
          "-",
          "-",
          "-",
          joined(one.member.addresses)};
  if (!one.report) {
    row[3] = "silent";
    return row;
  }
  const Sums sums = sums_of(*one.report);
  row[3] = joined(sums.drivers);
  row[4] = time_of(one.report->age);
  row[6] = count_of(sums.messages_sent) + " " + size_of(sums.bytes_sent);
  row[7] = count_of(sums.messages_received) + " " + size_of(sums.bytes_received);
  row[8] = fmt::format("{}+{}", sums.queued, one.report->counters.waiting);
  row[9] = count_of(sums.kept);
  return row;
}

Value to_value(const Surveyed& one, const std::vector<Surveyed>& all) {
  Value::List addresses(one.member.addresses.begin(), one.member.addresses.end());
  const auto beat = last_beat(one, all);
  const Value beat_ms =
      beat ? Value(std::chrono::duration_cast<std::chrono::milliseconds>(*beat).count()) : Value();
  Value::Map row{{"name", one.member.name},
                 {"type", one.member.type},
                 {"incarnation", one.member.incarnation},
                 {"addresses", std::move(addresses)},
                 {"last_beat_ms", beat_ms},
                 {"error", one.why_silent ? Value(one.why_silent->describe()) : Value()}};
  if (!one.report) return row;
  const Sums sums = sums_of(*one.report);
  row.push_back({"drivers", Value::List(sums.drivers.begin(), sums.drivers.end())});
  row.push_back({"messages_sent", sums.messages_sent});
  row.push_back({"messages_received", sums.messages_received});
  row.push_back({"bytes_sent", sums.bytes_sent});
  row.push_back({"bytes_received", sums.bytes_received});
  row.push_back({"queued", sums.queued});
  row.push_back({"kept", sums.kept});
  // What the member says itself, without what the registry knows better.
  const Value said = msg::to_value(*one.report);
  for (const char* key : {"pid", "age_ms", "waiting", "waiting_bytes", "open_sessions", "sessions",
                          "dropped", "refused", "unwanted", "peers"}) {
    row.push_back({key, *said.find(key)});
  }
  return row;
}

}  // namespace

std::optional<Duration> last_beat(const Surveyed& member, const std::vector<Surveyed>& all) {
  std::optional<Duration> shortest;
  for (const Surveyed& other : all) {
    if (!other.report) continue;
    for (const PeerInfo& peer : other.report->peers) {
      const bool is_it = peer.name == member.member.name &&
                         peer.incarnation == member.member.incarnation && !peer.driver.empty();
      if (is_it) shortest = std::min(shortest.value_or(peer.silence), peer.silence);
    }
  }
  if (!shortest && member.report) return Duration::zero();
  return shortest;
}

std::string to_table(const std::vector<Surveyed>& all) {
  std::vector<Row> rows{{"name", "type", "inc", "driver", "age", "beat", "sent", "received",
                         "queue", "kept", "addresses"}};
  for (const Surveyed& one : all) rows.push_back(row_of(one, all));
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}}", row[i], i + 1 < row.size() ? widths[i] + 2 : 0);
    }
    text += line + "\n";
  }
  for (const Surveyed& one : all) {
    if (one.why_silent) text += one.member.name + " is silent: " + one.why_silent->message() + "\n";
  }
  return text;
}

std::string to_json(const std::vector<Surveyed>& all) {
  Value::List rows;
  for (const Surveyed& one : all) rows.push_back(to_value(one, all));
  return to_json(Value(std::move(rows))) + "\n";
}

}  // namespace muster::app
