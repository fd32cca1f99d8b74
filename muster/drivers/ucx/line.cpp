#include "muster/drivers/ucx/line.h"

#include <utility>

namespace muster::drivers::ucx {

void Line::say(const Greeting& greeting) {
  wire::Frame frame = encode(greeting);
  // Four greetings never fill a queue, so what fails here is at its end already.
  (void)connection_->send(frame);
}

void Line::close(std::optional<Error> why) {
  if (!why_) why_ = std::move(why);
  if (connection_) connection_->close();
}

void Line::on_frame(wire::Frame& frame) {
  if (why_) return;
  const Result<Greeting> greeting = decode_greeting(frame);
  if (!greeting) return close(greeting.error());
  owner_->on_greeting(*greeting);
}

void Line::on_closed(Error why) { owner_->on_line_end(why_ ? *std::move(why_) : std::move(why)); }

}  // namespace muster::drivers::ucx
