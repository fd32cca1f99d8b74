// Drama: one whole group under virtual time whose members crash, leave, come back, are
// slow, are cut off from each other and from the registry, or can be dialled by some only,
// all by a seed, while they talk; and what must hold all the same.
//
// What each says has a number, so that nothing can be lost, repeated or changed in
// order without being noticed. Members are of four kinds by their number: with and
// without a store of what was handled, with and without an outbox. In every other group
// queues are short and bodies are long, so that there is often no room.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/msg/testing/memory_stores.h"
#include "muster/msg/testing/sim_group.h"

namespace muster::msg::testing {

class Drama {
 public:
  Drama(std::uint64_t seed, bool keeps_transcript);

  // Expects of GoogleTest's what must hold.
  void play();

  SimGroup group;

 private:
  // One stream of numbered messages.
  enum class Way : std::uint8_t { task, note, kept };
  struct Said {
    std::string from;
    std::uint64_t incarnation;
    std::string to;
    Way way;
    std::int64_t number;
    friend auto operator<=>(const Said&, const Said&) = default;
  };
  struct Asked {
    SessionId id;
    TimePoint deadline;
  };
  // Within one all is in order: from whom, kept or not, and how urgent.
  struct Stream {
    std::string from;
    bool is_kept;
    Priority priority;
    friend auto operator<=>(const Stream&, const Stream&) = default;
  };
  // What one process has seen, and ends with it.
  struct Mind {
    std::map<Stream, std::pair<std::uint64_t, std::int64_t>> last;  // Incarnation and number.
    std::set<Said> seen;
    std::vector<Asked> asked;
    std::vector<std::pair<SessionId, Said>> assigned;  // Tasks that are kept.
    std::vector<std::pair<Said, Message>> unfinished;
    std::vector<Message> unsaid;                  // Handled, but not yet done().
    std::map<std::string, std::size_t> troubles;  // Losses that it was told of, by peer,
    std::map<Said, std::size_t> before;           // and how many before this was said.
    bool is_drowsy = false;                       // Takes nothing that comes.
  };

  std::string name_of(int number) const { return "worker_" + std::to_string(number); }
  std::string someone();
  static wire::Value body_of(const Said& said, std::size_t padding);
  std::size_t padding();
  bool has_store(const std::string& name) const { return name.back() % 2 == 0; }
  bool has_outbox(const std::string& name) const { return name.back() % 4 >= 2; }
  void start(const std::string& name, bool replaces = false);
  void shorten_queues(ProxyOptions& options);
  void crash(const std::string& name);
  void leave(const std::string& name);

  void act();
  void part(const std::string& a, const std::string& b);
  void join_all();
  void block(const std::string& from, const std::string& to);
  void slow_down(const std::string& name);
  void talk(const std::string& name, const std::string& other);
  void say(const std::string& name, Proxy& proxy, const std::string& other, Way way);
  void serve(const std::string& name);
  void hear(const std::string& name, const Message& message);
  void finish_some(const std::string& name, bool all);
  void handle(const std::string& name, const Said& said, const Message& message);
  void look_at_events(const std::string& name);
  void dropped(const std::string& name, const ProxyEvent& event);
  void check_deadlines(const std::string& name);
  void end_faults();
  void come_to_rest();
  void check_elders();
  void check_notes();
  void check_kept();
  void check_assigned();

  const int size_;
  const bool is_crowded_;  // There is often no room.
  std::set<std::pair<std::string, std::string>> parted_;
  std::set<std::pair<std::string, std::string>> blocked_;  // The first cannot dial the second.
  std::set<std::string> leavers_;                          // Those who ever were.
  std::map<std::string, MemoryStore> stores_;
  std::map<std::string, MemoryOutbox> outboxes_;
  std::map<std::string, Mind> minds_;
  std::map<std::pair<std::string, std::string>, std::int64_t> last_said_;
  std::map<SessionId, Said> sent_;
  std::set<Said> notes_;    // That were sent, by those who live.
  std::set<Said> arrived_;  // Of these, anywhere.
  std::set<Said> kept_;     // That must be handled.
  std::map<Said, int> handled_;
  std::map<Said, int> effects_;  // Committed together with the id.
};

}  // namespace muster::msg::testing
