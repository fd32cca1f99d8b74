// What members and the serving process say to each other: one message, one
// packet. docs/reference/registries.md has the bytes. Pure.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/msg/registry.h"

namespace muster::registries::embedded {

// The numbers travel: append, never renumber.
enum class Kind : std::uint8_t {
  // From a member.
  announce = 1,  // I am this one; my incarnation if I have one.
  beat = 2,      // I am alive. Answered by the same.
  leave = 3,     // Goodbye. Answered by released.
  // To a member.
  admitted = 4,  // You are in, as this one; all others were told before.
  joined = 5,    // This one is there.
  left = 6,
  lost = 7,
  refused = 8,  // You are out: fenced (Code::invalid), or not wanted.
  released = 9,
  // From an onlooker, and to it.
  ask = 10,      // Who is in this group? Answered by joined for each,
  counted = 11,  // and then by this.
  // From a member.
  remind = 12,  // This one was there, and you speak of another who counts no higher.
  miss = 13,    // This one was there, and you did not name it. Answered by left or lost.
};

struct Message {
  Kind kind = Kind::beat;
  // announce: the member is on another host, so that the end of the connection
  // that carries it says nothing about it.
  bool is_remote = false;
  // admitted: those told are all there are. False while the serving process,
  // new and without a file to read, still waits for members to announce themselves.
  bool is_complete = false;
  Code code = Code::internal;  // lost, refused.
  std::chrono::milliseconds lease{0};
  msg::Member member = {};
  std::string group = {};
  std::string text = {};  // Why, in lost and refused.

  bool operator==(const Message&) const = default;
};

inline constexpr std::size_t kMaxText = 256;
// No message is longer.
inline constexpr std::size_t kMaxMessage = 8192;

std::vector<std::byte> encode(const Message& message);

// Code::invalid for what is no such message; Code::unsupported for another
// version. Names in it have been checked, as far as its kind has any.
Result<Message> decode(std::span<const std::byte> bytes);

}  // namespace muster::registries::embedded
