// What can be said about a communicator, and what it starts with.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/id.h"
#include "muster/collectives/plan.h"
#include "muster/collectives/whereabouts.h"
#include "muster/msg/registry.h"
#include "muster/net/driver.h"
#include "muster/net/token_source.h"

namespace muster::collectives {

class ChoiceTable;

// How a communicator behaves; those made from it do the same. `elastic` and `reproducible` are
// the same on all ranks: else the first operation names those who differ.
struct Manners {
  // Operations go on over the survivors when a member is lost: all of them
  // agree on whose contributions are in before any returns.
  bool elastic = false;
  // The same bits for the same input, ranks, hosts and drivers, whatever the
  // timing and wherever the numbers lie: contributions are taken in the order of
  // the ranks.
  bool reproducible = false;
  // In place operations keep a copy of their input, so that repeat() can do
  // them again. Elastic communicators always do.
  bool keep_input = false;
  // How long an operation may take before a log line names the ranks that have
  // not come. Once per operation.
  Duration patience = std::chrono::seconds(10);
  // How long an operation may take at all, from when it first has to wait; it
  // then fails on every rank. Also how long split(), dup(), an elastic
  // operation's recovery, and calls that are given no Wait of their own wait
  // for the other ranks. Code::timeout names those who have not come.
  Duration deadline = Duration::max();
};

struct CommunicatorOptions {
  // All members say the same name and size, and each a rank of its own.
  std::string name = {};
  Rank size = 1;
  Rank rank = 0;
  Manners manners = {};

  // All outlive the communicator and those made from it.
  msg::Registry* registry = nullptr;
  std::vector<net::Driver*> drivers = {};
  // The secret of the group, at least net::kMinToken bytes.
  std::vector<std::byte> token = {};
  // Instead of `token`, where it may be replaced: asked for each link that begins.
  std::shared_ptr<net::TokenSource> tokens = nullptr;
  // Where to be dialled. Empty: each driver's own, on this host only.
  std::vector<std::string> listen = {};

  // Links lose a silent peer after `silence`.
  Duration beat = std::chrono::seconds(1);
  Duration silence = std::chrono::milliseconds(2800);
  // False: never read another process's memory, as where ptrace is forbidden.
  bool use_process_vm = true;
  // False: messages over links even where memory could be shared.
  bool use_shared_memory = true;
  // Which method for what, the same on all ranks; null: ChoiceTable::standard().
  const ChoiceTable* choices = nullptr;
  // This member's, unlike any other that ever was. None: one is made. Set it where a run
  // under virtual time is to be the same again.
  Id id = {};
  // Which process it is that others watch to know whether this member has ended. None: this one.
  // Set it where many members under virtual time are to end one by one.
  Process process = {};
};

}  // namespace muster::collectives
