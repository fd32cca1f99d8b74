// Dispatch: a stream of tasks to whichever workers are idle.
//
//   Dispatch dispatch(proxy, {.workers = Audience::type("worker")});
//   dispatch.run(next_task, take_result, seconds(60));

#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "muster/base/result.h"
#include "muster/msg/message.h"
#include "muster/msg/peer_table.h"
#include "muster/msg/proxy.h"
#include "muster/msg/wait.h"

namespace muster::msg {

struct DispatchOptions {
  Audience workers = Audience::all();
  // Tasks that a worker has at once. 2 keeps it busy while the next is under way.
  std::size_t per_worker = 1;
  // How often a task is given to somebody when those who had it are lost.
  int max_tries = 3;
};

struct DispatchReport {
  std::size_t done = 0;
  std::size_t failed = 0;       // Handlers that failed, or tasks that nobody survived.
  std::size_t given_again = 0;  // To another worker, after the first was lost.
};

class Dispatch {
 public:
  // The next task, whose destination means nothing; none: there are no more.
  using Next = std::function<std::optional<Draft>()>;
  // What came of one. Both are called on the thread that is in run().
  using Done = std::function<void(const Draft& task, Result<Message> result)>;

  Dispatch(Proxy& proxy, DispatchOptions options) : proxy_(proxy), options_(std::move(options)) {}

  // Gives each task to the worker with the fewest, of those to the one that
  // has been idle longest. Workers that come join in. Returns when all tasks
  // have a result. Code::timeout, Code::cancelled and the proxy's end cancel those
  // that are under way, which then have none.
  Result<DispatchReport> run(const Next& next, const Done& done, const Wait& wait = {});

 private:
  class Run;

  Proxy& proxy_;
  DispatchOptions options_;
};

}  // namespace muster::msg
