#pragma once
// One run of a program: start or resume, clocks between consistent cuts, and at the cuts metrics,
// stopping rules and checkpoints.
//
// Thread: the one that calls run().
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/checkpoint.h"
#include "job/job.h"
#include "job/task_loop.h"

namespace castor::job {

class Run {
 public:
  Run(const TaskLoop::Parts& parts, const Log& log, const RunOptions& options)
      : parts_(parts), log_(log), options_(options) {}

  Result<Report> run();

 private:
  Status prepare();
  Status initialise();
  Status fill(TableId id);
  Status derive();
  Status resume(bool& resumed);
  Status restore(const std::string& path);
  void list_section_targets();
  Status apply_section(const Section& section);
  Status each_shard(std::string_view name, void (*hook)(void*, TaskContext&),
                    TaskContext::Mode mode);

  Status loop();
  Status run_until(Clock limit);
  Clock next_limit() const;
  bool wants_cut() const;  // called by the pool's threads
  bool is_stop_requested() const;

  Status measure();
  void judge(const MetricPoint& point);
  bool is_better(double value, double than) const;

  Status checkpoint_if_due();
  Status write_checkpoint();
  std::string metric_names() const;
  Json header() const;
  Status read_header(const Json& header);
  std::vector<Section> model_sections() const;
  std::uint64_t bytes_expected() const;

  const TaskLoop::Parts parts_;
  const Log& log_;
  const RunOptions& options_;

  Schedule schedule_;
  std::size_t driving_ = 0;
  Clock metric_every_ = 1;
  Clock clock_ = 0;  // clocks done
  Report report_;
  std::optional<StopReason> stop_;
  std::optional<double> best_;
  int without_improvement_ = 0;
  std::vector<Section> best_sections_;  // keep_best: the model at best_clock, unless that is now
  Instant last_checkpoint_;
  // Where each section of a checkpoint belongs, by name.
  std::map<std::string, std::function<Status(ByteReader&)>> targets_;
};

}  // namespace castor::job
