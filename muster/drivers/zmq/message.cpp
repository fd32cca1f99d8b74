#include "muster/drivers/zmq/message.h"

#include <atomic>
#include <cstring>
#include <memory>

#include <zmq.h>

#include "muster/base/check.h"

namespace muster::drivers::zmq {
namespace {

template <class Raw>
zmq_msg_t* of(Raw& raw) {
  static_assert(sizeof(Raw) == sizeof(zmq_msg_t) && alignof(Raw) == alignof(zmq_msg_t));
  return reinterpret_cast<zmq_msg_t*>(&raw);
}

// What libzmq holds while it needs the bytes.
struct Lent {
  Buffer buffer;
  // Orders what was done to the buffer here before what is done to it there, in
  // a way that the thread sanitizer sees too: it cannot look into libzmq.
  std::atomic<bool> is_lent{false};
};

void let_go(void*, void* hint) {
  const std::unique_ptr<Lent> lent(static_cast<Lent*>(hint));
  static_cast<void>(lent->is_lent.load(std::memory_order_acquire));
}

}  // namespace

// Keeps a message for the Buffers that show its bytes.
class Message::Owner final : public BufferOwner {
 public:
  explicit Owner(Message message) : message_(std::move(message)) {}
  std::span<const std::byte> bytes() const { return message_.bytes(); }

 private:
  void dispose() noexcept override { delete this; }
  Message message_;
};

Message::Message() { zmq_msg_init(of(raw_)); }
Message::~Message() { zmq_msg_close(of(raw_)); }

Message::Message(Message&& other) noexcept : Message() { zmq_msg_move(of(raw_), of(other.raw_)); }

Message& Message::operator=(Message&& other) noexcept {
  if (this != &other) zmq_msg_move(of(raw_), of(other.raw_));
  return *this;
}

Message Message::copy_of(std::span<const std::byte> bytes) {
  Message made;
  MUSTER_CHECK(zmq_msg_init_size(of(made.raw_), bytes.size()) == 0,
               "there is memory for a message");
  if (!bytes.empty()) std::memcpy(zmq_msg_data(of(made.raw_)), bytes.data(), bytes.size());
  return made;
}

Message Message::wrap(Buffer buffer) {
  auto lent = std::make_unique<Lent>();
  lent->buffer = std::move(buffer);
  lent->is_lent.store(true, std::memory_order_release);
  // libzmq only reads what it sends.
  auto* const data = const_cast<std::byte*>(lent->buffer.data());
  const std::size_t size = lent->buffer.size();
  Message made;
  MUSTER_CHECK(zmq_msg_init_data(of(made.raw_), data, size, let_go, lent.release()) == 0,
               "there is memory for a message");
  return made;
}

std::span<const std::byte> Message::bytes() const {
  return {static_cast<const std::byte*>(zmq_msg_data(of(raw_))), zmq_msg_size(of(raw_))};
}

bool Message::has_more() const { return zmq_msg_more(of(raw_)) != 0; }

int Message::descriptor() const { return zmq_msg_get(of(raw_), ZMQ_SRCFD); }

std::string Message::origin() const {
  const char* const text = zmq_msg_gets(of(raw_), "Peer-Address");
  return text == nullptr ? "" : text;
}

Buffer Message::into_buffer() && {
  auto owner = std::make_unique<Owner>(std::move(*this));
  const std::span<const std::byte> bytes = owner->bytes();
  return {bytes, owner.release()};
}

bool Message::send(void* socket, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  return uninterrupted([&] { return zmq_msg_send(of(raw_), socket, flags); }) >= 0;
}

bool Message::receive(void* socket) {
  return uninterrupted([&] { return zmq_msg_recv(of(raw_), socket, ZMQ_DONTWAIT); }) >= 0;
}

}  // namespace muster::drivers::zmq
