// 64-byte messages one way over PAIR sockets.
#include "benchmarks/common/stream.h"

#include "benchmarks/common/process.h"
#include "benchmarks/peers/nng/cases.h"
#include "benchmarks/peers/nng/socket.h"

namespace muster::bench::nng {
namespace {

Report stream(const Options& options, const std::string& address) {
  const Shared<Notice> bound;
  const Shared<Gate> received;
  Process sender([&] {
    Socket socket;
    socket.dial(*bound);
    send_stream(options, [&](const Message& message) { socket.send(&message, sizeof(message)); });
    // Closing a socket of nng drops what it has not sent yet.
    received->arrive_and_wait(2);
  });

  Socket socket;
  socket.listen(address, *bound);
  StreamTally tally;
  Message message{};
  do {
    socket.receive(&message, sizeof(message));
  } while (tally.accept(message));
  received->arrive_and_wait(2);
  sender.join();
  return tally.report();
}

}  // namespace

Report ipc_stream(const Options& options) { return stream(options, ipc_address()); }
Report tcp_stream(const Options& options) { return stream(options, tcp_address()); }

}  // namespace muster::bench::nng
