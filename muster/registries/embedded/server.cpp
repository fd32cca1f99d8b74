#include "muster/registries/embedded/server.h"

#include <algorithm>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/registries/embedded/process.h"
#include "muster/registries/embedded/state.h"

namespace muster::registries::embedded {
namespace {

constexpr std::size_t kMostStrangers = 256;
constexpr std::size_t kMostGuests = 8192;

}  // namespace

class Server::Guest final : public CarrierSink {
 public:
  Guest(Server& owner, Seat at)
      : server(owner),
        seat(at),
        timer([this] { server.refuse(*this, Error(Code::timeout, "it said nothing")); }) {}

  void on_packet(std::span<const std::byte> bytes) override { server.heard(*this, bytes); }
  void on_gone(const Error& why) override { server.gone(*this, why); }

  Server& server;
  const Seat seat;
  std::unique_ptr<Channel> channel;
  loop::Timer timer;  // Until it announces itself.
  bool is_stranger = true;
  bool is_dismissed = false;  // Its last notice is said, or waits to be.
};

class Server::Orphan final : public loop::FdHandler {
 public:
  Orphan(Server& owner, int id, Descriptor handle)
      : server(owner), pid(id), process(std::move(handle)) {
    is_watched = server.loop_.watch(process.get(), EPOLLIN, *this).has_value();
  }
  ~Orphan() {
    if (is_watched) server.loop_.unwatch(process.get());
  }
  void on_ready(std::uint32_t) override { server.bury(*this); }

  Server& server;
  const int pid;
  Descriptor process;
  bool is_watched = false;
};

Result<std::unique_ptr<Server>> Server::open(loop::Loop& loop, Folder folder, FolderLock lock,
                                             std::string group, const ServerOptions& options,
                                             std::function<void()> on_deposed) {
  std::unique_ptr<Server> made(new Server(loop, std::move(folder), std::move(lock),
                                          std::move(group), options, std::move(on_deposed)));
  MUSTER_TRY_OK(made->start());
  return made;
}

Server::Server(loop::Loop& loop, Folder folder, FolderLock lock, std::string group,
               const ServerOptions& options, std::function<void()> on_deposed)
    : loop_(loop),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      group_(std::move(group)),
      options_(options),
      on_deposed_(std::move(on_deposed)),
      expiry_([this] { expire(); }),
      check_([this] { check_folder(); }) {}

Server::~Server() {
  if (directory_) say_the_last();
  loop_.forget(*this);
  if (is_watched_) {
    loop_.unwatch(socket_.get());
    folder_.remove_socket();
  }
}

// A member of this very process may have gone just before: the next serving
// process would wait for its lease.
void Server::say_the_last() {
  std::vector<Seat> seats;
  for (const auto& [seat, guest] : guests_) seats.push_back(seat);
  look_at(seats);
  flush();
}

// Reads what they have said so far. That may end some.
void Server::look_at(const std::vector<Seat>& seats) {
  for (const Seat seat : seats) {
    if (const auto place = guests_.find(seat); place != guests_.end())
      place->second->channel->look();
  }
}

Status Server::start() {
  if (const auto state = inherited()) {
    directory_.emplace(loop_.now(), *state);
  } else {
    directory_.emplace(loop_.now());
  }
  MUSTER_TRY(socket_, folder_.listen());
  MUSTER_TRY_OK(loop_.watch(socket_.get(), EPOLLIN, *this));
  is_watched_ = true;
  set_expiry();
  loop_.start(check_, loop_.now() + options_.check_every);
  log::info("registry serves  group " + group_ + "  at " + folder_.path());
  return ok();
}

std::optional<DirectoryState> Server::inherited() {
  auto bytes = folder_.load(kMaxState);
  if (!bytes || !*bytes) return std::nullopt;
  Result<DirectoryState> state = decode_state(**bytes);
  if (!state) {
    log::warning("registry forgets  group " + group_ + "  why " + state.error().message());
    return std::nullopt;
  }
  for (Entry& entry : state->entries) watch_orphan(entry);
  return *std::move(state);
}

// One look tells both: a process that ends between two would be missed until its lease is over.
void Server::watch_orphan(Entry& entry) {
  if (!entry.is_present || entry.pid <= 0 || entry.pid == getpid()) return;
  Result<Descriptor> process = open_process(entry.pid);
  if (process) {
    orphans_.try_emplace(entry.pid,
                         std::make_unique<Orphan>(*this, entry.pid, *std::move(process)));
  } else if (process.error().code() == Code::unavailable) {
    entry.is_present = false;
  }
}

void Server::bury(Orphan& orphan) {
  const int pid = orphan.pid;
  orphans_.erase(pid);
  queue(directory_->bury(pid, Error(Code::unavailable, "its process has died")));
}

void Server::on_ready(std::uint32_t) {
  for (;;) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        warn("cannot accept", system_error(Code::overloaded, "accept", errno));
      }
      return;
    }
    admit(std::move(socket));
  }
}

void Server::admit(Descriptor socket) {
  drop_strangers();
  if (guests_.size() >= kMostGuests) {
    return warn("stranger refused", Error(Code::overloaded, "too many connections"));
  }
  auto guest = std::make_unique<Guest>(*this, ++last_seat_);
  auto channel = Channel::open(loop_, std::move(socket), *guest);
  if (!channel) return warn("stranger refused", channel.error());
  guest->channel = *std::move(channel);
  loop_.start(guest->timer, loop_.now() + options_.patience);
  guests_.emplace(guest->seat, std::move(guest));
}

// Keeps those who have not said who they are few, the youngest of them.
void Server::drop_strangers() {
  const auto is_stranger = [](const auto& seated) { return seated.second->is_stranger; };
  if (static_cast<std::size_t>(std::ranges::count_if(guests_, is_stranger)) < kMostStrangers)
    return;
  guests_.erase(std::ranges::find_if(guests_, is_stranger));
}

void Server::heard(Guest& guest, std::span<const std::byte> bytes) {
  if (guest.is_dismissed) return;
  Result<Message> message = decode(bytes);
  if (!message) return refuse(guest, message.error());
  const bool names_a_group = message->kind == Kind::announce || message->kind == Kind::ask;
  if (names_a_group && message->group != group_) {
    return refuse(guest, Error(Code::invalid, "of another group"));
  }
  if (message->kind == Kind::ask) {
    // An onlooker hangs up once it has heard, or is dropped as any stranger is.
    if (guest.is_stranger) queue(directory_->tell_all(guest.seat));
  } else if (message->kind == Kind::announce) {
    guest.is_stranger = false;
    loop_.stop(guest.timer);
    queue(directory_->announce(guest.seat, *message, guest.channel->pid(), loop_.now()));
  } else if (guest.is_stranger) {
    refuse(guest, Error(Code::invalid, "it did not say who it is"));
  } else if (message->kind == Kind::beat) {
    queue(directory_->beat(guest.seat, loop_.now()));
  } else if (message->kind == Kind::leave) {
    queue(directory_->leave(guest.seat));
  } else if (message->kind == Kind::remind) {
    queue(directory_->remind(guest.seat, message->member, loop_.now()));
  } else if (message->kind == Kind::miss) {
    queue(directory_->miss(guest.seat, message->member));
  } else {
    refuse(guest, Error(Code::invalid, "that is not for a member to say"));
  }
  set_expiry();
}

void Server::gone(Guest& guest, const Error& why) {
  const Seat seat = guest.seat;
  if (directory_->is_remote(seat)) {
    directory_->unseat(seat, loop_.now());
  } else {
    queue(directory_->lose(seat, why));
  }
  guests_.erase(seat);
  set_expiry();
}

void Server::refuse(Guest& guest, const Error& why) {
  warn("stranger refused", why);
  Message message{.kind = Kind::refused};
  message.code = why.code();
  message.text = why.message();
  Notices notices{{guest.seat, std::move(message), true}};
  std::ranges::move(directory_->lose(guest.seat, why), std::back_inserter(notices));
  queue(std::move(notices));
}

void Server::queue(Notices notices) {
  for (Notice& notice : notices) {
    if (notice.is_last) {
      if (const auto guest = guests_.find(notice.seat); guest != guests_.end()) {
        guest->second->is_dismissed = true;
      }
    }
    unsaid_.push_back(std::move(notice));
  }
  loop_.flush_later(*this);
}

// Nobody hears of what a next serving process would not know.
void Server::flush() {
  save();
  for (const Notice& notice : std::exchange(unsaid_, {})) say(notice);
}

void Server::save() {
  if (saved_ == directory_->changes()) return;
  saved_ = directory_->changes();
  if (const Status status = folder_.save(encode_state(directory_->state())); !status) {
    warn("cannot save who is there", status.error());
  }
}

void Server::say(const Notice& notice) {
  const auto place = guests_.find(notice.seat);
  if (place == guests_.end()) return;
  const bool is_sent = place->second->channel->send(notice.message);
  if (is_sent && !notice.is_last) return;
  // One that does not read comes back and hears everything anew.
  if (!is_sent) directory_->unseat(notice.seat, loop_.now());
  guests_.erase(place);
}

void Server::set_expiry() {
  const TimePoint next = directory_->next_expiry();
  if (next == kForever) return loop_.stop(expiry_);
  if (!expiry_.is_armed() || expiry_.due() > next) loop_.start(expiry_, next);
}

void Server::expire() {
  const TimePoint due = expiry_.due();
  look_at(directory_->overdue(loop_.now()));
  queue(directory_->expire(due, loop_.now()));
  set_expiry();
}

void Server::check_folder() {
  orphans_.clear();  // They have come by now, or their leases will tell.
  if (folder_.is_current(lock_)) return loop_.start(check_, loop_.now() + options_.check_every);
  log::warning("registry steps down  group " + group_ + "  why its folder was replaced  at " +
               folder_.path());
  const auto on_deposed = std::move(on_deposed_);
  on_deposed();
}

void Server::warn(const std::string& what, const Error& why) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now().time_since_epoch()).count();
  if (const int held_back = warnings_.admit(now); held_back >= 0) {
    log::warning("registry " + what + "  group " + group_ + "  why " + why.message() + "  others " +
                 std::to_string(held_back));
  }
}

}  // namespace muster::registries::embedded
