// The embedded registry: components of one user find each other on one host,
// with no server to start.
//
// Each group has a folder that only its owner can enter. Whichever process
// holds the lock in it serves; if that one dies, another does within
// milliseconds, and goes on from what the first had written down.

#pragma once

#include <memory>
#include <string>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"

namespace muster::registries {

struct EmbeddedOptions {
  // The folder that holds the groups' folders. Empty: $XDG_RUNTIME_DIR/muster,
  // or /tmp/muster-UID where there is none.
  std::string folder = {};
  // How long a connection may say nothing before it has announced itself.
  Duration stranger_patience = std::chrono::seconds(5);
  // How often the serving process looks whether its folder is still the one
  // that others find. Somebody may have tidied up.
  Duration folder_check = std::chrono::seconds(1);
};

// Makes the folder if it is not there. An error says why it cannot serve: a member would try
// again until it can.
Status prepare_folder(const std::string& folder);

// Needs the baton, as does the registry's end. The loop outlives the registry.
std::unique_ptr<msg::Registry> make_embedded_registry(loop::Loop& loop,
                                                      EmbeddedOptions options = {});

}  // namespace muster::registries
