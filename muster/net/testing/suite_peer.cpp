// The other process of the process cases: a driver's peer, as its parent wants it.

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "muster/net/testing/child_process.h"
#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

std::vector<Subject>& known_subjects() {
  static std::vector<Subject> known;
  return known;
}

// Ends the process at once, as a crash would: the parent sees it by the code.
constexpr int kWrong = 3;

// Takes frames of `shape`, or if null of any, and of seeds from 0 on; ends the process at
// a wrong one.
void insist_on_frames(End& end, const ShapeOf& shape) {
  end.take = [&end, shape](wire::Frame& frame) {
    const std::size_t index = end.frame_count();
    const auto is_right = is_frame(frame, shape ? shape(index) : shape_of(frame), index);
    if (is_right) return;
    std::fprintf(stderr, "child: %s\n", is_right.message());
    _exit(kWrong);
  };
}

// What the parent may ask for, by name.
struct Behaviour {
  const char* name;
  void (*prepare)(End& end, std::unique_ptr<Stream>& stream);
};

const Behaviour kBehaviours[] = {
    {"echo", [](End& end, std::unique_ptr<Stream>&) { echo(end); }},
    // Frames of all kinds in both directions, without end.
    {"flood",
     [](End& end, std::unique_ptr<Stream>& stream) {
       insist_on_frames(end, mixed_shape);
       stream = std::make_unique<Stream>(end, kEndless, frames_of(mixed_shape, 0));
     }},
    // The same of bodies of up to some MiB.
    {"flood of bodies",
     [](End& end, std::unique_ptr<Stream>& stream) {
       insist_on_frames(end, nullptr);
       stream = std::make_unique<Stream>(end, kEndless, shared_bodies_for(end));
     }},
    // Large bodies to the parent, without end.
    {"pour",
     [](End& end, std::unique_ptr<Stream>& stream) {
       stream = std::make_unique<Stream>(end, kEndless, bodies_for(end));
     }},
    // Takes frames of 8 KiB, and answers each thousandth with an empty one.
    {"count",
     [](End& end, std::unique_ptr<Stream>&) {
       insist_on_frames(end, page_shape);
       end.take = [&end, check = end.take](wire::Frame& frame) {
         check(frame);
         if ((end.frame_count() + 1) % 1000 == 0) (void)end.send(wire::Frame());
       };
     }},
    // Ends as soon as the first bytes of a large body are there.
    {"exit",
     [](End& end, std::unique_ptr<Stream>&) {
       end.provide = [](const wire::Head&, std::size_t, std::uint64_t) -> WritableBuffer {
         _exit(0);
       };
     }},
};

const Behaviour& behaviour_of(const std::string& name) {
  for (const Behaviour& behaviour : kBehaviours) {
    if (name == behaviour.name) return behaviour;
  }
  std::abort();
}

const Subject& subject_of(const std::string& name) {
  for (const Subject& subject : known_subjects()) {
    if (name == subject.name) return subject;
  }
  std::abort();
}

// Lives until the parent says so, or dies.
class Peer final {
 public:
  Peer(const Subject& subject, const Behaviour& behaviour)
      : behaviour_(behaviour),
        rig_(make_loop_rig(Sides::together, subject.make_driver, subject.make_address)) {}

  void listen(LinePipe& parent) {
    host_ = std::make_unique<Host>(*rig_, rig_->address(), [this](End& end) { prepare(end); });
    parent.write_line(host_->address().to_string());
  }

  void dial(const std::string& address, LinePipe& parent) {
    const Rig::Side side = rig_->near();
    end_ = std::make_unique<End>(side.loop);
    const loop::Turn turn(side.loop);
    end_->connection = *side.driver.dial(*Address::parse(address), *end_);
    prepare(*end_);
    parent.write_line("dialed");
  }

 private:
  void prepare(End& end) {
    behaviour_.prepare(end, streams_.emplace_back());
    if (streams_.back()) streams_.back()->start();
  }

  const Behaviour& behaviour_;
  std::unique_ptr<Rig> rig_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<End> end_;
  std::list<std::unique_ptr<Stream>> streams_;
};

}  // namespace

bool add_subjects(std::vector<Subject> subjects) {
  for (Subject& subject : subjects) known_subjects().push_back(std::move(subject));
  return true;
}

// Arguments: the subject, the behaviour, and whom to dial if it shall not listen.
MUSTER_ROLE(driver_peer) {
  Peer peer(subject_of(parent.arguments.at(0)), behaviour_of(parent.arguments.at(1)));
  if (parent.arguments.size() > 2) {
    peer.dial(parent.arguments[2], parent.pipe);
  } else {
    peer.listen(parent.pipe);
  }
  (void)parent.pipe.read_line(std::chrono::hours(1));
  return 0;
}

}  // namespace muster::net::testing
