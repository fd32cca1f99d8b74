// The verbs of the muster command, one function each.

#pragma once

namespace CLI {
class App;
}

namespace muster::app {

class Exit;

// `muster doctor`: which drivers this machine has, and how fast they are.
void add_doctor(CLI::App& app, Exit& exit);

// The other process of `muster doctor --measure`. Not for people.
void add_measure_peer(CLI::App& app, Exit& exit);

// `muster peers`: who is in a group, and how each does.
void add_peers(CLI::App& app, Exit& exit);

// `muster token`: the secret that all members of a cluster know.
void add_token(CLI::App& app, Exit& exit);

}  // namespace muster::app
