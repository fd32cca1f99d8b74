#include "muster/collectives/seat.h"

#include <cstring>
#include <utility>

#include "muster/arena/shared_block.h"
#include "muster/collectives/fabric.h"

namespace muster::collectives::internal {
namespace {

// In memory as on the wire.
struct HelloBytes {
  std::uint32_t rank;
  std::uint32_t size;
  std::uint64_t is_founded;
  std::uint64_t digest_high;
  std::uint64_t digest_low;
  Process process;
};
static_assert(std::has_unique_object_representations_v<HelloBytes>);

// Order holds within a lane: data and what announces it share one.
constexpr net::Lane kLane{.channel = 0, .priority = 1};

}  // namespace

Buffer encode(const Hello& hello) {
  const HelloBytes bytes{hello.rank,        hello.size,       hello.is_founded ? 1U : 0U,
                         hello.digest.high, hello.digest.low, hello.process};
  return Buffer::copy_of(std::as_bytes(std::span(&bytes, 1)));
}

std::optional<Hello> decode_hello(const Buffer& body) {
  HelloBytes bytes;
  if (body.size() != sizeof bytes) return std::nullopt;
  std::memcpy(&bytes, body.data(), sizeof bytes);
  return Hello{.rank = bytes.rank,
               .size = bytes.size,
               .is_founded = bytes.is_founded != 0,
               .digest = {bytes.digest_high, bytes.digest_low},
               .process = bytes.process};
}

Seat::Seat(Fabric& fabric, Id of, std::string called)
    : id(of), name(std::move(called)), fabric_(fabric), redial([this] { fabric_.dial(*this); }) {}

Seat::~Seat() = default;

Loss Seat::loss() const {
  if (has_left) return Loss::left;
  return hello && has_ended(hello->process) ? Loss::dead : Loss::unsure;
}

Status Seat::send(const Note& note, wire::Parts parts) {
  if (link == nullptr) return Error(Code::unavailable, "there is no link to " + name);
  wire::Frame frame;
  write_note(note, frame.head);
  frame.parts = std::move(parts);
  const bool is_told_once = note.kind != NoteKind::data && note.kind != NoteKind::message;
  Status sent = held_.empty() ? link->send(frame, kLane) : Error(Code::overloaded, "others wait");
  if (sent || sent.error().code() != Code::overloaded || !is_told_once) return sent;
  held_.push_back(std::move(frame));
  return ok();
}

bool Seat::shares_memory() {
  if (!shares_memory_ && link != nullptr) {
    const Result<WritableBuffer> trial = link->allocate(1);
    shares_memory_ = false;
    if (trial) {
      trial->owner()->retain();
      const Buffer buffer(trial->bytes(), trial->owner());
      shares_memory_ = arena::SharedBlock::of(buffer) != nullptr;
    }
  }
  return shares_memory_.value_or(false);
}

void Seat::on_up(net::Link&) { fabric_.seat_up(*this); }

void Seat::on_message(wire::Frame& frame, net::Lane, std::size_t cost) {
  // What waits here is bounded by credit of the ranks' own.
  if (link != nullptr) link->done(cost);
  fabric_.message_came(*this, frame);
}

bool Seat::is_ready_for(const wire::Head& head) { return fabric_.is_ready_for(*this, head); }

WritableBuffer Seat::place_body(const wire::Head& head, std::size_t part, std::uint64_t size) {
  return part == 0 ? fabric_.place(*this, head, size) : WritableBuffer();
}

void Seat::on_room() {
  while (!held_.empty() && link != nullptr) {
    const Status sent = link->send(held_.front(), kLane);
    if (!sent && sent.error().code() == Code::overloaded) return;  // There is more room to come.
    held_.pop_front();
  }
  fabric_.room_came(*this);
}

void Seat::on_refused(wire::Frame& frame, net::Lane, const Error& why) {
  fabric_.message_refused(*this, frame.head, why);
}

void Seat::on_closed(Error why) { fabric_.seat_closed(*this, why); }

}  // namespace muster::collectives::internal
