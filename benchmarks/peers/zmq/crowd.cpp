// Sixteen processes in eight pairs over ipc.
#include "benchmarks/common/crowd.h"

#include <array>

#include <zmq.h>

#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/socket.h"

namespace muster::bench::zmq {

Report ipc_crowd(const Options& options) {
  const Shared<std::array<Notice, kCrowdPairs>> bound;
  // Named here, in the parent: the children's process numbers differ.
  std::array<std::string, kCrowdPairs> addresses;
  for (std::size_t pair = 0; pair < kCrowdPairs; ++pair) addresses[pair] = ipc_address(pair);

  Crowd crowd;
  crowd.serve = [&](std::size_t pair) {
    Socket socket(ZMQ_PAIR);
    socket.bind(addresses[pair], (*bound)[pair]);
    echo([&](Message& message) { socket.receive(&message, sizeof(message)); },
         [&](const Message& message) { socket.send(&message, sizeof(message)); });
  };
  crowd.call = [&](std::size_t pair, const std::function<void(const Exchange&)>& run) {
    Socket socket(ZMQ_PAIR);
    socket.connect((*bound)[pair]);
    run([&](Message& message) {
      socket.send(&message, sizeof(message));
      socket.receive(&message, sizeof(message));
    });
  };
  return count_crowd(options, crowd);
}

}  // namespace muster::bench::zmq
