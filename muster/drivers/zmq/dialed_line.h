// DialedLine: a socket of libzmq's that connects once, to one peer.
//
// While a token is being replaced the peer may know the older one only, and
// serves each at a port of its own, so each is tried in turn.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/drivers/zmq/address_plan.h"
#include "muster/drivers/zmq/zmq_connection.h"
#include "muster/net/socket_address.h"

namespace muster::drivers::zmq {

class DialedLine final : public Line, loop::FdHandler {
 public:
  DialedLine(ZmqShared& shared, ZmqConnection& connection, net::Address to, AddressPlan plan,
             std::vector<net::Token> tokens);
  ~DialedLine() override;

  // Ends the connection, sooner or later, if nobody answers.
  void start();

  Sent send(Packet& packet) override;
  void settle() override;
  void leave() override;

 private:
  struct Attempt {
    net::SocketAddress address;
    const net::Token* token;  // Null: without encryption.
  };
  struct More final : loop::Flusher {
    explicit More(DialedLine& the_line) : line(the_line) {}
    void flush() override { line.pump(); }
    DialedLine& line;
  };

  void on_ready(std::uint32_t events) override;
  void pump();
  void try_these(net::Addresses found);
  void try_next();
  Status begin(const Attempt& attempt);
  void on_happening(const Happening& happening);
  void stand();
  void drop_socket(int linger_ms);

  ZmqShared& shared_;
  ZmqConnection& connection_;
  const net::Address to_;
  const AddressPlan plan_;
  const std::vector<net::Token> tokens_;
  std::optional<std::uint64_t> ticket_;
  std::vector<Attempt> attempts_;
  std::size_t next_ = 0;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<Monitor> monitor_;  // Goes before the socket.
  int watching_ = -1;
  loop::Timer timer_;
  More more_;  // Due soon: reads what the descriptor does not tell of.
  std::vector<Message> parts_;
  std::string why_ = "nobody listens there";  // Of the last attempt.
  bool is_standing_ = false;
  bool has_left_ = false;
};

}  // namespace muster::drivers::zmq
