#include "muster/registries/embedded/state.h"

#include <set>

#include "muster/registries/embedded/fields.h"

namespace muster::registries::embedded {
namespace {

constexpr std::uint32_t kFileMagic = 0x5249444D;  // "MDIR" in memory order.
constexpr std::uint32_t kFileVersion = 1;

enum FileFlag : std::uint32_t { kIsPresent = 1, kIsRemote = 2, kHasLeft = 4 };

Error not_a_state() {
  return Error(Code::invalid, "read who was there: the file is broken or of another version");
}

Entry read_entry(FieldReader& in) {
  Entry entry;
  const auto flags = in.number<std::uint32_t>();
  entry.is_present = (flags & kIsPresent) != 0;
  entry.is_remote = (flags & kIsRemote) != 0;
  entry.has_left = (flags & kHasLeft) != 0;
  entry.pid = in.number<std::int32_t>();
  entry.lease = std::chrono::milliseconds(in.number<std::uint32_t>());
  entry.member = in.member();
  return entry;
}

bool is_sound(const Entry& entry) {
  const msg::JoinRequest request{.group = "g", .self = entry.member, .lease = entry.lease};
  return entry.member.incarnation > 0 && msg::check(request).has_value();
}

}  // namespace

std::vector<std::byte> encode_state(const DirectoryState& state) {
  FieldWriter out;
  out.number(kFileMagic);
  out.number(kFileVersion);
  out.number(state.floor);
  out.number(static_cast<std::uint32_t>(state.entries.size()));
  for (const Entry& entry : state.entries) {
    out.number((entry.is_present ? kIsPresent : 0U) | (entry.is_remote ? kIsRemote : 0U) |
               (entry.has_left ? kHasLeft : 0U));
    out.number(static_cast<std::int32_t>(entry.pid));
    out.number(static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(entry.lease).count()));
    out.member(entry.member);
  }
  return out.take();
}

Result<DirectoryState> decode_state(std::span<const std::byte> bytes) {
  FieldReader in(bytes);
  if (in.number<std::uint32_t>() != kFileMagic || in.number<std::uint32_t>() != kFileVersion) {
    return not_a_state();
  }
  DirectoryState state;
  state.floor = in.number<std::uint64_t>();
  const auto count = in.number<std::uint32_t>();
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < count && in.is_good(); ++i) {
    Entry entry = read_entry(in);
    if (!in.is_good() || !is_sound(entry) || !names.insert(entry.member.name).second) {
      return not_a_state();
    }
    state.entries.push_back(std::move(entry));
  }
  if (!in.is_at_end()) return not_a_state();
  return state;
}

}  // namespace muster::registries::embedded
