#include "muster/drivers/shm/shm_hub.h"

#include <algorithm>
#include <utility>

#include <sched.h>
#include <sys/epoll.h>

#include "muster/base/id.h"
#include "muster/drivers/shm/shm_connection.h"

namespace muster::drivers::shm {

// Memory that a peer may still write to.
class ShmHub::Grave final : public loop::FdHandler {
 public:
  Grave(ShmHub& hub, Descriptor socket, Memory ring, std::vector<WritableBuffer> memory)
      : hub_(hub),
        socket_(std::move(socket)),
        ring_(std::move(ring)),
        memory_(std::move(memory)),
        is_watched_(hub.loop_.watch(socket_.get(), EPOLLIN | EPOLLRDHUP, *this).has_value()) {}
  ~Grave() {
    if (is_watched_) hub_.loop_.unwatch(socket_.get());
  }

  void on_ready(std::uint32_t) override {
    for (;;) {
      auto message = receive_message(socket_.get());
      if (message && !*message) return;
      if (!message || (*message)->size == 0) break;
    }
    std::erase_if(hub_.graves_, [this](const auto& grave) { return grave.get() == this; });
  }

 private:
  ShmHub& hub_;
  Descriptor socket_;
  Memory ring_;
  std::vector<WritableBuffer> memory_;
  bool is_watched_;
};

ShmHub::ShmHub(loop::Loop& loop, const ShmOptions& options) : loop_(loop), options_(options) {
  probe_.secret = random_bits();
}

Result<std::unique_ptr<ShmHub>> ShmHub::make(loop::Loop& loop, const ShmOptions& options) {
  std::unique_ptr<ShmHub> hub(new ShmHub(loop, options));
  MUSTER_TRY(hub->door_, Door::make());
  MUSTER_TRY(hub->arena_, arena::Arena::make(options.arena));
  const loop::Turn turn(loop);
  loop.add(*hub);
  return hub;
}

ShmHub::~ShmHub() {
  const loop::Turn turn(loop_);
  loop_.remove(*this);
  loop_.forget(*this);
  graves_.clear();
}

Result<std::uint32_t> ShmHub::enrol(ShmConnection& connection) {
  MUSTER_TRY(const std::uint32_t slot, door_->take_slot());
  if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
  by_slot_[slot] = &connection;
  return slot;
}

void ShmHub::dismiss(ShmConnection& connection, std::uint32_t slot) {
  by_slot_[slot] = nullptr;
  door_->free_slot(slot);
  std::erase(hot_, &connection);
}

void ShmHub::make_hot(ShmConnection& connection) {
  if (!hot_.empty() && hot_.back() == &connection) return;
  const auto found = std::ranges::find(hot_, &connection);
  if (found != hot_.end()) {
    std::rotate(found, found + 1, hot_.end());
    return;
  }
  if (hot_.size() == kMostHot) {
    ShmConnection* const coldest = hot_.front();
    hot_.erase(hot_.begin());
    cool(*coldest);
  }
  hot_.push_back(&connection);
  connection.listen_by_polling();
}

void ShmHub::cool(ShmConnection& connection) {
  // What came before it listens by its bell was not rung for.
  connection.listen_by_bell();
  if (!connection.has_left_over()) return;
  left_over_.push_back(connection.slot());
  loop_.flush_soon(*this);
}

// Gives each one turn, and comes again soon: they must not keep the baton.
void ShmHub::flush() {
  for (const std::uint32_t slot : std::exchange(left_over_, {})) {
    if (by_slot_[slot] != nullptr) by_slot_[slot]->poll();
    ShmConnection* const connection = by_slot_[slot];  // If that has not ended it.
    if (connection == nullptr || std::ranges::find(hot_, connection) != hot_.end()) continue;
    if (connection->has_left_over()) left_over_.push_back(slot);
  }
  if (!left_over_.empty()) loop_.flush_soon(*this);
}

void ShmHub::bury(Descriptor socket, Memory ring, std::vector<WritableBuffer> memory) {
  graves_.push_back(
      std::make_unique<Grave>(*this, std::move(socket), std::move(ring), std::move(memory)));
}

bool ShmHub::poll() {
  bool busy = door_->has_rung();
  if (busy) {
    door_->answer([this](std::uint32_t slot) {
      if (slot < by_slot_.size() && by_slot_[slot] != nullptr) make_hot(*by_slot_[slot]);
    });
  }
  // By index: what a frame leads to may end links.
  for (std::size_t i = 0; i < hot_.size(); ++i) {
    if (hot_[i]->may_have_work()) busy |= hot_[i]->poll();
  }
  return busy;
}

bool ShmHub::is_worth_spinning() {
  // A peer that had to be woken is best served by leaving it this processor: a
  // switch costs less than to wake another one. The first time it is tried all
  // the same, and now and then: or two that only missed each other once would
  // wake each other by turns for ever.
  if (std::exchange(has_woken_, false) && wakes_++ % kProbeEvery != 0) return false;
  const auto here = static_cast<std::uint32_t>(sched_getcpu());
  // A peer that last ran on this very processor cannot run while we spin on it.
  return std::ranges::any_of(
      hot_, [here](ShmConnection* connection) { return connection->peer_processor() != here; });
}

bool ShmHub::arm() {
  for (ShmConnection* connection : hot_) connection->publish_progress();
  door_->park();
  bool found = door_->has_rung();
  for (ShmConnection* connection : hot_) found |= connection->listen_by_bell();
  return found;
}

void ShmHub::disarm() {
  door_->unpark();
  for (ShmConnection* connection : hot_) connection->listen_by_polling();
}

}  // namespace muster::drivers::shm
