// Station: a socket of libzmq's that many callers share.
//
// libzmq does not say which caller has gone, only which descriptor; and it
// gives its number to the next. So whoever came over that descriptor is
// suspected, and asked for by sending to it: libzmq refuses to send to whom it
// does not have. Nor does it hang up on one caller alone: who is to go is asked
// to, by a goodbye.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "muster/drivers/zmq/zmq_connection.h"

namespace muster::drivers::zmq {

// Whom a station serves: null keys mean no encryption.
struct StationKeys {
  net::Key secret{};
  std::string domain;
};

class Station final : public std::enable_shared_from_this<Station>, loop::FdHandler, loop::Flusher {
 public:
  using Accept = std::shared_ptr<net::Driver::Accept>;

  // Takes callers of the listening socket `listening`, of which it makes a copy.
  static Result<std::shared_ptr<Station>> open(ZmqShared& shared, int listening,
                                               const std::optional<StationKeys>& keys,
                                               std::string name, Accept accept);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  // Takes no more callers; those it has stay, and keep libzmq from giving up
  // the port. Without any it is free once this returns, unless libzmq is very slow.
  void stop_listening();
  // The same, but those it has are lost.
  void stop();

  // For lines.
  Sent send(const std::string& caller, Packet& packet);
  void settle();
  void leave(const std::string& caller);

 private:
  struct Caller {
    int descriptor = -1;
    ZmqConnection* connection = nullptr;  // Null: it was asked to go.
    bool owes_goodbye = false;            // There was no room for it.
  };
  struct Suspect {
    std::string caller;
    int times = 0;               // That it was looked for.
    std::uint64_t heard_at = 0;  // Once so many messages are read, all of its own are.
  };
  struct Loss {
    int descriptor;
    TimePoint at;
  };
  struct Private {};  // Only open() makes stations.

 public:
  Station(Private, ZmqShared& shared, std::string name, Accept accept);

 private:
  Status start(int listening, const std::optional<StationKeys>& keys);
  void on_ready(std::uint32_t) override { pump(); }
  void flush() override { pump(); }
  // True if all that came is read.
  bool pump();
  bool read_some();
  void take(std::vector<Message>& parts);
  void let_in(const std::string& id, const Message& hello);
  void send_away(const std::string& id);
  Sent try_to_send(const std::string& caller, Packet& packet);
  void write_blocked();

  void on_happening(const Happening& happening);
  void on_lost(int descriptor);
  void suspect_all_at(int descriptor);
  void suspect(const std::string& id);
  // Those who have not been looked for yet, or all; of each all must be read.
  void look_for_suspects(bool all, bool is_read);
  void lose(const std::string& id);
  void close_if_unused();
  void close();

  ZmqShared& shared_;
  const std::string name_;  // For people.
  Accept accept_;           // Null once it does not listen.
  Socket socket_;
  std::unique_ptr<Monitor> monitor_;  // Goes before the socket.
  std::string bound_;
  int watching_ = -1;
  std::vector<Message> parts_;
  std::unordered_map<std::string, Caller> callers_;
  std::size_t live_ = 0;  // Callers that have a connection.
  std::vector<std::string> blocked_;
  std::vector<Suspect> suspects_;
  std::uint64_t reads_ = 0;            // Messages.
  std::unordered_set<int> newcomers_;  // Descriptors of who has not said hello yet.
  std::string refusal_;                // Why the one that is lost next was refused.
  std::deque<Loss> losses_;            // Of late: a caller may be heard of after its end.
  loop::Timer probe_;
  // libzmq tells of room by the way, to whoever asks it anything; so who is
  // blocked also tries again now and then.
  loop::Timer retry_;
  bool is_settling_ = false;
};

}  // namespace muster::drivers::zmq
