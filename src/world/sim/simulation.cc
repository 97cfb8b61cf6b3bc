#include "world/sim/simulation.h"

#include "core/bytes.h"
#include "core/check.h"

namespace castor::world::sim {

Simulation::Simulation(const SimulationOptions& options)
    : options_(options), rng_(StreamKey{.seed = options.seed}) {}

Duration Simulation::between(Duration least, Duration most) {
  CHECK(least <= most, "{} ns to {} ns", least.ns, most.ns);
  return {least.ns + static_cast<std::int64_t>(
                         rng_.below(static_cast<std::uint64_t>(most.ns - least.ns) + 1))};
}

void Simulation::note(std::string_view what, std::initializer_list<std::uint64_t> values) {
  digest_ = mix64(digest_ ^ static_cast<std::uint64_t>(now().ns));
  note_bytes(as_bytes(what));
  for (const std::uint64_t value : values) digest_ = mix64(digest_ ^ value);
}

void Simulation::note_bytes(std::span<const std::byte> bytes) {
  digest_ = mix64(digest_ ^ (std::uint64_t{bytes.size()} << 32 | crc32c(bytes)));
}

std::uint64_t Simulation::digest() const {
  Rng next = rng_;
  return mix64(digest_ ^ next.next());
}

bool Simulation::buggify(std::string_view site) {
  if (options_.buggify_sites <= 0) return false;
  auto found = sites_.find(site);
  if (found == sites_.end()) {
    found = sites_.emplace(std::string(site), chance(options_.buggify_sites)).first;
  }
  return found->second && chance(options_.buggify_chance);
}

void Simulation::mark(std::string_view site) {
  const auto found = marks_.find(site);
  if (found == marks_.end()) {
    marks_.emplace(std::string(site), 1);
  } else {
    ++found->second;
  }
}

std::uint64_t Simulation::marked(std::string_view site) const {
  const auto found = marks_.find(site);
  return found == marks_.end() ? 0 : found->second;
}

}  // namespace castor::world::sim
