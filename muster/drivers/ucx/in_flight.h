// What UCX is still at work on, and the memory that it may touch until then.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/drivers/ucx/record.h"

namespace muster::drivers::ucx {

class UcxConnection;
class UcxPair;

// What outlives a connection for the sake of what it left in flight.
struct Account {
  UcxConnection* connection = nullptr;  // Null once it is gone.
  std::size_t bytes = 0;                // Of its frames, not yet out.
};

// One message on its way out.
struct Outgoing {
  static constexpr std::size_t kSmall = 512;

  UcxPair* pair = nullptr;
  std::size_t place = 0;  // Among those in flight.
  std::shared_ptr<Account> account;
  std::size_t charge = 0;
  MessageHeader header;
  std::array<std::byte, kSmall> small;  // A record that fits,
  WritableBuffer record;                // one that does not,
  Buffer part;                          // or a large part.
};

// One large part on its way in.
struct Fetch {
  UcxPair* pair = nullptr;
  std::size_t place = 0;
  std::shared_ptr<Account> account;
  MessageHeader header;
  WritableBuffer target;
};

// A bag of them, each of which knows its place.
template <class T>
class InFlight {
 public:
  void put(std::unique_ptr<T> item) {
    item->place = items_.size();
    items_.push_back(std::move(item));
  }
  std::unique_ptr<T> take(T& item) {
    std::swap(items_[item.place], items_.back());
    items_[item.place]->place = item.place;
    std::unique_ptr<T> taken = std::move(items_.back());
    items_.pop_back();
    return taken;
  }
  bool empty() const { return items_.empty(); }
  void clear() { items_.clear(); }

 private:
  std::vector<std::unique_ptr<T>> items_;
};

}  // namespace muster::drivers::ucx
