// Directory: who is there, with which incarnation, and until when. What the
// serving process decides, and all of it. Pure: values in, values out.
//
// A member has a seat while somebody stands for it: its connection. One without
// a seat is present all the same until its lease runs out: the serving process
// before this one knew it, and it will announce itself again.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/error.h"
#include "muster/registries/embedded/message.h"

namespace muster::registries::embedded {

using Seat = std::uint64_t;  // The caller's name for a connection; never 0.

// Something to say to whoever has a seat. After the last one it has none.
struct Notice {
  Seat seat = 0;
  Message message = {};
  bool is_last = false;

  bool operator==(const Notice&) const = default;
};
using Notices = std::vector<Notice>;

// What is known of one name, for the file that the next serving process reads.
struct Entry {
  msg::Member member;  // As it is, or was last.
  Duration lease{};
  int pid = 0;  // On this host, else 0.
  bool is_present = false;
  bool is_remote = false;
  bool has_left = false;  // With a goodbye, if it is not present.

  bool operator==(const Entry&) const = default;
};
struct DirectoryState {
  std::uint64_t floor = 0;  // No name that is not listed has ever had more.
  std::vector<Entry> entries;

  bool operator==(const DirectoryState&) const = default;
};

struct DirectoryLimits {
  std::size_t present = 4096;
  std::size_t absent = 4096;  // Names that are remembered though nobody bears them.
};

class Directory {
 public:
  // Nobody is known: until `now` plus its lease, a newcomer is not told that it
  // has heard of all.
  Directory(TimePoint now, DirectoryLimits limits = {}) : limits_(limits), begun_(now) {}
  // Goes on where another has ended. Those present have a lease to come back in.
  Directory(TimePoint now, const DirectoryState& state, DirectoryLimits limits = {});

  // `message` is an announcement, from a process of this host that has `pid`.
  Notices announce(Seat seat, const Message& message, int pid, TimePoint now);
  // Who has the seat has met `known`: another of its name must count higher.
  Notices remind(Seat seat, const msg::Member& known, TimePoint now);
  // Who has the seat knew `known` under whoever served before, and has not been told of it.
  Notices miss(Seat seat, const msg::Member& known) const;
  Notices beat(Seat seat, TimePoint now);
  Notices leave(Seat seat);
  // Whoever had the seat is dead.
  Notices lose(Seat seat, const Error& why);
  // The process has ended: who of it has no seat yet will not come any more.
  Notices bury(int pid, const Error& why);
  // The connection ended, and that says nothing about the member.
  void unseat(Seat seat, TimePoint now);

  // To be called at `due`, which next_expiry() gave. If it is called late, we
  // ourselves stood still, heard nobody meanwhile, and give all that time back.
  Notices expire(TimePoint due, TimePoint now);
  TimePoint next_expiry() const;
  // Those that would be lost then. They may have said something that was not read yet.
  std::vector<Seat> overdue(TimePoint now) const;

  // Tells who has the seat, which is nobody's, of all that are there.
  Notices tell_all(Seat seat) const;

  bool has(Seat seat) const { return seats_.contains(seat); }
  // Whether the end of its connection says nothing of who has the seat.
  bool is_remote(Seat seat) const;
  DirectoryState state() const;
  // Counts up with every change of state().
  std::uint64_t changes() const { return changes_; }

 private:
  struct Record {
    Entry entry;
    Seat seat = 0;
    TimePoint heard{};
    std::uint64_t gone_at = 0;  // In changes(), for who is forgotten first.
  };

  Record* find(Seat seat);
  std::size_t present() const;
  // The incarnation for who announces itself; 0 if a younger one was there.
  std::uint64_t incarnation_for(const msg::Member& member) const;
  Message admission(const Record& record, TimePoint now) const;
  void tell_others(const Message& message, const std::string& but, Notices& out) const;
  Notices depart(Record& record, Message farewell);
  Notices retire(Record& record, Message farewell);
  void forget_some();

  DirectoryLimits limits_;
  TimePoint begun_;
  bool is_inherited_ = false;
  std::uint64_t floor_ = 0;
  std::map<std::string, Record> records_;
  std::map<Seat, std::string> seats_;
  std::uint64_t changes_ = 0;
};

}  // namespace muster::registries::embedded
