#include "muster/drivers/ucx/ucx_hub.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "muster/drivers/ucx/ucx_connection.h"

namespace muster::drivers::ucx {
namespace {

// How long UCX may take to end what it was at, before its worker goes all the
// same. Over shared memory UCX 1.13 never ends some of the sends, which only read.
constexpr auto kPatience = std::chrono::milliseconds(5);
// The same while memory is still being written, or the two ends have hardly met.
constexpr auto kLongPatience = std::chrono::seconds(2);
constexpr auto kLookAgain = std::chrono::milliseconds(1);
// So many times a pair may have nothing before it is left to its descriptor.
constexpr std::uint32_t kQuiet = 64;
constexpr std::size_t kMostSteps = 100;

std::uint32_t slot_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

}  // namespace

UcxHub::UcxHub(loop::Loop& loop, std::unique_ptr<net::Driver> control, UcxOptions options)
    : loop_(loop),
      control_(std::move(control)),
      options_(std::move(options)),
      id_(Id::random()),
      burial_([this] { bury(); }) {}

Result<std::unique_ptr<UcxHub>> UcxHub::make(loop::Loop& loop, std::unique_ptr<net::Driver> control,
                                             UcxOptions options) {
  std::unique_ptr<UcxHub> made(new UcxHub(loop, std::move(control), std::move(options)));
  Seal seal;
  seal.begin();
  auto context = Context::open(made->options_);
  seal.end();
  const loop::Turn turn(loop);
  loop.add(*made);
  if (!context) return std::move(context).error();
  made->context_ = *std::move(context);
  return made;
}

UcxHub::~UcxHub() {
  const loop::Turn turn(loop_);
  while (!dying_.empty()) bury();
  loop_.stop(burial_);  // While there is a baton to do it under.
  loop_.remove(*this);
  loop_.forget(*this);
}

std::uint64_t UcxHub::enrol(UcxConnection& connection) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = {&connection, static_cast<std::uint32_t>(random_bits())};
  return (std::uint64_t{slots_[slot].tag} << 32) | slot;
}

void UcxHub::dismiss(std::uint64_t key) {
  slots_[slot_of(key)] = {};
  free_slots_.push_back(slot_of(key));
}

UcxConnection* UcxHub::find(std::uint64_t key, const UcxPair& pair) const {
  if (slot_of(key) >= slots_.size()) return nullptr;
  const Slot& slot = slots_[slot_of(key)];
  if (slot.connection == nullptr || slot.tag != key >> 32) return nullptr;
  return slot.connection->takes_from(pair) ? slot.connection : nullptr;
}

Result<std::shared_ptr<UcxPair>> UcxHub::pair_with(const PairKey& key) {
  if (auto found = pairs_.find(key); found != pairs_.end()) {
    std::shared_ptr<UcxPair> pair = found->second.lock();
    if (pair && !pair->failure()) return pair;
  }
  return new_pair_with(key);
}

Result<std::shared_ptr<UcxPair>> UcxHub::new_pair_with(const PairKey& key) {
  MUSTER_TRY(auto made, UcxPair::make(*this, key));
  std::shared_ptr<UcxPair> pair(made.release(), [this](UcxPair* gone) { retire(gone); });
  pairs_[key] = pair;
  return pair;
}

void UcxHub::retire(UcxPair* pair) {
  if (auto found = pairs_.find(pair->key()); found != pairs_.end() && found->second.expired()) {
    pairs_.erase(found);
  }
  std::erase(hot_, pair);
  pair->stop_watching();
  dying_.push_back({std::unique_ptr<UcxPair>(pair), loop_.now()});
  loop_.start(burial_, loop_.now());
}

// Never from inside UCX.
void UcxHub::bury() {
  for (Dying& dying : dying_) {
    dying.pair->progress();
    if (dying.is_closing || !dying.pair->may_close()) continue;
    dying.is_closing = true;
    dying.since = loop_.now();
    dying.pair->start_closing();
  }
  std::erase_if(dying_, [now = loop_.now()](const Dying& dying) {
    const bool is_short = dying.is_closing && !dying.pair->is_written_to();
    const auto patience = is_short ? kPatience : kLongPatience;
    return (dying.is_closing && dying.pair->is_idle()) || now > dying.since + patience;
  });
  if (!dying_.empty()) loop_.start(burial_, loop_.now() + kLookAgain);
}

void UcxHub::make_hot(UcxPair& pair) {
  pair.quiet = 0;
  if (std::ranges::find(hot_, &pair) == hot_.end()) hot_.push_back(&pair);
}

// Those who sleep were armed without it, or for less than it has to do now: of room
// in shared memory nobody tells.
void UcxHub::look_after(UcxPair& pair) {
  make_hot(pair);
  loop_.flush_soon(*this);
}

bool UcxHub::poll() {
  if (is_inside_) return false;
  is_inside_ = true;
  bool busy = false;
  // By index: what a frame leads to may end pairs.
  for (std::size_t i = 0; i < hot_.size(); ++i) {
    UcxPair* const pair = hot_[i];
    if (!pair->progress()) continue;
    busy = true;
    pair->quiet = 0;
  }
  is_inside_ = false;
  return busy;
}

void UcxHub::drain(UcxPair& pair) {
  if (is_inside_) return;
  is_inside_ = true;
  for (std::size_t i = 0; i < kMostSteps && pair.progress(); ++i) {
  }
  is_inside_ = false;
  make_hot(pair);  // What is left is not forgotten, nor who waits for it to settle.
}

bool UcxHub::arm() {
  bool found = false;
  for (UcxPair* pair : hot_) found |= !pair->arm();
  // Verbs tell of what comes once they are armed, and not of what had come since
  // the last look. News that were found by the way are told first.
  found |= poll() || is_queued;
  if (found) return true;
  // Armed as they are, those that have long been quiet may be left alone.
  std::erase_if(hot_, [](UcxPair* pair) { return ++pair->quiet > kQuiet && pair->is_idle(); });
  return false;
}

void UcxHub::flush() {
  // By index: what is told may lead to more of them.
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].connection != nullptr) slots_[i].connection->look_at_pair();
  }
  // A copy: what is told may also retire one, which lives until it is buried, and
  // none of the others may be left out for it.
  for (UcxPair* pair : std::vector(hot_)) pair->tell_settled();
}

void UcxHub::warn(std::string_view event, std::string_view detail) {
  complaints_.warn(loop_.now(), event, detail);
}

}  // namespace muster::drivers::ucx
