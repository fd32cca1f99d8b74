// Grants: how many bytes of large bodies may be under way to us at once. Pure.
//
// First come, first served, so that a large one is not passed over for ever.
// One that is larger than the whole budget is granted when it is alone.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace muster::net {

class Link;

class Grants {
 public:
  // Who asks: a link, and one of its transfers.
  struct Ticket {
    Link* link = nullptr;
    std::uint64_t transfer = 0;
  };

  explicit Grants(std::uint64_t budget) : budget_(budget) {}

  // Gets in line; next() tells when.
  void ask(Ticket ticket, std::uint64_t bytes) { line_.push_back({ticket, bytes}); }

  // The next whose turn it is, if there is room; its bytes count from now on.
  std::optional<Ticket> next() {
    if (line_.empty()) return std::nullopt;
    const Asked first = line_.front();
    if (used_ > 0 && (first.bytes > budget_ || used_ > budget_ - first.bytes)) return std::nullopt;
    line_.pop_front();
    used_ += first.bytes;
    return first.ticket;
  }

  // Bytes that were granted have come, or never will.
  void finish(std::uint64_t bytes) { used_ -= std::min(used_, bytes); }

  // Leaves the line.
  void withdraw(const Link* link, std::uint64_t transfer) {
    std::erase_if(line_, [&](const Asked& asked) {
      return asked.ticket.link == link && asked.ticket.transfer == transfer;
    });
  }

  std::uint64_t used() const { return used_; }

 private:
  struct Asked {
    Ticket ticket;
    std::uint64_t bytes;
  };
  std::uint64_t budget_;
  std::uint64_t used_ = 0;
  std::deque<Asked> line_;
};

}  // namespace muster::net
