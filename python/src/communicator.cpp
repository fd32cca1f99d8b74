// Making a communicator, and what is asked of one. All that waits lets the
// interpreter's lock go and ends on Ctrl-C.

#include "communicator.h"

#include <string>
#include <vector>

#include "calls.h"
#include "proxy_handle.h"

namespace muster::python {
namespace {

using collectives::Communicator;
using Made = Result<std::unique_ptr<Communicator>>;

void join(PyCommunicator* self, const std::string& name, std::uint32_t rank, std::uint32_t size,
          nb::handle timeout, nb::handle registry, nb::handle manners) {
  collectives::CommunicatorOptions options;
  options.name = name;
  options.size = size;
  options.rank = rank;
  options.manners = to_manners(manners);
  Runtime& here = runtime();
  const RuntimeUse use;
  if (!registry.is_none()) options.registry = registry_at(to_text(registry, "registry"));
  const msg::Wait wait = to_wait(timeout);
  Made made = [&] {
    const Unlocked unlocked;
    return here.communicator(std::move(options), wait);
  }();
  new (self) PyCommunicator(unwrap(std::move(made)));
}

template <class Make>
std::unique_ptr<PyCommunicator> make_over(nb::handle proxy, Make make) {
  ProxyHandle& handle = to_handle(proxy);
  msg::Proxy& live = handle.live();
  if (handle.forks != fork_count()) {
    raise(Error(Code::invalid,
                "a proxy cannot be used in a child of its process; make a new one in the child"));
  }
  const RuntimeUse use;
  Made made = [&] {
    const Inside inside(handle);
    return make(live);
  }();
  return std::make_unique<PyCommunicator>(unwrap(std::move(made)));
}

std::unique_ptr<PyCommunicator> over(nb::handle proxy, const std::string& name,
                                     const std::vector<std::string>& members, nb::handle timeout,
                                     nb::handle said) {
  const collectives::Manners manners = to_manners(said);
  const msg::Wait wait = to_wait(timeout);
  return make_over(proxy, [&](msg::Proxy& live) {
    return Communicator::over(live, name, members, manners, wait);
  });
}

std::unique_ptr<PyCommunicator> over_type(nb::handle proxy, const std::string& name,
                                          const std::string& type, std::uint32_t size,
                                          nb::handle timeout, nb::handle said) {
  const collectives::Manners manners = to_manners(said);
  const msg::Wait wait = to_wait(timeout);
  return make_over(proxy, [&](msg::Proxy& live) {
    return Communicator::over_type(live, name, type, size, manners, wait);
  });
}

void close(const PyCommunicator& self) {
  if (!self.held()->is_of_this_process()) return;
  const Unlocked unlocked;
  self.held()->close();
}

nb::object send(const PyCommunicator& self, nb::handle array, std::uint32_t to, std::uint32_t tag,
                nb::handle timeout) {
  const Lent lent(array, false);
  const msg::Wait wait = to_wait(timeout, self.held()->closing());
  unwrap_ok(self.call([&](auto& here) { return here.send(lent.input(), to, tag, wait); }));
  return nb::none();
}

nb::object receive(const PyCommunicator& self, nb::handle array, std::uint32_t from,
                   std::uint32_t tag, nb::handle timeout) {
  const Lent lent(array, true);
  const msg::Wait wait = to_wait(timeout, self.held()->closing());
  unwrap_ok(self.call([&](auto& here) { return here.receive(lent.output(), from, tag, wait); }));
  return nb::borrow(array);
}

}  // namespace

collectives::Manners to_manners(nb::handle said) {
  collectives::Manners manners;
  manners.elastic = nb::cast<bool>(said["elastic"]);
  manners.reproducible = nb::cast<bool>(said["reproducible"]);
  manners.keep_input = nb::cast<bool>(said["keep_input"]);
  const nb::object patience = said["patience"];
  if (!patience.is_none()) manners.patience = to_duration(patience, "patience");
  const nb::object deadline = said["deadline"];
  if (!deadline.is_none()) manners.deadline = to_duration(deadline, "deadline");
  return manners;
}

std::shared_ptr<Communicator> PyCommunicator::live() const {
  sleep_if_closing();
  if (!held_->is_of_this_process()) {
    raise(Error(Code::invalid, "use a communicator: it belongs to the process that made it"));
  }
  std::shared_ptr<Communicator> here = held_->communicator();
  if (here == nullptr) raise(Error(Code::cancelled, "use a communicator: it was closed"));
  return here;
}

loop::Future<collectives::Outcome> PyCommunicator::tell(Communicator& here, Verdict& verdict) {
  constexpr auto kElement = collectives::Element::i32;
  return here.iall_reduce({&verdict.mine, 1, kElement}, {&verdict.anyone, 1, kElement},
                          collectives::Reduction::max);
}

void bind_communicator(nb::module_& module) {
  const auto none = [](const char* name) { return nb::arg(name).none() = nb::none(); };
  bind_operation(module);
  CommunicatorClass type(module, "Communicator");
  type.def("__init__", join, nb::arg("name"), nb::arg("rank"), nb::arg("size"),
           nb::arg("timeout").none(), nb::arg("registry").none(), nb::arg("manners"))
      .def_static("_over", over, nb::arg("proxy"), nb::arg("name"), nb::arg("members"),
                  nb::arg("timeout").none(), nb::arg("manners"))
      .def_static("_over_type", over_type, nb::arg("proxy"), nb::arg("name"), nb::arg("type"),
                  nb::arg("size"), nb::arg("timeout").none(), nb::arg("manners"))
      .def_prop_ro("rank", [](const PyCommunicator& self) { return self.live()->rank(); })
      .def_prop_ro("size", [](const PyCommunicator& self) { return self.live()->size(); })
      .def("member",
           [](const PyCommunicator& self, std::uint32_t rank) {
             if (rank >= self.live()->size()) {
               raise(Error(Code::invalid, "ask for a member: there is no such rank"));
             }
             return self.live()->member(rank);
           })
      .def("close", close)
      .def("send", send, nb::arg("array"), nb::arg("to"), nb::arg("tag") = 0, none("timeout"))
      .def("receive", receive, nb::arg("array"), nb::arg("source"), nb::arg("tag") = 0,
           none("timeout"))
      .def("lost", [](const PyCommunicator& self) { return self.live()->lost(); })
      .def("waiting_for", [](const PyCommunicator& self) { return self.live()->waiting_for(); })
      .def_prop_ro("completed", [](const PyCommunicator& self) { return self.live()->completed(); })
      .def_prop_ro("completed_before",
                   [](const PyCommunicator& self) { return self.live()->completed_before(); });
  bind_even_operations(type);
  bind_uneven_operations(type);
  bind_reshaping(type);
}

}  // namespace muster::python
