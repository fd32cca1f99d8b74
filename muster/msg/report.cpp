#include "muster/msg/report.h"

#include <algorithm>
#include <array>
#include <optional>

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using wire::Value;

std::int64_t ms(Duration duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

Value to_value(const PeerInfo& peer) {
  Value::List addresses(peer.addresses.begin(), peer.addresses.end());
  return Value::Map{{"name", peer.name},
                    {"type", peer.type},
                    {"incarnation", peer.incarnation},
                    {"presence", name(peer.presence)},
                    {"addresses", std::move(addresses)},
                    {"driver", peer.driver},
                    {"address", peer.address},
                    {"age_ms", ms(peer.age)},
                    {"silence_ms", ms(peer.silence)},
                    {"messages_sent", peer.messages_sent},
                    {"messages_received", peer.messages_received},
                    {"bytes_sent", peer.bytes_sent},
                    {"bytes_received", peer.bytes_received},
                    {"queued", peer.queued},
                    {"kept", peer.kept}};
}

// Reads a map's fields; one that is missing or of another kind is remembered.
class Fields {
 public:
  explicit Fields(const Value& map) : map_(map) {}

  std::string text(std::string_view key) {
    const Value* const value = find(key);
    const std::string* const found = value != nullptr ? value->as_string() : nullptr;
    if (found == nullptr) return miss<std::string>();
    return *found;
  }
  std::uint64_t number(std::string_view key) {
    const Value* const value = find(key);
    const auto found = value != nullptr ? value->as_unsigned() : std::nullopt;
    return found ? *found : miss<std::uint64_t>();
  }
  // Of a field that older versions do not have.
  std::uint64_t number_if_any(std::string_view key) {
    return find(key) != nullptr ? number(key) : 0;
  }
  // What is longer than a year is not told in earnest.
  Duration duration(std::string_view key) {
    constexpr std::uint64_t kYear = std::uint64_t{366} * 24 * 3600 * 1000;
    const std::uint64_t count = number(key);
    return count <= kYear ? milliseconds(count) : miss<Duration>();
  }
  const Value::List& list(std::string_view key) {
    static const Value::List kNone;
    const Value* const value = find(key);
    if (value != nullptr && value->as_list() != nullptr) return *value->as_list();
    is_good_ = false;
    return kNone;
  }
  bool is_good() const { return is_good_; }

 private:
  const Value* find(std::string_view key) const {
    return map_.as_map() != nullptr ? map_.find(key) : nullptr;
  }
  template <class T>
  T miss() {
    is_good_ = false;
    return {};
  }

  const Value& map_;
  bool is_good_ = true;
};

std::optional<Presence> presence_of(std::string_view text) {
  constexpr std::array kAll{Presence::connecting, Presence::here, Presence::lost, Presence::left};
  const auto* const found =
      std::ranges::find_if(kAll, [&](Presence one) { return name(one) == text; });
  if (found == kAll.end()) return std::nullopt;
  return *found;
}

std::optional<PeerInfo> to_peer(const Value& value) {
  Fields from(value);
  PeerInfo peer;
  peer.name = from.text("name");
  peer.type = from.text("type");
  peer.incarnation = from.number("incarnation");
  const std::optional<Presence> presence = presence_of(from.text("presence"));
  for (const Value& address : from.list("addresses")) {
    if (address.as_string() == nullptr) return std::nullopt;
    peer.addresses.push_back(*address.as_string());
  }
  peer.driver = from.text("driver");
  peer.address = from.text("address");
  peer.age = from.duration("age_ms");
  peer.silence = from.duration("silence_ms");
  peer.messages_sent = from.number("messages_sent");
  peer.messages_received = from.number("messages_received");
  peer.bytes_sent = from.number("bytes_sent");
  peer.bytes_received = from.number("bytes_received");
  peer.queued = from.number("queued");
  peer.kept = from.number_if_any("kept");
  if (!from.is_good() || !presence) return std::nullopt;
  peer.presence = *presence;
  return peer;
}

}  // namespace

Value to_value(const Report& report) {
  Value::List peers;
  for (const PeerInfo& peer : report.peers) peers.push_back(to_value(peer));
  return Value::Map{{"group", report.group},
                    {"name", report.name},
                    {"type", report.type},
                    {"incarnation", report.incarnation},
                    {"pid", report.pid},
                    {"age_ms", ms(report.age)},
                    {"waiting", report.counters.waiting},
                    {"waiting_bytes", report.counters.waiting_bytes},
                    {"open_sessions", report.counters.open_sessions},
                    {"sessions", report.counters.sessions},
                    {"kept", report.counters.kept},
                    {"dropped", report.counters.dropped},
                    {"refused", report.counters.refused},
                    {"unwanted", report.counters.unwanted},
                    {"peers", std::move(peers)}};
}

Result<Report> to_report(const Value& value) {
  const Error no_report(Code::invalid, "read a component's report: it is none");
  Fields from(value);
  Report report;
  report.group = from.text("group");
  report.name = from.text("name");
  report.type = from.text("type");
  report.incarnation = from.number("incarnation");
  report.pid = static_cast<int>(std::min<std::uint64_t>(from.number("pid"), INT32_MAX));
  report.age = from.duration("age_ms");
  report.counters.waiting = from.number("waiting");
  report.counters.waiting_bytes = from.number("waiting_bytes");
  report.counters.open_sessions = from.number("open_sessions");
  report.counters.sessions = from.number_if_any("sessions");
  report.counters.kept = from.number_if_any("kept");
  report.counters.dropped = from.number("dropped");
  report.counters.refused = from.number("refused");
  report.counters.unwanted = from.number("unwanted");
  for (const Value& one : from.list("peers")) {
    std::optional<PeerInfo> peer = to_peer(one);
    if (!peer) return no_report;
    report.peers.push_back(*std::move(peer));
  }
  if (!from.is_good()) return no_report;
  return report;
}

}  // namespace muster::msg
