// castor inspect: what a model folder holds.
#include <algorithm>
#include <cmath>

#include "cli/catalog.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "core/text.h"
#include "kernels/mf_sgd.h"
#include "programs/mf_model.h"

namespace castor::cli {
namespace {

constexpr std::size_t shown_biases = 5;

// One side of the model: users or items.
struct SideSummary {
  std::uint64_t rows = 0, untrained = 0, not_finite = 0;  // untrained: all factors 0
  double norm_mean = 0, norm_min = 0, norm_max = 0;       // of the trained rows
};

struct NamedBias {
  std::string id;
  float value = 0;
};

SideSummary summary_of(std::span<const float> values, std::span<const kernels::MfBias> biases,
                       std::uint32_t rows, std::uint32_t rank) {
  SideSummary side{.rows = rows};
  const std::size_t stride = kernels::mf_stride(rank);
  for (std::uint32_t r = 0; r < rows; ++r) {
    double square = 0;
    for (const float value : values.subspan(r * stride, rank)) {
      if (!std::isfinite(value)) side.not_finite += 1;
      square += double{value} * double{value};
    }
    if (r < biases.size() && !std::isfinite(biases[r].value)) side.not_finite += 1;
    if (square == 0) side.untrained += 1;
    if (square == 0 || !std::isfinite(square)) continue;
    const double norm = std::sqrt(square);
    side.norm_min = side.norm_min == 0 ? norm : std::min(side.norm_min, norm);
    side.norm_max = std::max(side.norm_max, norm);
    side.norm_mean += norm;
  }
  const std::uint64_t trained = side.rows - side.untrained;
  if (trained > 0) side.norm_mean /= static_cast<double>(trained);
  return side;
}

// The items of the greatest biases, or of the least.
std::vector<NamedBias> extreme_items(const programs::MfModel& model, bool greatest) {
  const auto& biases = model.factors.item_biases;
  std::vector<std::uint32_t> order(biases.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t shown = std::min(shown_biases, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown),
                            [&](std::uint32_t a, std::uint32_t b) {
                              const float x = biases[a].value, y = biases[b].value;
                              if (x != y) return greatest ? x > y : x < y;
                              return a < b;
                            });
  std::vector<NamedBias> named;
  for (std::size_t i = 0; i < shown; ++i) {
    named.push_back({model.items.text(order[i]), biases[order[i]].value});
  }
  return named;
}

struct Inspection {
  Json document;  // model.json
  SideSummary users, items;
  std::vector<NamedBias> best, worst;
  std::uint64_t seen = 0;
  std::uint64_t not_finite() const { return users.not_finite + items.not_finite; }
};

Json to_json(const SideSummary& side) {
  Json object;
  object.set("rows", side.rows).set("untrained", side.untrained);
  object.set("not_finite", side.not_finite).set("norm_mean", side.norm_mean);
  return object.set("norm_min", side.norm_min).set("norm_max", side.norm_max);
}

Json to_json(std::span<const NamedBias> biases) {
  Json list{Json::Array{}};
  for (const NamedBias& bias : biases) {
    list.push(Json().set("item", bias.id).set("bias", double{bias.value}));
  }
  return list;
}

Json to_json(const Inspection& found) {
  Json object;
  object.set("model", found.document);
  object.set("users", to_json(found.users)).set("items", to_json(found.items));
  if (!found.best.empty()) {
    object.set("best_items", to_json(found.best)).set("worst_items", to_json(found.worst));
  }
  object.set("seen_pairs", found.seen).set("finite", found.not_finite() == 0);
  return object;
}

std::string shown(const Json& value) {
  return value.as_string() != nullptr ? *value.as_string() : value.dump();
}

std::string short_number(const Json& object, std::string_view key) {
  const Result<double> value = object.number(key);
  return value ? text("{:.4f}", *value) : "?";
}

std::string shown_members(const Json* object) {
  std::string line;
  if (object == nullptr || object->as_object() == nullptr) return line;
  for (const auto& [key, value] : *object->as_object()) {
    if (key == "event" || key == "model") continue;
    const double* real = value.as_real();
    line += text("{}{} {}", line.empty() ? "" : ", ", key,
                 real != nullptr ? text("{:.6g}", *real) : shown(value));
  }
  return line;
}

// A paragraph with its label before the first line.
std::string wrapped_after(std::string_view label, std::string_view words) {
  std::string paragraph = wrapped(words, label.size(), 96);
  if (paragraph.empty()) return {};
  return paragraph.replace(0, label.size(), label);
}

std::string to_text(std::string_view name, const SideSummary& side) {
  std::string out = text("{:<10}{}", name, grouped(side.rows));
  if (side.untrained > 0) out += text(", {} of them never trained", grouped(side.untrained));
  return out + text("; lengths of factors {:.4g} on average, {:.4g} to {:.4g}\n", side.norm_mean,
                    side.norm_min, side.norm_max);
}

std::string to_text(std::string_view name, std::span<const NamedBias> biases) {
  std::string out(name);
  for (const NamedBias& bias : biases) out += text("  {} ({:+.3f})", bias.id, bias.value);
  return out + "\n";
}

std::string to_text(const Inspection& found, const std::string& path) {
  const Json& document = found.document;
  auto member = [&](std::string_view key) {
    const Json* value = document.find(key);
    return value == nullptr ? std::string("?") : shown(*value);
  };
  std::string out =
      text("model     {}: {} by castor {}\n", path, member("program"), member("castor"));
  out +=
      text("rank      {}{}{}\n", member("rank"), member("biases") == "true" ? ", with biases" : "",
           member("implicit") == "true" ? ", implicit" : "");
  out += to_text("users", found.users) + to_text("items", found.items);
  const Result<std::int64_t> ratings = document.integer("ratings");
  if (ratings) {
    out += text("trained   on {} ratings from {} to {}, mean {}\n",
                grouped(static_cast<std::uint64_t>(*ratings)), member("value_least"),
                member("value_most"), short_number(document, "mean"));
  }
  out += found.seen > 0 ? text("seen      {} pairs, left out by recommend\n", grouped(found.seen))
                        : "seen      not kept\n";
  if (!found.best.empty()) {
    out += to_text("best    ", found.best) + to_text("worst   ", found.worst);
  }
  out += wrapped_after("options   ", shown_members(document.find("options")));
  out += wrapped_after("metrics   ", shown_members(document.find("metrics")));
  return out + (found.not_finite() == 0
                    ? "numbers   all finite\n"
                    : text("numbers   {} are not finite\n", grouped(found.not_finite())));
}

class InspectCommand final : public Command {
 public:
  Spec spec() override {
    return {.description =
                "Opens a model folder, checks that its parts belong together and that every "
                "number is finite, and shows what it was trained on and how.",
            .examples = {"castor inspect model", "castor inspect model --json"},
            .positionals = {model_argument(&model_)}};
  }

  Status run(const Context& context) override {
    world::Files& files = context.world.files();
    Inspection found;
    TRY_AS(found.document, programs::load_model_json(files, model_));
    TRY_AS(const programs::MfModel model, programs::load_model(files, model_));
    const programs::MfFactors& factors = model.factors;
    found.users =
        summary_of(factors.user_rows.span(), factors.user_biases, model.users.size(), factors.rank);
    found.items =
        summary_of(factors.item_rows.span(), factors.item_biases, model.items.size(), factors.rank);
    found.best = extreme_items(model, true);
    found.worst = extreme_items(model, false);
    found.seen = model.seen.items.size();
    context.output.result(context.shared.json ? to_json(found).dump() + "\n"
                                              : to_text(found, model_));
    if (found.not_finite() == 0) return {};
    return error(Code::corrupt, "'{}' holds {} numbers that are not finite", model_,
                 found.not_finite());
  }

 private:
  std::string model_;
};

}  // namespace

std::unique_ptr<Command> make_inspect(std::string_view) {
  return std::make_unique<InspectCommand>();
}

}  // namespace castor::cli
