// How a fabric takes newcomers in, brings them together with all who are to meet them, and forgets
// those who are gone before that.

#include <algorithm>
#include <cstring>
#include <ranges>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/fabric.h"

namespace muster::collectives::internal {
namespace {

// More than there are ranks and newcomers: so many seats nobody has to make for others' words.
constexpr std::size_t kMostSeats = std::size_t{1} << 17;
// Who was met by another a moment ago, and cannot be reached so often, is not dialled any more
// until somebody tells of it again.
constexpr int kMostDials = 20;
// Of whom others alone have told, so many are dialled at a time.
constexpr std::ptrdiff_t kMostDialled = 64;
constexpr std::size_t kMostOfAddresses = msg::kMaxAddresses * (msg::kMaxAddress + 1);

std::vector<std::string> split_at_spaces(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : std::views::split(text, ' ')) words.emplace_back(word.begin(), word.end());
  return words;
}

}  // namespace

void Fabric::take_welcome(const Note& note, const wire::Frame& frame) {
  if (is_founded_ || frame.parts.size() != 1 || frame.parts[0].size() % sizeof(Id) != 0) return;
  Welcome welcome{.context = note.context, .members = {}};
  welcome.members.resize(frame.parts[0].size() / sizeof(Id));
  std::memcpy(welcome.members.data(), frame.parts[0].data(), frame.parts[0].size());
  welcome_ = std::move(welcome);
}

void Fabric::bring_together(Seat& one, Seat& other) {
  tell_of(one, other);
  tell_of(other, one);
}

void Fabric::tell_of(const Seat& one, Seat& whom) {
  if (!whom.is_here() || one.lost || one.member.addresses.empty()) return;
  wire::Parts parts;
  parts.push_back(Buffer::copy_of(std::as_bytes(std::span(&one.id, 1))));
  parts.push_back(Buffer::copy_of(one.name));
  parts.push_back(Buffer::copy_of(fmt::format("{}", fmt::join(one.member.addresses, " "))));
  static_cast<void>(whom.send({.kind = NoteKind::known}, std::move(parts)));
}

// What the registry says counts for more.
void Fabric::take_known(const Seat& from, const wire::Frame& frame) {
  if (!from.hello->is_founded || frame.parts.size() != 3) return;
  if (frame.parts[0].size() != sizeof(Id) || frame.parts[1].size() > msg::kMaxName) return;
  if (frame.parts[2].size() > kMostOfAddresses) return;
  msg::Member member{.name = std::string(frame.parts[1].text()),
                     .type = "rank",
                     .id = {},
                     .addresses = split_at_spaces(frame.parts[2].text())};
  std::memcpy(&member.id, frame.parts[0].data(), sizeof member.id);
  if (!msg::check(member) || member.id == id_ || seats_.size() >= kMostSeats) return;
  Seat& seat = seat_for(member.id, member.name);
  if (seat.is_registered || seat.dials_left > 0 || seat.link != nullptr) return;
  seat.member = std::move(member);
  seat.dials_left = kMostDials;
  dial(seat);
}

bool Fabric::has_dialled_most() const {
  return std::ranges::count_if(seats_, [](const auto& seat) {
           return seat->link != nullptr && !seat->hello && !seat->is_registered;
         }) >= kMostDialled;
}

void Fabric::watch(const std::vector<Id>& newcomers, bool is_watched) {
  for (const Id id : newcomers) {
    if (!is_watched) {
      const auto one = std::ranges::find(watched_, id);
      if (one != watched_.end()) watched_.erase(one);
      continue;
    }
    watched_.push_back(id);
    const std::shared_ptr<Seat> seat = find(id);
    if (seat != nullptr && seat->lost) tell_gone(*seat);
  }
}

void Fabric::tell_gone(const std::vector<Id>& newcomers) {
  for (const Id id : newcomers) {
    if (const std::shared_ptr<Seat> seat = find(id)) tell_gone(*seat);
  }
}

void Fabric::tell_gone(const Seat& gone) {
  for (const auto& seat : seats_) {
    if (!seat->is_here() || seat->id == gone.id) continue;
    wire::Parts parts;
    parts.push_back(Buffer::copy_of(std::as_bytes(std::span(&gone.id, 1))));
    parts.push_back(Buffer::copy_of(gone.name));
    static_cast<void>(seat->send({.kind = NoteKind::gone}, std::move(parts)));
  }
}

// The registry may never speak of one that came and went. A link that stands knows better.
void Fabric::take_gone(const Seat& from, const wire::Frame& frame) {
  Id id;
  if (!from.hello->is_founded || frame.parts.size() != 2) return;
  if (frame.parts[0].size() != sizeof id || !msg::is_name(frame.parts[1].text())) return;
  std::memcpy(&id, frame.parts[0].data(), sizeof id);
  if (!id || id == id_ || seats_.size() >= kMostSeats) return;
  Seat& seat = seat_for(id, std::string(frame.parts[1].text()));
  if (!seat.hello) lose(seat, Error(Code::unavailable, "it was gone before it came here"));
}

}  // namespace muster::collectives::internal
