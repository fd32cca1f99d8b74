#include "muster/collectives/fabric.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/arena/shared_block.h"
#include "muster/base/log.h"
#include "muster/collectives/crew.h"
#include "muster/net/address_choice.h"

namespace muster::collectives::internal {
namespace {

constexpr Duration kRedial = std::chrono::milliseconds(50);
// Contexts that a peer may be in before us.
constexpr std::size_t kMaxReadies = 4096;
// What it may say in one of them meanwhile: that it leaves, or wants to agree.
constexpr std::size_t kMostEarlyNotes = 64;

// Where a driver listens if nobody says where.
std::string default_address(std::string_view scheme) {
  return fmt::format("{}://{}", scheme, scheme == "tcp" || scheme == "zmq" ? "127.0.0.1:0" : "*");
}

std::vector<std::string> default_addresses(const std::vector<net::Driver*>& drivers) {
  // Nobody would come unasked to what is used only when named.
  const auto is_usual = [](const net::Driver* driver) {
    return net::is_chosen_unasked(driver->scheme());
  };
  const bool has_usual = std::ranges::any_of(drivers, is_usual);
  std::vector<std::string> texts;
  for (const net::Driver* driver : drivers) {
    if (!has_usual || is_usual(driver)) texts.push_back(default_address(driver->scheme()));
  }
  return texts;
}

net::EndpointOptions endpoint_options(const FabricOptions& options, Id id) {
  net::EndpointOptions made;
  made.token = options.common.token;
  made.tokens = options.common.tokens;
  made.id = id;
  made.name = options.member;
  made.drivers = options.common.drivers;
  made.beat = options.common.beat;
  made.silence = options.common.silence;
  return made;
}

Id digest(const std::string& text) {
  Id made{0xcbf29ce484222325, 0x84222325cbf29ce4};
  for (const char c : text) {
    made.high = (made.high ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    made.low = (made.low + static_cast<unsigned char>(c)) * 0x9E3779B97F4A7C15 + (made.high >> 32);
  }
  return made;
}

}  // namespace

Fabric::Fabric(loop::Loop& loop, FabricOptions options)
    : loop_(loop),
      options_(std::move(options)),
      id_(options_.common.id ? options_.common.id : Id::random()),
      process_(options_.common.process.pid != 0 ? options_.common.process : this_process()) {}

Result<std::shared_ptr<Fabric>> Fabric::open(loop::Loop& loop, FabricOptions options) {
  std::shared_ptr<Fabric> fabric(new Fabric(loop, std::move(options)));
  const loop::Turn turn(loop);
  MUSTER_TRY_OK(fabric->open());
  return fabric;
}

Status Fabric::open() {
  const CommunicatorOptions& common = options_.common;
  MUSTER_TRY(endpoint_, net::Endpoint::make(loop_, endpoint_options(options_, id_)));
  std::vector<std::string> texts = common.listen;
  if (texts.empty()) texts = default_addresses(common.drivers);
  std::vector<net::Address> wanted;
  for (const std::string& text : texts) {
    MUSTER_TRY(net::Address address, net::Address::parse(text));
    wanted.push_back(std::move(address));
  }
  MUSTER_TRY(const std::vector<net::Address> got,
             endpoint_->listen(wanted, [this](std::unique_ptr<net::Link> link) -> net::LinkSink& {
               Seat& seat = seat_for(link->peer().id, link->peer().name);
               if (seat.link != nullptr) bury(std::move(seat.link));
               seat.link = std::move(link);
               return seat;
             }));
  msg::Member self{.name = options_.member, .type = "rank", .id = id_, .addresses = {}};
  for (const net::Address& address : got) self.addresses.push_back(address.to_string());
  MUSTER_TRY(membership_, common.registry->join({.group = options_.group, .self = self}, *this));
  return ok();
}

Fabric::~Fabric() {
  await_readers();
  {
    // What is said leaves when the baton is given up.
    const loop::Turn turn(loop_);
    is_closing_ = true;
    for (const auto& seat : seats_) {
      if (seat->is_here()) static_cast<void>(seat->send({.kind = NoteKind::leave}));
    }
  }
  const loop::Turn turn(loop_);
  membership_.reset();
  loop_.forget(*this);
  doomed_.clear();
  for (const auto& seat : seats_) {
    loop_.stop(seat->redial);
    seat->link.reset();
  }
  endpoint_.reset();
}

// Whoever is in the last operation yet needs no more than a moment for it, and the links:
// their memory goes with them.
void Fabric::await_readers() {
  constexpr Duration kPatience = std::chrono::seconds(1);
  constexpr Duration kGlance = std::chrono::milliseconds(1);
  for (const TimePoint limit = loop_.now() + kPatience; loop_.now() < limit;) {
    if (const loop::Turn turn(loop_); remains_.sweep()) return;
    loop_.wait_until([] { return false; }, loop_.now() + kGlance);
  }
}

Seat& Fabric::seat_for(Id id, const std::string& name) {
  const auto known = std::ranges::find_if(seats_, [&](const auto& seat) { return seat->id == id; });
  if (known != seats_.end()) return **known;
  return *seats_.emplace_back(std::make_shared<Seat>(*this, id, name));
}

std::shared_ptr<Seat> Fabric::find(Id id) const {
  const auto known = std::ranges::find_if(seats_, [&](const auto& seat) { return seat->id == id; });
  return known != seats_.end() ? *known : nullptr;
}

Hello Fabric::own_hello() const {
  return {.rank = options_.common.rank,
          .size = options_.common.size,
          .is_founded = is_founded_,
          .digest = digest(options_.digest),
          .process = process_};
}

void Fabric::become_founded() {
  if (std::exchange(is_founded_, true)) return;
  for (const auto& seat : seats_) {
    if (seat->is_here()) static_cast<void>(seat->send({.kind = NoteKind::founded}));
  }
}

void Fabric::on_admitted(const msg::Member&) {
  is_admitted_ = true;
  away_.reset();
  for (const auto& seat : seats_) dial(*seat);
}

void Fabric::on_joined(const msg::Member& member) {
  Seat& seat = seat_for(member.id, member.name);
  seat.member = member;
  seat.is_registered = true;
  dial(seat);
}

void Fabric::on_left(const msg::Member& member) {
  on_lost(member, Error(Code::unavailable, "it has left"));
}

void Fabric::on_lost(const msg::Member& member, const Error& why) {
  const std::shared_ptr<Seat> seat = find(member.id);
  if (seat == nullptr) return;
  seat->is_registered = false;
  // A link that stands knows better, and tells last what was said before.
  if (seat->link == nullptr || !seat->hello) lose(*seat, why);
}

void Fabric::on_ended(Error why) {
  membership_.reset();
  ended_ = std::move(why);
}

// Of two, the one with the lower id dials, so that there is one link.
void Fabric::dial(Seat& seat) {
  if (!is_admitted_ || is_closing_ || seat.lost || !seat.may_be_dialled() || seat.link != nullptr ||
      !(id_ < seat.id)) {
    return;
  }
  if (!seat.is_registered) {
    if (has_dialled_most()) return loop_.start(seat.redial, loop_.now() + kRedial);
    --seat.dials_left;
  }
  std::vector<net::Address> addresses;
  for (const std::string& text : seat.member.addresses) {
    if (Result<net::Address> address = net::Address::parse(text)) addresses.push_back(*address);
  }
  seat.link = endpoint_->connect(addresses, seat);
}

void Fabric::seat_up(Seat& seat) {
  // Addresses outlive those who had them.
  if (seat.link != nullptr && seat.link->peer().id != seat.id) {
    return seat_closed(seat, Error(Code::unavailable, "somebody else answers there"));
  }
  wire::Parts parts;
  parts.push_back(encode(own_hello()));
  static_cast<void>(seat.send({.kind = NoteKind::hello}, std::move(parts)));
}

void Fabric::seat_closed(Seat& seat, const Error& why) {
  bury(std::move(seat.link));
  if (seat.hello) return lose(seat, why);
  if (is_closing_) return;
  // It was never up: it may still be. Of who is told of by others alone it is them who say
  // that it is gone: to take it for lost here only would be another end than theirs.
  if (seat.may_be_dialled()) loop_.start(seat.redial, loop_.now() + kRedial);
}

void Fabric::lose(Seat& seat, const Error& why) {
  if (seat.lost) return;
  seat.lost = seat.has_left ? Error(Code::unavailable, "it has left the communicator") : why;
  loop_.stop(seat.redial);
  if (seat.link != nullptr) bury(std::move(seat.link));
  seat.segments.clear();
  seat.readies.clear();
  for (const auto& [context, crew] : crews_) crew->lose(seat);
  if (std::ranges::count(watched_, seat.id) > 0) tell_gone(seat);
}

void Fabric::bury(std::unique_ptr<net::Link> link) {
  if (link == nullptr) return;
  doomed_.push_back(std::move(link));
  loop_.flush_later(*this);
}

void Fabric::resume_later() {
  wants_resume_ = true;
  loop_.flush_later(*this);
}

void Fabric::flush() {
  doomed_.clear();
  if (!std::exchange(wants_resume_, false)) return;
  for (const auto& seat : seats_) {
    if (seat->link != nullptr) seat->link->resume();
  }
}

void Fabric::enlist(Crew& crew) { crews_.emplace(crew.context(), &crew); }

void Fabric::strike_off(Crew& crew) {
  std::erase_if(crews_, [&](const auto& one) { return one.second == &crew; });
}

void Fabric::room_came(Seat& seat) {
  for (const auto& [context, crew] : crews_) crew->room_came(seat);
}

void Fabric::message_refused(Seat& seat, const wire::Head& head, const Error& why) {
  Note note;
  if (!read_note(head, note)) return;
  const auto [first, last] = crews_.equal_range(note.context);
  for (auto one = first; one != last; ++one) one->second->message_refused(seat, note, why);
}

bool Fabric::is_ready_for(const Seat& seat, const wire::Head& head) const {
  Note note;
  if (seat.lost || !seat.hello || !read_note(head, note)) return true;
  const auto [first, last] = crews_.equal_range(note.context);
  return std::all_of(first, last, [&](const auto& one) { return one.second->is_ready_for(note); });
}

WritableBuffer Fabric::place(Seat& seat, const wire::Head& head, std::uint64_t size) {
  Note note;
  if (seat.lost || !seat.hello || !read_note(head, note)) return {};
  const auto [first, last] = crews_.equal_range(note.context);
  for (auto one = first; one != last; ++one) {
    if (WritableBuffer found = one->second->place(seat, note, size); found.size() > 0) return found;
  }
  return {};
}

void Fabric::message_came(Seat& seat, wire::Frame& frame) {
  Note note;
  if (seat.lost || !read_note(frame.head, note)) return;
  if (!seat.hello && note.kind != NoteKind::hello) return;
  switch (note.kind) {
    case NoteKind::hello: return take_hello(seat, frame);
    case NoteKind::founded: seat.hello->is_founded = true; return;
    case NoteKind::ready: return take_ready(seat, note, frame);
    case NoteKind::segment: return take_segment(seat, note, frame);
    case NoteKind::forget: seat.segments.erase(static_cast<std::uint32_t>(note.value)); return;
    case NoteKind::away: return take_away(seat, note);
    case NoteKind::welcome: return take_welcome(note, frame);
    case NoteKind::gone: return take_gone(seat, frame);
    case NoteKind::known: return take_known(seat, frame);
    case NoteKind::leave:
      if (note.context != 0) break;  // One crew's.
      seat.has_left = true;
      return lose(seat, Error(Code::unavailable, ""));
    default: break;
  }
  const auto [first, last] = crews_.equal_range(note.context);
  for (auto one = first; one != last; ++one) {
    if (one->second->take(seat, note, frame)) return;
  }
  // It may be in a context that we are about to enter.
  const auto ready = seat.readies.find(note.context);
  if (ready == seat.readies.end() || ready->second.early.size() >= kMostEarlyNotes) return;
  ready->second.early.emplace_back(note, std::move(frame));
}

void Fabric::take_hello(Seat& seat, const wire::Frame& frame) {
  if (seat.hello || frame.parts.size() != 1) return;
  std::optional<Hello> hello = decode_hello(frame.parts[0]);
  if (!hello || hello->digest != digest(options_.digest)) {
    log::warning(fmt::format("rank turned away  member {}  why another communicator", seat.name));
    return lose(seat, Error(Code::invalid, "it is of another communicator"));
  }
  seat.hello = hello;
}

void Fabric::take_ready(Seat& seat, const Note& note, const wire::Frame& frame) {
  if (frame.parts.size() != 2 || seat.readies.size() >= kMaxReadies) return;
  seat.readies[note.context] = {.desk = frame.parts[0], .reach = frame.parts[1], .early = {}};
}

void Fabric::take_away(Seat& seat, const Note& note) {
  if (seat.away_from.size() >= kMaxReadies) return;
  seat.away_from.insert(note.context);
  for (const auto& [context, crew] : crews_) crew->look_who_is_left();
}

void Fabric::take_segment(Seat& seat, const Note& note, const wire::Frame& frame) {
  if (frame.parts.size() != 1 || seat.segments.size() >= kMaxReadies) return;
  const arena::SharedBlock* block = arena::SharedBlock::of(frame.parts[0]);
  if (block != nullptr) seat.segments[static_cast<std::uint32_t>(note.value)] = block->segment();
}

}  // namespace muster::collectives::internal
