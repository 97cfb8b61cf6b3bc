#include "core/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace castor {
namespace {

TEST(Log, PassesEventsAtOrAboveItsLevel) {
  std::vector<std::string> lines;
  const Log log(Level::warn, [&](Level level, std::string_view event, const Json& fields) {
    lines.push_back(log_line(level, event, fields));
  });
  log.debug("ps.read");
  log.info("job.started", {{"workers", 2}});
  log.warn("job.checkpoint_failed", {{"reason", "disk full"}, {"clock", 12}, {"share", 0.5}});
  log.error("job.lost");
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "warn job.checkpoint_failed reason=\"disk full\" clock=12 share=0.5",
                       "error job.lost"}));
}

TEST(Log, DiscardsEverythingByDefault) { Log().error("nobody.listens", {{"a", 1}}); }

TEST(Log, ALineStaysOneLine) {
  const std::string line = log_line(Level::info, "a.b", Json().set("reason", "two\nlines\x1b[31m"));
  EXPECT_EQ(line, "info a.b reason=\"two\\nlines\\u001b[31m\"");
}

}  // namespace
}  // namespace castor
