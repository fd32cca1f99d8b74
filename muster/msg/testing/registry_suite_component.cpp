#include <algorithm>
#include <ostream>

#include "muster/base/check.h"
#include "muster/msg/testing/registry_suite.h"

namespace muster::msg::testing {
namespace {

std::string title(const Member& member) {
  return member.name + "/" + std::to_string(member.incarnation);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RegistrySubject& subject) {
  return out << subject.name;
}

JoinRequest request_for(const std::string& group, const std::string& name, Duration lease) {
  Member self{.name = name,
              .type = "worker",
              .id = Id::random(),
              .incarnation = 0,
              .addresses = {"shm://" + name, "tcp://127.0.0.1:7000"}};
  return {.group = group, .self = std::move(self), .lease = lease};
}

Component::Component(loop::Loop& loop, std::unique_ptr<Registry> registry,
                     const JoinRequest& request)
    : loop_(loop), self_(request.self), registry_(std::move(registry)) {
  const loop::Turn turn(loop_);
  is_inside_ = true;
  auto membership = registry_->join(request, *this);
  is_inside_ = false;
  if (membership) {
    membership_ = *std::move(membership);
  } else {
    ADD_FAILURE() << "join as " << request.self.name << ": " << membership.error().describe();
  }
}

Component::~Component() {
  const loop::Turn turn(loop_);
  membership_.reset();
  registry_.reset();
}

void Component::leave() {
  const loop::Turn turn(loop_);
  if (!membership_) return;  // It has ended.
  is_inside_ = true;
  membership_->leave();
  is_inside_ = false;
}

void Component::remind(const Member& known) {
  const loop::Turn turn(loop_);
  membership_->remind(known);
}

void Component::vanish() {
  const loop::Turn turn(loop_);
  membership_.reset();
}

void Component::note(std::string line) {
  EXPECT_TRUE(loop_.is_held()) << "a registry called without the baton";
  EXPECT_FALSE(!record_.empty() && record_.back().first.starts_with("ended"))
      << line << " after the last call";
  record_.emplace_back(std::move(line), loop_.now());
}

void Component::on_admitted(const Member& self) {
  self_.incarnation = self.incarnation;
  EXPECT_EQ(self, self_);
  note("admitted " + title(self));
}

void Component::on_joined(const Member& member) {
  EXPECT_NE(member.name, self_.name) << "a member was told of itself";
  const auto place = peers_.find(member.name);
  EXPECT_TRUE(place == peers_.end() || place->second != member) << title(member) << " came twice";
  EXPECT_TRUE(place == peers_.end() || place->second.incarnation <= member.incarnation)
      << "incarnations of " << member.name << " went back";
  peers_[member.name] = member;
  note("joined " + title(member));
}

void Component::on_left(const Member& member) {
  EXPECT_EQ(peers_.erase(member.name), 1U) << member.name << " left without having been there";
  note("left " + title(member));
}

void Component::on_lost(const Member& member, const Error& why) {
  EXPECT_EQ(peers_.erase(member.name), 1U) << member.name << " was lost without having been there";
  EXPECT_FALSE(why.message().empty());
  note("lost " + title(member));
}

void Component::on_unreachable(const Error& why) {
  EXPECT_FALSE(why.message().empty());
  note("unreachable");
}

void Component::on_ended(Error why) {
  EXPECT_FALSE(is_inside_) << "the end came from inside a call";
  note("ended " + std::string(name(why.code())));
  membership_.reset();  // Which is allowed here.
}

std::uint64_t Component::incarnation() const {
  const loop::Turn turn(loop_);
  return self_.incarnation;
}

int Component::admissions() const {
  const loop::Turn turn(loop_);
  return static_cast<int>(std::ranges::count_if(
      record_, [](const auto& entry) { return entry.first.starts_with("admitted"); }));
}

std::uint64_t Component::knows(const std::string& name) const {
  const loop::Turn turn(loop_);
  const auto place = peers_.find(name);
  return place != peers_.end() ? place->second.incarnation : 0;
}

std::size_t Component::peers() const {
  const loop::Turn turn(loop_);
  return peers_.size();
}

std::vector<std::string> Component::record() const {
  const loop::Turn turn(loop_);
  std::vector<std::string> lines;
  for (const auto& [line, when] : record_) lines.push_back(line);
  return lines;
}

std::size_t Component::count(const std::string& line) const {
  const std::vector<std::string> lines = record();
  return static_cast<std::size_t>(std::ranges::count(lines, line));
}

bool Component::has(const std::string& prefix) const {
  const std::vector<std::string> lines = record();
  return std::ranges::any_of(lines, [&](const auto& line) { return line.starts_with(prefix); });
}

TimePoint Component::time_of(const std::string& line) const {
  const loop::Turn turn(loop_);
  const auto place = std::ranges::find(record_, line, &std::pair<std::string, TimePoint>::first);
  MUSTER_CHECK(place != record_.end(), "only what was heard has a time");
  return place->second;
}

Member Component::member_of(const std::string& name) const {
  const loop::Turn turn(loop_);
  const auto place = peers_.find(name);
  return place != peers_.end() ? place->second : Member{};
}

}  // namespace muster::msg::testing
