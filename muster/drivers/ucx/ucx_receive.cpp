// The receiving half of a connection. Called from inside UCX; nothing the peer
// says is believed.

#include <algorithm>
#include <cstring>

#include "muster/base/copy_bytes.h"
#include "muster/drivers/ucx/ucx_connection.h"

namespace muster::drivers::ucx {
namespace {

// A peer has no more than its queue and one frame under way, and behind them what its
// link's window allows; this is far more.
constexpr std::uint64_t kMostAwaited = std::uint64_t{1} << 30;
// What a frame takes that waits for others, beside its small parts.
constexpr std::uint64_t kFrameCost = 512;

}  // namespace

void UcxConnection::on_record(std::span<const std::byte> bytes) {
  ReadShortRecord brief;
  if (incoming_.empty() && read_short_record(bytes, brief)) return take_short_record(brief);
  ReadRecord& record = hub_.scratch();
  if (const Status read = read_record(bytes, record); !read) return fail(read.error());
  if (!is_next(record.sequence)) return;
  if (const Status taken = take_record(record); !taken) return fail(taken.error());
  deliver();
}

// An end that has lost its way to the peer drops long records, and lets short
// ones pass.
bool UcxConnection::is_next(std::uint32_t sequence) {
  if (sequence == next_in_) {
    ++next_in_;
    return true;
  }
  end(Error(Code::unavailable, "the peer's frames get lost"));
  return false;
}

// The usual one: it is whole, and next.
void UcxConnection::take_short_record(const ReadShortRecord& record) {
  if (!is_next(record.sequence)) return;
  ++first_in_;
  wire::Frame frame;
  frame.head.assign(record.head);
  WritableBuffer part = hub_.pool().take(record.part.size());
  if (part.size() != record.part.size()) {
    return fail(Error(Code::overloaded, "no memory for a frame"));
  }
  copy_bytes(part.data(), record.part.data(), record.part.size());
  frame.parts.push_back(std::move(part).freeze());
  sink_->on_frame(frame);
}

Status UcxConnection::take_record(const ReadRecord& record) {
  Incoming& incoming = incoming_.emplace_back();
  incoming.charge = record.small.size() + kFrameCost;
  awaited_ += incoming.charge + record.large;
  if (awaited_ > kMostAwaited) {
    return Error(Code::invalid, "more frames and parts under way than there can be");
  }
  MUSTER_TRY_OK(take_small_parts(record, incoming.frame));
  return record.large == 0 ? ok() : find_places(record, incoming);
}

// The head, and the small parts, which lie in one piece of memory.
Status UcxConnection::take_small_parts(const ReadRecord& record, wire::Frame& frame) {
  frame.head.assign(record.head);
  Buffer joined;
  if (!record.small.empty()) {
    WritableBuffer memory = hub_.pool().take(record.small.size());
    if (memory.data() == nullptr) return Error(Code::overloaded, "no memory for a frame");
    std::memcpy(memory.data(), record.small.data(), record.small.size());
    joined = std::move(memory).freeze();
  }
  std::size_t offset = 0;
  for (const std::uint64_t size : record.sizes) {
    if (size == 0 || travels_alone(size)) {
      frame.parts.push_back(Buffer());
    } else {
      frame.parts.push_back(joined.slice(offset, size));
      offset += padded(size);
    }
  }
  return ok();
}

Status UcxConnection::find_places(const ReadRecord& record, Incoming& incoming) {
  const std::vector<std::uint64_t> sizes = record.sizes;  // A sink may use the scratch anew.
  incoming.targets.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!travels_alone(sizes[i])) continue;
    WritableBuffer target = sink_->place(incoming.frame.head, i, sizes[i]);
    if (state_ == State::ended) return ok();
    if (target.size() != sizes[i]) target = hub_.pool().take(sizes[i]);
    if (target.data() == nullptr) return Error(Code::overloaded, "no memory for a frame");
    incoming.targets[i] = std::move(target);
    ++incoming.missing;
  }
  return ok();
}

// Where that part shall go; null, and the end, if it is not awaited.
WritableBuffer* UcxConnection::target_of(const MessageHeader& header, std::size_t size) {
  const std::uint32_t index = header.sequence - first_in_;
  if (index < incoming_.size() && header.part < incoming_[index].targets.size()) {
    WritableBuffer& target = incoming_[index].targets[header.part];
    if (target.data() != nullptr && target.size() == size) return &target;
  }
  fail(Error(Code::invalid, "a part that nobody waits for"));
  return nullptr;
}

bool UcxConnection::on_part(const MessageHeader& header, void* descriptor, std::size_t size) {
  WritableBuffer* const target = target_of(header, size);
  if (target == nullptr) return false;
  auto fetch = std::make_unique<Fetch>();
  fetch->account = account_;
  fetch->header = header;
  fetch->target = std::move(*target);
  return pair_->fetch(std::move(fetch), descriptor);
}

void UcxConnection::on_part(const MessageHeader& header, std::span<const std::byte> bytes) {
  WritableBuffer* const place = target_of(header, bytes.size());
  if (place == nullptr) return;
  WritableBuffer target = std::move(*place);
  std::memcpy(target.data(), bytes.data(), bytes.size());
  on_fetched(header, std::move(target));
}

void UcxConnection::on_fetched(const MessageHeader& header, WritableBuffer target) {
  if (state_ == State::ended) return;
  Incoming& incoming = incoming_[header.sequence - first_in_];
  awaited_ -= target.size();
  incoming.frame.parts[header.part] = std::move(target).freeze();
  --incoming.missing;
  deliver();
}

// Frames leave in order, each when it is whole.
void UcxConnection::deliver() {
  while (state_ != State::ended && !incoming_.empty() && incoming_.front().missing == 0) {
    wire::Frame frame = std::move(incoming_.front().frame);
    awaited_ -= incoming_.front().charge;
    incoming_.pop_front();
    ++first_in_;
    sink_->on_frame(frame);
  }
}

}  // namespace muster::drivers::ucx
