#include "programs/mf_model.h"

#include <algorithm>
#include <cmath>

#include "data/npy.h"
#include "kernels/mf_sgd.h"
#include "programs/mf_errors.h"

namespace castor::programs {
namespace {

constexpr std::string_view program_name = "mf";
constexpr std::int64_t format_version = 1;
constexpr std::uint64_t json_bytes_max = 16u << 20;

// The checksum of an array: of its rows without padding.
std::uint32_t checksum(std::span<const float> values, std::size_t rank, std::size_t stride) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < values.size(); at += stride) {
    sum = crc32c(std::as_bytes(values.subspan(at, rank)), sum);
  }
  return sum;
}
template <class T>
std::uint32_t checksum(std::span<const T> values) {
  return crc32c(std::as_bytes(values));
}

// Of the ids in their order, each with a line end: what the file holds when no id needs an escape.
std::uint32_t checksum(const data::IdMap& ids) {
  std::uint32_t sum = 0;
  std::string line;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    line.clear();
    ids.append_text(i, line);
    line += '\n';
    sum = crc32c(as_bytes(line), sum);
  }
  return sum;
}

std::vector<float> values_of(const std::vector<kernels::MfBias>& biases) {
  std::vector<float> values;
  for (const kernels::MfBias& bias : biases) values.push_back(bias.value);
  return values;
}

struct Folder {
  world::Files& files;
  const std::string& path;
  std::string file(std::string_view name) const { return world::joined_path(path, name); }
};

Status check_sum(const Json& sums, std::string_view name, std::uint32_t found) {
  TRY_AS(const std::int64_t expected, sums.integer(name));
  if (expected == found) return {};
  return error(Code::corrupt, "{} does not belong to model.json: its checksum is {}, not {}", name,
               found, expected);
}

Status save_ids(const Folder& folder, std::string_view name, const data::IdMap& ids, Json& sums) {
  sums.set(std::string(name), checksum(ids));
  return ids.save(folder.files, folder.file(name));
}

Result<data::IdMap> load_ids(const Folder& folder, std::string_view name, std::uint32_t count,
                             const Json& sums) {
  TRY_AS(data::IdMap ids, data::IdMap::load(folder.files, folder.file(name)));
  if (ids.size() != count) {
    return error(Code::corrupt, "{} holds {} ids, model.json says {}", name, ids.size(), count);
  }
  TRY(check_sum(sums, name, checksum(ids)));
  return ids;
}

Status save_rows(const Folder& folder, std::string_view name, const AlignedVector<float>& rows,
                 std::uint32_t rank, Json& sums) {
  const std::size_t stride = kernels::mf_stride(rank);
  sums.set(std::string(name), checksum(rows.span(), rank, stride));
  return data::write_npy<float>(folder.files, folder.file(name), rows.span(),
                                {.rows = rows.size() / stride, .cols = rank, .stride = stride},
                                true);
}

template <class T>
Status save_values(const Folder& folder, std::string_view name, const std::vector<T>& values,
                   Json& sums) {
  sums.set(std::string(name), checksum(std::span<const T>(values)));
  return data::write_npy<T>(folder.files, folder.file(name), std::span<const T>(values), true);
}

Result<AlignedVector<float>> load_rows(const Folder& folder, std::string_view name,
                                       std::uint32_t count, std::uint32_t rank, const Json& sums) {
  TRY_AS(auto reader, data::NpyReader::open(folder.files, folder.file(name)));
  if (reader.shape().dimensions != 2 || reader.shape().rows != count ||
      reader.shape().cols != rank) {
    return error(Code::corrupt, "{} is {} x {}, model.json says {} x {}", folder.file(name),
                 reader.shape().rows, reader.shape().cols, count, rank);
  }
  const std::size_t stride = kernels::mf_stride(rank);
  AlignedVector<float> rows(std::size_t{count} * stride);
  TRY(reader.read_rows(rows.span(), count, stride));
  TRY(check_sum(sums, name, checksum(rows.span(), rank, stride)));
  return rows;
}

template <class T>
Result<std::vector<T>> load_values(const Folder& folder, std::string_view name, const Json& sums) {
  TRY_AS(auto array, data::read_npy<T>(folder.files, folder.file(name)));
  TRY(check_sum(sums, name, checksum(std::span<const T>(array.values))));
  return std::move(array.values);
}

Result<std::vector<kernels::MfBias>> load_biases(const Folder& folder, std::string_view name,
                                                 std::uint32_t count, const Json& sums) {
  TRY_AS(const auto values, load_values<float>(folder, name, sums));
  if (values.size() != count) {
    return error(Code::corrupt, "{} has {} values, not {}", folder.file(name), values.size(),
                 count);
  }
  std::vector<kernels::MfBias> biases;
  for (const float value : values) biases.push_back({value, 1});
  return biases;
}

Json document_of(const MfModel& model, std::string_view castor_version, Json sums) {
  Json document;
  document.set("program", program_name).set("format", format_version).set("castor", castor_version);
  document.set("rank", model.factors.rank).set("users", model.users.size());
  document.set("items", model.items.size()).set("ratings", model.ratings);
  document.set("biases", !model.factors.user_biases.empty())
      .set("implicit", model.factors.implicit);
  document.set("mean", double{model.factors.mean}).set("seen", !model.seen.offsets.empty());
  document.set("value_least", double{model.value_least})
      .set("value_most", double{model.value_most});
  document.set("options", model.options).set("metrics", model.metrics);
  return document.set("checksums", std::move(sums));
}

Result<std::uint32_t> count_of(const Json& document, std::string_view key, std::int64_t most) {
  TRY_AS(const std::int64_t value, document.integer(key));
  if (value < 0 || value > most) return error(Code::corrupt, "'{}' is {}", key, value);
  return static_cast<std::uint32_t>(value);
}

Result<bool> flag_of(const Json& document, std::string_view key) {
  const Json* member = document.find(key);
  if (member != nullptr && member->as_bool() != nullptr) return *member->as_bool();
  return error(Code::corrupt, "'{}' is missing, or neither true nor false", key);
}

Status check_seen(const MfModel& model) {
  const SeenPairs& seen = model.seen;
  bool legal = seen.offsets.size() == std::size_t{model.users.size()} + 1 &&
               seen.offsets.front() == 0 &&
               seen.offsets.back() == static_cast<std::int64_t>(seen.items.size()) &&
               std::ranges::is_sorted(seen.offsets);
  for (const std::uint32_t item : seen.items) legal = legal && item < model.items.size();
  if (!legal)
    return error(Code::corrupt, "seen_offsets.npy and seen_items.npy do not fit the model");
  return {};
}

Result<MfModel> load_parts(const Folder& folder, const Json& document) {
  MfModel model;
  MfFactors& factors = model.factors;
  TRY_AS(factors.rank, count_of(document, "rank", kernels::mf_rank_max));
  if (factors.rank == 0) return error(Code::corrupt, "'rank' is 0");
  const Json* sums = document.find("checksums");
  if (sums == nullptr) return error(Code::corrupt, "'checksums' is missing");
  TRY_AS(const std::uint32_t users, count_of(document, "users", data::IdMap::size_max));
  TRY_AS(const std::uint32_t items, count_of(document, "items", data::IdMap::size_max));
  TRY_AS(model.users, load_ids(folder, "users.txt", users, *sums));
  TRY_AS(model.items, load_ids(folder, "items.txt", items, *sums));
  TRY_AS(factors.user_rows,
         load_rows(folder, "user_factors.npy", model.users.size(), factors.rank, *sums));
  TRY_AS(factors.item_rows,
         load_rows(folder, "item_factors.npy", model.items.size(), factors.rank, *sums));
  TRY_AS(const bool has_biases, flag_of(document, "biases"));
  TRY_AS(const bool has_seen, flag_of(document, "seen"));
  TRY_AS(factors.implicit, flag_of(document, "implicit"));
  if (has_biases) {
    TRY_AS(factors.user_biases, load_biases(folder, "user_bias.npy", model.users.size(), *sums));
    TRY_AS(factors.item_biases, load_biases(folder, "item_bias.npy", model.items.size(), *sums));
  }
  if (has_seen) {
    TRY_AS(model.seen.offsets, load_values<std::int64_t>(folder, "seen_offsets.npy", *sums));
    TRY_AS(model.seen.items, load_values<std::uint32_t>(folder, "seen_items.npy", *sums));
    TRY(check_seen(model));
  }
  TRY_AS(const double mean, document.number("mean"));
  TRY_AS(const double least, document.number("value_least"));
  TRY_AS(const double most, document.number("value_most"));
  factors.mean = static_cast<float>(mean);
  model.value_least = static_cast<float>(least);
  model.value_most = static_cast<float>(most);
  TRY_AS(const std::int64_t ratings, document.integer("ratings"));
  model.ratings = static_cast<std::uint64_t>(ratings);
  if (const Json* options = document.find("options")) model.options = *options;
  if (const Json* metrics = document.find("metrics")) model.metrics = *metrics;
  return model;
}

}  // namespace

std::span<const std::uint32_t> SeenPairs::of(std::uint32_t user) const {
  if (offsets.empty()) return {};
  const auto first = static_cast<std::size_t>(offsets[user]);
  return std::span(items).subspan(first, static_cast<std::size_t>(offsets[user + 1]) - first);
}

SeenPairs seen_pairs(const MfInput& input) {
  SeenPairs seen;
  seen.offsets.assign(std::size_t{input.users.count()} + 1, 0);
  for (std::uint32_t position = 0; position < input.users.count(); ++position) {
    seen.offsets[input.users.index_at[position] + 1] = input.users.degree[position];
  }
  for (std::size_t u = 1; u < seen.offsets.size(); ++u) seen.offsets[u] += seen.offsets[u - 1];
  seen.items.resize(input.train.size());
  std::vector<std::int64_t> next(seen.offsets.begin(), seen.offsets.end() - 1);
  for (const kernels::MfRating& rating : input.train.all()) {
    const auto at = next[input.users.index_at[rating.user]]++;
    seen.items[static_cast<std::size_t>(at)] = input.items.index_at[rating.item];
  }
  for (std::uint32_t user = 0; user < input.users.count(); ++user) {
    std::sort(seen.items.begin() + seen.offsets[user], seen.items.begin() + seen.offsets[user + 1]);
  }
  return seen;
}

float MfModel::predict(std::uint32_t user, std::uint32_t item) const {
  constexpr std::uint32_t unknown = data::IdMap::npos;
  if (user != unknown && item != unknown) return kernels::mf_predict(factors.view(), user, item);
  return predict_unknown(factors, user, item);
}

namespace {

AlignedVector<float> matched_rows(const AlignedVector<float>& from, const data::IdMap& known,
                                  const data::IdMap& wanted, std::size_t stride) {
  AlignedVector<float> rows(wanted.size() * stride);
  for (std::uint32_t index = 0; index < wanted.size(); ++index) {
    const std::uint32_t row = known.find(wanted.text(index));
    if (row == data::IdMap::npos) continue;
    std::copy_n(from.data() + row * stride, stride, rows.data() + index * stride);
  }
  return rows;
}

std::vector<kernels::MfBias> matched_biases(const std::vector<kernels::MfBias>& from,
                                            const data::IdMap& known, const data::IdMap& wanted) {
  std::vector<kernels::MfBias> biases(from.empty() ? 0 : wanted.size(), kernels::MfBias{0, 1});
  for (std::uint32_t index = 0; index < biases.size(); ++index) {
    const std::uint32_t row = known.find(wanted.text(index));
    if (row != data::IdMap::npos) biases[index] = from[row];
  }
  return biases;
}

}  // namespace

Result<MfFactors> factors_for(const MfModel& model, const data::IdMap& users,
                              const data::IdMap& items, const MfOptions& options) {
  const MfFactors& from = model.factors;
  if (from.rank != options.rank) {
    return error(Code::invalid, "the model to start from has rank {}, not {}", from.rank,
                 options.rank);
  }
  if (from.user_biases.empty() == options.biases) {
    return error(Code::invalid, "the model to start from has {}biases: {} --biases",
                 from.user_biases.empty() ? "no " : "", options.biases ? "leave out" : "add");
  }
  if (from.implicit != options.implicit) {
    return error(Code::invalid, "the model to start from is {}implicit",
                 from.implicit ? "" : "not ");
  }
  const std::size_t stride = kernels::mf_stride(from.rank);
  MfFactors result;
  result.rank = from.rank;
  result.mean = from.mean;
  result.implicit = from.implicit;
  result.user_rows = matched_rows(from.user_rows, model.users, users, stride);
  result.item_rows = matched_rows(from.item_rows, model.items, items, stride);
  result.user_biases = matched_biases(from.user_biases, model.users, users);
  result.item_biases = matched_biases(from.item_biases, model.items, items);
  return result;
}

namespace {

Status save_parts(const Folder& folder, const MfModel& model, std::string_view castor_version) {
  Json sums{Json::Object{}};
  TRY(save_rows(folder, "user_factors.npy", model.factors.user_rows, model.factors.rank, sums));
  TRY(save_rows(folder, "item_factors.npy", model.factors.item_rows, model.factors.rank, sums));
  if (!model.factors.user_biases.empty()) {
    TRY(save_values(folder, "user_bias.npy", values_of(model.factors.user_biases), sums));
    TRY(save_values(folder, "item_bias.npy", values_of(model.factors.item_biases), sums));
  }
  if (!model.seen.offsets.empty()) {
    TRY(save_values(folder, "seen_offsets.npy", model.seen.offsets, sums));
    TRY(save_values(folder, "seen_items.npy", model.seen.items, sums));
  }
  TRY(save_ids(folder, "users.txt", model.users, sums));
  TRY(save_ids(folder, "items.txt", model.items, sums));
  const std::string document = document_of(model, castor_version, std::move(sums)).dump(true);
  return world::write_atomically(folder.files, folder.file("model.json"), as_bytes(document));
}

}  // namespace

Status save_model(world::Files& files, const std::string& path, const MfModel& model,
                  std::string_view castor_version) {
  // All of it beside the old model first: a full disk leaves the old one as it was.
  const std::string beside = world::joined_path(path, ".saving");
  TRY(files.remove_tree(beside));
  TRY(files.make_folders(beside));
  if (Status saved = save_parts({files, beside}, model, castor_version); !saved) {
    TRY(files.remove_tree(beside));
    return std::move(saved).error().with(text("saving the model to '{}'", path));
  }
  // Without its model.json the folder is no model while the parts are exchanged.
  TRY(files.remove(world::joined_path(path, "model.json")));
  for (const char* optional :
       {"user_bias.npy", "item_bias.npy", "seen_offsets.npy", "seen_items.npy"}) {
    TRY(files.remove(world::joined_path(path, optional)));
  }
  TRY_AS(const auto names, files.list(beside));
  for (const std::string& name : names) {
    if (name == "model.json") continue;
    TRY(files.rename(world::joined_path(beside, name), world::joined_path(path, name)));
  }
  TRY(files.rename(world::joined_path(beside, "model.json"),
                   world::joined_path(path, "model.json")));
  return files.remove_tree(beside);
}

Result<Json> load_model_json(world::Files& files, const std::string& path) {
  const std::string name = world::joined_path(path, "model.json");
  if (!files.exists(name)) {
    return error(Code::not_found, "'{}' is not a model folder: it has no model.json", path);
  }
  TRY_AS(const auto bytes, world::read_whole(files, name, json_bytes_max));
  TRY_AS(Json document, Json::parse(as_text(bytes), name));
  TRY_AS(const std::string program, document.string("program"));
  TRY_AS(const std::int64_t format, document.integer("format"));
  if (program != program_name || format != format_version) {
    return error(Code::unsupported,
                 "{}: a model of program '{}', format {}; this command reads '{}' {}", name,
                 printable(program), format, program_name, format_version);
  }
  return document;
}

Result<MfModel> load_model(world::Files& files, const std::string& path) {
  TRY_AS(const Json document, load_model_json(files, path));
  auto model = load_parts({files, path}, document);
  if (!model) return std::move(model).error().with(text("model '{}'", path));
  return model;
}

}  // namespace castor::programs
