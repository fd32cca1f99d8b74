// One end of a link with all that it needs, made in a line. What fails ends the program.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "muster/net/conversation.h"

namespace muster::bench::ours {

// How links are made.
struct Way {
  const char* address;  // To listen on.
  bool use_process_vm = true;
};
inline constexpr Way kShm{"shm://*"};
inline constexpr Way kShmNoPtrace{"shm://*", false};
inline constexpr Way kTcp{"tcp://127.0.0.1:0"};
inline constexpr Way kTls{"tcp://127.0.0.1:0?tls=on"};
inline constexpr Way kZmq{"zmq://127.0.0.1:0?curve=off"};
inline constexpr Way kCurve{"zmq://127.0.0.1:0"};
// Over what UCX has within a host.
inline constexpr Way kUcx{"ucx://127.0.0.1:0"};

class Node {
 public:
  explicit Node(const Way& way);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Where others can dial this node. The first who does is its peer.
  std::string listen();
  void connect(const std::string& address);
  void wait_until_up();

  // Copies `message` and sends it.
  template <class T>
  void send_copy(const T& message) {
    send_copy(std::as_bytes(std::span(&message, 1)));
  }
  void send_copy(std::span<const std::byte> body);
  void send(Buffer body);
  Buffer receive();
  WritableBuffer allocate(std::size_t size);
  void close() { conversation_->close(); }

 private:
  Way way_;
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<net::Conversation> conversation_;
};

}  // namespace muster::bench::ours
