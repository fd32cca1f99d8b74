// The shm driver: processes of one user on one host.
//
// Frames go through rings in shared memory, one per direction; a doorbell is
// rung only where the peer sleeps. Bodies made in the arena are passed by
// reference and read in place by every receiver; other large bodies are copied
// once, by both sides at a time, or through the ring where the system forbids
// that. Peers meet over a Unix socket, which also tells of a peer's end.

#pragma once

#include <memory>

#include "muster/arena/arena.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::drivers {

struct ShmOptions {
  // False: never touch another process's memory, as where ptrace is forbidden.
  bool use_process_vm = true;
  // Of the memory for bodies that are passed by reference.
  arena::ArenaOptions arena{};
};

// Code::unsupported where the system has no such shared memory.
Result<std::unique_ptr<net::Driver>> make_shm_driver(loop::Loop& loop, ShmOptions options = {});

}  // namespace muster::drivers
