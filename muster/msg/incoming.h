// A message that has come and that nobody has looked into yet.

#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/msg/message.h"
#include "muster/msg/message_codec.h"
#include "muster/msg/message_head.h"
#include "muster/wire/frame.h"

namespace muster::msg {

struct Incoming {
  MessageHead head;
  wire::Parts parts;
  PeerId peer;
  Buffer source;  // The peer's name.
  TimePoint deadline = kForever;
  Priority priority = Priority::normal;
  // What its link is to be told once it no longer waits, and which link that is.
  std::size_t owed = 0;
  std::uint64_t link = 0;

  std::size_t size() const {
    std::size_t sum = sizeof(Incoming);
    for (const Buffer& part : parts) sum += part.size();
    return sum;
  }
};

// Makes messages, and knows what is known of them beside what they say.
class MessageMaker {
 public:
  // Code::invalid if the body is not what the head says. Of use anywhere: the
  // body is decoded here, which can take a while, or kept as it is.
  static Result<Message> make(const Incoming& incoming, const Buffer& destination,
                              const BodyLimits& limits, bool keeps_encoded = false);

  // Notes that `message`, a request, is being answered. False if it has been,
  // as far as that: the answer may not be sent.
  static bool claim(const Message& message, Stage stage);
  // Takes back a claim whose answer could not be sent.
  static void disclaim(const Message& message, Stage stage);
};

}  // namespace muster::msg
