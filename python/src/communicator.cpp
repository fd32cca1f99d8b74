// Collectives on arrays. All that waits lets the interpreter's lock go and ends
// on Ctrl-C; the operation itself then goes on, and keeps its arrays until it is over.

#include "communicator.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "calls.h"
#include "errors.h"
#include "muster/collectives/communicator.h"
#include "muster/msg/proxy_wait.h"
#include "notifier.h"
#include "process.h"
#include "proxy_handle.h"

namespace muster::python {
namespace {

using collectives::Element;
using collectives::Input;
using collectives::Outcome;
using collectives::Output;
using collectives::Reduction;

std::optional<Element> element_of(char kind, Py_ssize_t size) {
  if (kind == 'i' && size == 1) return Element::i8;
  if ((kind == 'u' || kind == 'b') && size == 1) return Element::u8;
  if (kind == 'i' && size == 4) return Element::i32;
  if (kind == 'i' && size == 8) return Element::i64;
  if (kind == 'f' && size == 2) return Element::f16;
  if (kind == 'f' && size == 4) return Element::f32;
  if (kind == 'f' && size == 8) return Element::f64;
  return std::nullopt;
}

// An array's memory for the time of an operation. Of no array: nothing at all.
class Lent {
 public:
  Lent(nb::handle array, bool writes) {
    if (array.is_none()) return;
    const nb::object dtype = array.attr("dtype");
    const auto kind = nb::cast<std::string>(dtype.attr("kind")).at(0);
    const auto element = element_of(kind, nb::cast<Py_ssize_t>(dtype.attr("itemsize")));
    if (!element || !nb::cast<bool>(dtype.attr("isnative"))) {
      raise(Error(Code::unsupported,
                  "a collective: arrays are of int8, uint8, int32, int64, float16, float32 or "
                  "float64; convert with astype()"));
    }
    element_ = *element;
    // Both are let go with the interpreter's lock, wherever that is.
    owner_ = std::shared_ptr<PyObject>(array.inc_ref().ptr(), bury);
    view_ = std::shared_ptr<PyObject>(PyMemoryView_FromObject(array.ptr()), bury);
    if (view_ == nullptr) throw nb::python_error();
    const Py_buffer* view = PyMemoryView_GET_BUFFER(view_.get());
    if (PyBuffer_IsContiguous(view, 'C') == 0 || (writes && view->readonly != 0)) {
      raise(Error(Code::invalid,
                  writes ? "a collective: what is written must be a writable array in C order"
                         : "a collective: an array must be in C order; see "
                           "numpy.ascontiguousarray()"));
    }
    data_ = view->buf;
    count_ = static_cast<std::uint64_t>(view->len) / collectives::size_of(element_);
  }

  Input input() const { return {data_, count_, element_}; }
  Output output() const { return {data_, count_, element_}; }
  // What must live as long as the operation.
  std::vector<std::shared_ptr<PyObject>> keepers() const { return {view_, owner_}; }

 private:
  Element element_ = Element::u8;
  void* data_ = nullptr;
  std::uint64_t count_ = 0;
  std::shared_ptr<PyObject> owner_;
  std::shared_ptr<PyObject> view_;
};

Reduction to_reduction(nb::handle name) {
  const std::string word = nb::cast<std::string>(name);
  if (word == "sum") return Reduction::sum;
  if (word == "product") return Reduction::product;
  if (word == "min") return Reduction::min;
  if (word == "max") return Reduction::max;
  if (word == "mean") return Reduction::mean;
  if (word == "and") return Reduction::logical_and;
  if (word == "or") return Reduction::logical_or;
  raise(Error(Code::invalid, "a reduction is sum, product, min, max, mean, and, or: " + word));
}

// What all operations of one communicator share.
struct Held {
  const RuntimeUse use;
  std::unique_ptr<collectives::Communicator> communicator;
  std::uint32_t forks = fork_count();
  ~Held() {
    if (forks != fork_count() || is_closing()) static_cast<void>(communicator.release());
  }
};

// An operation that is under way, or over.
class PyOperation {
 public:
  PyOperation(std::shared_ptr<Held> held, loop::Future<Outcome> future,
              std::vector<std::shared_ptr<PyObject>> keepers, nb::object value)
      : held_(std::move(held)),
        loop_(&held_->communicator->loop()),
        state_(std::make_shared<State>()),
        value_(std::move(value)) {
    future.then([state = state_, keepers = std::move(keepers)](Result<Outcome> result) mutable {
      keepers.clear();
      state->result = std::move(result);
      for (const auto& action : std::exchange(state->actions, {})) action();
    });
  }

  bool is_done() const {
    const loop::Turn turn(loop());
    return state_->result.has_value();
  }

  nb::object result(nb::handle timeout) const {
    const msg::Wait wait = to_wait(timeout);
    loop::Loop& here = loop();
    const auto waited = [&] {
      const Unlocked unlocked;
      return msg::internal::wait_for(here, wait, [&] { return state_->result.has_value(); });
    }();
    if (waited != msg::internal::Waited::done) {
      raise(msg::internal::why_not(waited, "wait for a collective"));
    }
    const Result<Outcome> outcome = [&] {
      const loop::Turn turn(loop());
      return *state_->result;
    }();
    if (!outcome) raise(outcome.error());
    return value_;
  }

  void notify(const Notifier& notifier, std::uint64_t token) const {
    const loop::Turn turn(loop());
    if (state_->result) return notifier.action(token)();
    state_->actions.push_back(notifier.action(token));
  }

 private:
  struct State {
    std::optional<Result<Outcome>> result;
    std::vector<std::function<void()>> actions;
  };
  // The process's, which outlives all but the interpreter.
  loop::Loop& loop() const {
    sleep_if_closing();
    if (is_closing()) raise(Error(Code::cancelled, "use an operation: the interpreter is ending"));
    return *loop_;
  }

  std::shared_ptr<Held> held_;
  loop::Loop* loop_;
  std::shared_ptr<State> state_;
  nb::object value_;
};

class PyCommunicator {
 public:
  explicit PyCommunicator(std::unique_ptr<collectives::Communicator> communicator)
      : held_(std::make_shared<Held>()) {
    held_->communicator = std::move(communicator);
  }

  collectives::Communicator& live() const {
    sleep_if_closing();
    if (held_->forks != fork_count()) {
      raise(Error(Code::invalid, "use a communicator: it belongs to the process that made it"));
    }
    if (held_->communicator == nullptr) {
      raise(Error(Code::cancelled, "use a communicator: it was closed"));
    }
    return *held_->communicator;
  }

  void close() {
    if (held_->forks != fork_count()) return;
    std::unique_ptr<collectives::Communicator> gone = std::move(held_->communicator);
    const Unlocked unlocked;
    gone.reset();
  }

  // Begins `call`, which has the arrays for as long as it takes; `value` is its result.
  template <class Call>
  nb::object begin(const Lent& from, const Lent& to, nb::object value, Call call) const {
    std::vector<std::shared_ptr<PyObject>> keepers = from.keepers();
    for (auto& keeper : to.keepers()) keepers.push_back(keeper);
    collectives::Communicator& here = live();
    loop::Future<Outcome> future = [&] {
      const Unlocked unlocked;
      return call(here);
    }();
    return nb::cast(std::make_unique<PyOperation>(held_, std::move(future), std::move(keepers),
                                                  std::move(value)));
  }

 private:
  std::shared_ptr<Held> held_;
};

collectives::Manners to_manners(bool elastic, bool reproducible, bool keep_input,
                                nb::handle deadline) {
  collectives::Manners manners;
  manners.elastic = elastic;
  manners.reproducible = reproducible;
  manners.keep_input = keep_input;
  if (const auto seconds = to_seconds(deadline)) {
    manners.deadline =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
  }
  return manners;
}

void join(PyCommunicator* self, const std::string& name, std::uint32_t rank, std::uint32_t size,
          nb::handle timeout, nb::handle registry, bool elastic, bool reproducible, bool keep_input,
          nb::handle deadline) {
  collectives::CommunicatorOptions options;
  options.name = name;
  options.size = size;
  options.rank = rank;
  options.manners = to_manners(elastic, reproducible, keep_input, deadline);
  Runtime& here = runtime();
  if (!registry.is_none()) options.registry = registry_at(nb::cast<std::string>(registry));
  const msg::Wait wait = to_wait(timeout);
  Result<std::unique_ptr<collectives::Communicator>> made = [&] {
    const Unlocked unlocked;
    return here.communicator(std::move(options), wait);
  }();
  new (self) PyCommunicator(unwrap(std::move(made)));
}

std::unique_ptr<PyCommunicator> over(nb::object proxy, const std::string& name,
                                     const std::vector<std::string>& members, nb::handle timeout,
                                     bool elastic, bool reproducible, bool keep_input,
                                     nb::handle deadline) {
  ProxyHandle& handle = *nb::inst_ptr<ProxyHandle>(proxy);
  msg::Proxy& live = handle.live();
  const collectives::Manners manners = to_manners(elastic, reproducible, keep_input, deadline);
  const msg::Wait wait = to_wait(timeout);
  Result<std::unique_ptr<collectives::Communicator>> made = [&] {
    const Inside inside(handle);
    return collectives::Communicator::over(live, name, members, manners, wait);
  }();
  return std::make_unique<PyCommunicator>(unwrap(std::move(made)));
}

template <class Make>
nb::object derive(const PyCommunicator& self, Make make) {
  collectives::Communicator& here = self.live();
  Result<std::unique_ptr<collectives::Communicator>> made = [&] {
    const Unlocked unlocked;
    return make(here);
  }();
  if (!made) raise(made.error());
  if (*made == nullptr) return nb::none();
  return nb::cast(std::make_unique<PyCommunicator>(*std::move(made)));
}

nb::object send(const PyCommunicator& self, nb::handle array, std::uint32_t to, std::uint32_t tag,
                nb::handle timeout) {
  collectives::Communicator& here = self.live();
  const Lent lent(array, false);
  const msg::Wait wait = to_wait(timeout);
  const Status sent = [&] {
    const Unlocked unlocked;
    return here.send(lent.input(), to, tag, wait);
  }();
  unwrap_ok(sent);
  return nb::none();
}

nb::object receive(const PyCommunicator& self, nb::handle array, std::uint32_t from,
                   std::uint32_t tag, nb::handle timeout) {
  collectives::Communicator& here = self.live();
  const Lent lent(array, true);
  const msg::Wait wait = to_wait(timeout);
  const Status came = [&] {
    const Unlocked unlocked;
    return here.receive(lent.output(), from, tag, wait);
  }();
  unwrap_ok(came);
  return nb::borrow(array);
}

using Class = nb::class_<PyCommunicator>;

// Each begins an operation and gives it; python/muster/collectives.py waits.
void bind_operations(Class& type) {
  const auto none = [](const char* name) { return nb::arg(name).none() = nb::none(); };
  type.def("_barrier",
           [](const PyCommunicator& self) {
             const Lent nothing(nb::none(), false);
             return self.begin(nothing, nothing, nb::none(),
                               [](auto& here) { return here.ibarrier(); });
           })
      .def("_broadcast",
           [](const PyCommunicator& self, nb::object data, std::uint32_t root) {
             const Lent lent(data, true);
             return self.begin(lent, lent, data,
                               [&](auto& here) { return here.ibroadcast(lent.output(), root); });
           })
      .def(
          "_reduce",
          [](const PyCommunicator& self, nb::handle mine, nb::object result, nb::handle reduction,
             std::uint32_t root) {
            const Lent from(mine, false);
            const Lent to(result, true);
            const Reduction how = to_reduction(reduction);
            return self.begin(from, to, result, [&](auto& here) {
              return here.ireduce(from.input(), to.output(), how, root);
            });
          },
          nb::arg("mine"), none("result"), nb::arg("reduction"), nb::arg("root"))
      .def(
          "_all_reduce",
          [](const PyCommunicator& self, nb::handle mine, nb::object result, nb::handle reduction) {
            const Lent from(mine, false);
            const Lent to(result, true);
            const Reduction how = to_reduction(reduction);
            return self.begin(from, to, result, [&](auto& here) {
              return here.iall_reduce(from.input(), to.output(), how);
            });
          })
      .def(
          "_scatter",
          [](const PyCommunicator& self, nb::handle all, nb::object mine, std::uint32_t root) {
            const Lent from(all, false);
            const Lent to(mine, true);
            return self.begin(from, to, mine, [&](auto& here) {
              return here.iscatter(from.input(), to.output(), root);
            });
          },
          none("all"), nb::arg("mine"), nb::arg("root"))
      .def(
          "_gather",
          [](const PyCommunicator& self, nb::handle mine, nb::object all, std::uint32_t root) {
            const Lent from(mine, false);
            const Lent to(all, true);
            return self.begin(from, to, all, [&](auto& here) {
              return here.igather(from.input(), to.output(), root);
            });
          },
          nb::arg("mine"), none("all"), nb::arg("root"))
      .def("_all_gather",
           [](const PyCommunicator& self, nb::handle mine, nb::object all) {
             const Lent from(mine, false);
             const Lent to(all, true);
             return self.begin(from, to, all, [&](auto& here) {
               return here.iall_gather(from.input(), to.output());
             });
           })
      .def("_reduce_scatter",
           [](const PyCommunicator& self, nb::handle all, nb::object mine, nb::handle reduction) {
             const Lent from(all, false);
             const Lent to(mine, true);
             const Reduction how = to_reduction(reduction);
             return self.begin(from, to, mine, [&](auto& here) {
               return here.ireduce_scatter(from.input(), to.output(), how);
             });
           })
      .def("_all_to_all", [](const PyCommunicator& self, nb::handle mine, nb::object theirs) {
        const Lent from(mine, false);
        const Lent to(theirs, true);
        return self.begin(from, to, theirs,
                          [&](auto& here) { return here.iall_to_all(from.input(), to.output()); });
      });
}

}  // namespace

void bind_communicator(nb::module_& module) {
  nb::class_<PyOperation>(module, "Operation", "A collective that is under way, or over.")
      .def("done", &PyOperation::is_done, "True once result() need not wait.")
      .def("result", &PyOperation::result, nb::arg("timeout").none() = nb::none(),
           "Waits for its end, and gives the array that it has written.")
      .def("_notify", &PyOperation::notify)
      .def("__await__", [](nb::object self) {
        return nb::module_::import_("muster._aio").attr("future")(self).attr("__await__")();
      });

  Class type(module, "Communicator");
  type.def("__init__", join, nb::arg("name"), nb::arg("rank"), nb::arg("size"),
           nb::arg("timeout").none() = nb::none(), nb::kw_only(),
           nb::arg("registry").none() = nb::none(), nb::arg("elastic") = false,
           nb::arg("reproducible") = false, nb::arg("keep_input") = false,
           nb::arg("deadline").none() = nb::none())
      .def_static("_over", over, nb::arg("proxy"), nb::arg("name"), nb::arg("members"),
                  nb::arg("timeout").none(), nb::arg("elastic"), nb::arg("reproducible"),
                  nb::arg("keep_input"), nb::arg("deadline").none())
      .def_prop_ro("rank", [](const PyCommunicator& self) { return self.live().rank(); })
      .def_prop_ro("size", [](const PyCommunicator& self) { return self.live().size(); })
      .def("member",
           [](const PyCommunicator& self, std::uint32_t rank) { return self.live().member(rank); })
      .def("close", &PyCommunicator::close)
      .def("send", send, nb::arg("array"), nb::arg("to"), nb::arg("tag") = 0,
           nb::arg("timeout").none() = nb::none())
      .def("receive", receive, nb::arg("array"), nb::arg("source"), nb::arg("tag") = 0,
           nb::arg("timeout").none() = nb::none())
      .def("_split",
           [](const PyCommunicator& self, int colour, int key) {
             return derive(self, [&](auto& here) { return here.split(colour, key); });
           })
      .def("_dup",
           [](const PyCommunicator& self) {
             return derive(self, [](auto& here) { return here.dup(); });
           })
      .def(
          "_shrink",
          [](const PyCommunicator& self, nb::handle timeout) {
            const msg::Wait wait = to_wait(timeout);
            return derive(self, [&](auto& here) { return here.shrink(wait); });
          },
          nb::arg("timeout").none())
      .def("lost", [](const PyCommunicator& self) { return self.live().lost(); })
      .def("waiting_for", [](const PyCommunicator& self) { return self.live().waiting_for(); })
      .def_prop_ro("completed", [](const PyCommunicator& self) { return self.live().completed(); });
  bind_operations(type);
}

}  // namespace muster::python
