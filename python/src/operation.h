// Operations of a communicator, under way or over, and what they share.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "binding.h"
#include "lent.h"
#include "muster/collectives/communicator.h"
#include "notifier.h"
#include "process.h"
#include "reductions.h"

namespace muster::python {

// What an operation was called with, and gives: theirs until it is over.
struct Lending {
  std::vector<Kept> kept;
  std::vector<Buffer> arena = {};  // Of these, what peers read where it lies.
  Kept value = nullptr;
  std::shared_ptr<Verdict> verdict = nullptr;
};

// What all operations of one communicator share. Any thread.
class Held {
 public:
  explicit Held(std::shared_ptr<collectives::Communicator> communicator);
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  // Null once it is closed. Who has it may be inside: it lives until the last has come out.
  std::shared_ptr<collectives::Communicator> communicator() const;
  // Ends what waits inside, and says goodbye. Without the interpreter's lock.
  void close();
  std::stop_token closing() const { return closing_.get_token(); }
  bool is_of_this_process() const;

 private:
  const RuntimeUse use_;
  const std::uint32_t forks_;
  mutable std::mutex mutex_;
  std::shared_ptr<collectives::Communicator> communicator_;
  std::stop_source closing_;
};

class PyOperation {
 public:
  // `told`: where there is a verdict, the operation by which the ranks tell each other.
  PyOperation(std::shared_ptr<Held> held, loop::Loop& loop,
              loop::Future<collectives::Outcome> future, Lending lending,
              std::optional<loop::Future<collectives::Outcome>> told = std::nullopt);

  bool is_done() const;
  nb::object result(nb::handle timeout) const;
  // Elastic: whose contributions are in; None if all are. Waits for nothing.
  nb::object contributors() const;
  void notify(const Notifier& notifier, std::uint64_t token) const;

  // For collected.h: what its function has raised, whose traceback may well lead here.
  template <class Visit>
  int each_held(Visit visit) const {
    return verdict_ ? visit(verdict_->raised.get()) : 0;
  }
  void let_go() {
    if (verdict_) verdict_->raised.reset();
  }

 private:
  // Guarded by the baton.
  struct State {
    std::optional<Result<collectives::Outcome>> first;  // While `told` is awaited.
    std::optional<Result<collectives::Outcome>> result;
    std::vector<std::function<void()>> actions;
    void end(Result<collectives::Outcome> with);
  };
  Result<collectives::Outcome> outcome() const;
  void raise_verdict() const;
  loop::Loop& loop() const;

  std::shared_ptr<Held> held_;
  loop::Loop* loop_;  // The process's, which outlives all but the interpreter.
  std::shared_ptr<State> state_;
  Kept value_;
  std::shared_ptr<Verdict> verdict_;
};

void bind_operation(nb::module_& module);

}  // namespace muster::python
