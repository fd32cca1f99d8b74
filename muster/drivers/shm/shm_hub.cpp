#include "muster/drivers/shm/shm_hub.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "muster/base/id.h"
#include "muster/drivers/shm/shm_connection.h"

namespace muster::drivers::shm {

// Memory of ours that a peer may still use.
class ShmHub::Grave final : public loop::FdHandler {
 public:
  Grave(ShmHub& hub, Remains remains)
      : hub_(hub),
        remains_(std::move(remains)),
        process_(static_cast<int>(syscall(SYS_pidfd_open, remains_.pid, 0))) {
    if (!process_ && errno == ESRCH) let_go();
    if (!is_needed()) return;
    is_watched_ = watch(socket());
    is_process_watched_ = process_ && watch(process_.get());
  }
  ~Grave() {
    if (is_watched_) hub_.loop_.unwatch(socket());
    if (is_process_watched_) hub_.loop_.unwatch(process_.get());
  }

  void on_ready(std::uint32_t) override {
    listen();
    if (!is_needed()) hub_.open(*this);
  }

  bool is_needed() const { return !remains_.endangered.empty() || remains_.lent.count() > 0; }

  // The driver goes. A peer that is just writing says soon that it is done; else the
  // memory is rather lost than used for something else.
  void wait_for_writer() {
    for (int look = 0; look < kLastLooks && !remains_.endangered.empty(); ++look) {
      pollfd one{socket(), POLLIN | POLLRDHUP, 0};
      ::poll(&one, 1, 1);
      listen();
    }
    for (const WritableBuffer& memory : remains_.endangered) {
      if (memory.owner() != nullptr) memory.owner()->retain();
    }
  }

 private:
  static constexpr int kLastLooks = 200;  // Of a millisecond each.

  int socket() const { return remains_.socket->get(); }
  bool watch(int descriptor) {
    return hub_.loop_.watch(descriptor, EPOLLIN | EPOLLRDHUP, *this).has_value();
  }

  void listen() {
    // A child that it has forked may hold the socket open.
    pollfd process{process_.get(), POLLIN, 0};
    if (process_ && ::poll(&process, 1, 0) > 0) return let_go();
    for (;;) {
      const auto message = receive_message(socket());
      if (message && !*message) return;
      if (!message || (*message)->size == 0) return let_go();
      if (is_farewell(**message)) remains_.endangered.clear();
    }
  }
  void let_go() {
    remains_.endangered.clear();
    remains_.lent.clear();
  }

  ShmHub& hub_;
  Remains remains_;
  Descriptor process_;
  bool is_watched_ = false;
  bool is_process_watched_ = false;
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
  for (const auto& grave : graves_) grave->wait_for_writer();
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
  if (!is_armed_) return connection.listen_by_polling();
  // Others sleep, and nobody polls before one of them is rung for.
  if (!connection.listen_by_bell()) return;
  left_over_.push_back(connection.slot());
  loop_.flush_soon(*this);
}

void ShmHub::cool(ShmConnection& connection) {
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

void ShmHub::bury(Remains remains) {
  auto grave = std::make_unique<Grave>(*this, std::move(remains));
  if (grave->is_needed()) graves_.push_back(std::move(grave));
}

void ShmHub::open(const Grave& grave) {
  std::erase_if(graves_, [&](const auto& other) { return other.get() == &grave; });
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

loop::Outlook ShmHub::outlook() {
  using enum loop::Outlook;
  has_considered_ = true;
  if (hot_.empty()) return none;
  // Of many that were woken some are on this processor. Those elsewhere need not wake
  // us, one after the other, while we look.
  if (woken_ > 1) return several;
  // A peer that had to be woken is best served by leaving it this processor: a switch
  // costs less than to wake another one. The first time a spin is tried all the same,
  // and now and then: or two that only missed each other once would wake each other by
  // turns for ever.
  if (woken_ == 0) wakes_ = 0;
  if (woken_ == 1 && wakes_++ % kProbeEvery != 0) return one;
  const auto here = static_cast<std::uint32_t>(sched_getcpu());
  // A peer that last ran on this very processor cannot run while we spin on it.
  const bool is_elsewhere = std::ranges::any_of(
      hot_, [here](ShmConnection* connection) { return connection->peer_processor() != here; });
  return is_elsewhere ? soon : one;
}

bool ShmHub::arm() {
  is_armed_ = true;
  for (ShmConnection* connection : hot_) connection->publish_progress();
  door_->park();
  bool found = door_->has_rung();
  for (ShmConnection* connection : hot_) found |= connection->listen_by_bell();
  return found;
}

void ShmHub::disarm() {
  is_armed_ = false;
  door_->unpark();
  for (ShmConnection* connection : hot_) connection->listen_by_polling();
}

}  // namespace muster::drivers::shm
