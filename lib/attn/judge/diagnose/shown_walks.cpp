#include "attn/judge/diagnose/shown_walks.hpp"

#include <algorithm>
#include <iterator>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

/// The cells of a mask over (sample, query, key), all heads alike.
class Cells {
public:
    Cells(const Tensor& hidden, const Plan& plan)
        : hidden_(hidden),
          queries_(plan.query_len),
          keys_(plan.key_len),
          samples_(plan.has_batch ? plan.batch : 1),
          each_(hidden.size() / samples_) {}

    bool hides(std::size_t sample, std::size_t query, std::size_t key) const {
        return hidden_.at(sample * each_ + query * keys_ + key) != 0;
    }
    bool hides_anything() const { return count(0, hidden_.size()) > 0; }
    /// The number of queries that see no key.
    std::size_t blind_queries() const {
        std::size_t blind = 0;
        for (std::size_t i = 0; i < hidden_.size(); i += keys_) {
            blind += count(i, i + keys_) == keys_ ? 1 : 0;
        }
        return blind;
    }
    /// True if a query sees all keys or none.
    bool is_over_queries() const {
        for (std::size_t i = 0; i < hidden_.size(); i += keys_) {
            const std::size_t row = count(i, i + keys_);
            if (row != 0 && row != keys_) return false;
        }
        return hides_anything() && queries_ == keys_ && queries_ > 1;
    }
    /// True if all queries of a sample see the same keys, which one query alone does not show.
    bool are_alike_for_queries(bool is_square) const {
        for (std::size_t i = 0; i < hidden_.size(); ++i) {
            const std::size_t first = i / (queries_ * keys_) * queries_ * keys_;
            if (hidden_.at(i) != hidden_.at(first + i % keys_)) return false;
        }
        return is_square || !hides_anything();
    }
    /// Returns the number of tokens of each sample before its padding, counted along the keys or
    /// along the queries, if the mask hides padding keys, and later keys for a causal one, and no
    /// other cell.
    std::vector<std::int64_t> lengths(bool causal, bool along_queries) const {
        std::vector<std::int64_t> all;
        for (std::size_t b = 0; b < samples_; ++b) {
            const auto is_hidden = [&](std::size_t token) {
                return along_queries ? hides(b, token, 0) : hides(b, queries_ - 1, token);
            };
            std::size_t length = 0;
            while (length < keys_ && !is_hidden(length)) ++length;
            if (length == 0) return {};
            all.push_back(static_cast<std::int64_t>(length));
        }
        for (std::size_t i = 0; i < hidden_.size(); ++i) {
            const std::size_t query = i / keys_ % queries_, key = i % keys_;
            const auto length = static_cast<std::size_t>(all[i / each_]);
            const bool is_padding = (along_queries ? query : key) >= length;
            if ((hidden_.at(i) != 0) != (is_padding || (causal && key > query))) return {};
        }
        return all;
    }

private:
    std::size_t count(std::size_t begin, std::size_t end) const {
        std::size_t hidden = 0;
        for (std::size_t i = begin; i < end; ++i) hidden += hidden_.at(i) != 0 ? 1 : 0;
        return hidden;
    }

    const Tensor& hidden_;
    std::size_t queries_, keys_, samples_, each_;
};

bool same_mask(const MaskReading& one, const MaskReading& other) {
    return same_cells(one.hidden, other.hidden);
}

/// Returns the user's weights with our order of axes; nullopt if there are none, or some number
/// cannot be a weight.
std::optional<Tensor> weights_in(const Ledger& actual, const Plan& plan) {
    for (const auto& [name, tensor] : actual.entries()) {
        if (likeliest_step(name) != "weights" || !can_be_weights(tensor)) continue;
        const std::vector<Reading> ways =
            readings(tensor, plan.per_head_axes("query", "key"),
                     plan.per_head_shape(plan.query_len, plan.key_len), plan.compute_dtype);
        if (!ways.empty()) return ways.front().tensor;
    }
    return std::nullopt;
}

/// True if exactly the hidden cells have no weight.
bool fits_weights(const MaskReading& mask, const Tensor& weights) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if ((weights.at(i) == 0) != (mask.hidden.at(i) != 0)) return false;
    }
    return true;
}

/// Returns the reading of a mask that its author must have meant: the one that leaves the fewest
/// queries without a key, by the weights or by padding after the tokens if there are several.
/// nullopt if that is not certain.
std::optional<MaskReading> intended_reading(const Tensor& mask, const Ledger& actual,
                                            const Plan& plan) {
    std::vector<MaskReading> ways = mask_readings(mask, plan);
    const auto blind = [&](const MaskReading& way) {
        return Cells(way.hidden, plan).blind_queries();
    };
    std::size_t fewest = SIZE_MAX;
    for (const MaskReading& way : ways) fewest = std::min(fewest, blind(way));
    std::erase_if(ways, [&](const MaskReading& way) { return blind(way) != fewest; });
    if (ways.empty()) return std::nullopt;
    const auto is_one = [&](const std::vector<MaskReading>& some) {
        return !some.empty() && std::ranges::all_of(some, [&](const MaskReading& each) {
            return same_mask(each, some.front());
        });
    };
    if (is_one(ways)) return ways.front();
    std::vector<MaskReading> shown, usual;
    const std::optional<Tensor> weights = weights_in(actual, plan);
    for (const MaskReading& way : ways) {
        const Cells cells(way.hidden, plan);
        if (weights && fits_weights(way, *weights)) shown.push_back(way);
        if (!cells.lengths(false, false).empty() || !cells.lengths(true, false).empty()) {
            usual.push_back(way);
        }
    }
    if (!is_one(usual)) return is_one(shown) ? std::optional(shown.front()) : std::nullopt;
    const bool is_other = !shown.empty() && !same_mask(shown.front(), usual.front());
    return is_other ? std::nullopt : std::optional(usual.front());
}

/// A mask among the user's tensors, and the name of the tensor that shows it.
struct SavedMask {
    std::string name;
    MaskReading reading;
};

/// Returns the mask that the user saved; nullopt if there is none, or if several leave open which
/// one is used here.
std::optional<SavedMask> saved_mask(const Ledger& actual, const Plan& plan) {
    std::vector<const Ledger::Entry*> masks;
    for (const Ledger::Entry& each : actual.entries()) {
        if (likeliest_step(each.name) == "mask") masks.push_back(&each);
    }
    if (masks.size() != 1) return std::nullopt;
    std::optional<MaskReading> reading = intended_reading(masks.front()->tensor, actual, plan);
    if (!reading) return std::nullopt;
    return SavedMask{masks.front()->name, *std::move(reading)};
}

/// Returns the mask that scores show whose hidden cells are filled; nullopt if there are none.
std::optional<SavedMask> mask_in_scores(const Ledger& actual, const Plan& plan) {
    constexpr double below_any_score = -5000;
    for (const auto& [name, tensor] : actual.entries()) {
        const std::vector<std::string> steps = known_steps(name);
        if (std::ranges::count(steps, "masked_scores") == 0 || !tensor.is_floating()) continue;
        const Tensor hidden = tensor_like(
            tensor, [&tensor = tensor](std::size_t i) { return tensor.at(i) < below_any_score; });
        if (count_cells(hidden, std::identity()) == 0) continue;
        const std::vector<Reading> ways =
            readings(hidden, plan.per_head_axes("query", "key"),
                     plan.per_head_shape(plan.query_len, plan.key_len), DType::boolean);
        if (!ways.empty()) return SavedMask{name, {ways.front().tensor, false, ""}};
    }
    return std::nullopt;
}

bool has_square_scores(const Plan& plan) {
    return plan.query_len == plan.key_len && plan.query_len > 1;
}

/// True if no sample has padding.
bool are_unpadded(const std::vector<std::int64_t>& lengths, const Plan& plan) {
    return std::ranges::all_of(lengths, [&](std::int64_t length) {
        return length == static_cast<std::int64_t>(plan.key_len);
    });
}

/// Sets a mask: padding, later keys, or both. A saved one that hides whole queries is that of
/// padding, over the wrong axis. Other masks that depend on the query may be mistakes, and are left
/// open.
void take_mask(const SavedMask& mask, bool is_saved, const Plan& plan, ShownWalk& shown) {
    WalkConfig& config = shown.requested.config;
    const Cells cells(mask.reading.hidden, plan);
    const bool is_square = has_square_scores(plan);
    const std::string by = ", by " + visible(mask.name);
    for (const auto& [causal, along_queries] :
         {std::pair(false, false), {true, false}, {false, true}}) {
        const bool may_be = is_square || !(causal || along_queries);
        if (!cells.hides_anything() || !may_be || (along_queries && !is_saved)) continue;
        std::vector<std::int64_t> lengths = cells.lengths(causal, along_queries);
        // The first key alone is what a causal mask shows to a query that it aligns there.
        if (lengths.empty() || (!is_square && std::ranges::count(lengths, 1) > 0)) continue;
        config.mask.causal = causal;
        config.mask.padding = !are_unpadded(lengths, plan);
        std::string line = config.mask.padding ? "$mask padding"_message : "$mask causal"_message;
        if (causal && config.mask.padding) line += ",causal";
        if (config.mask.padding) {
            std::vector<std::string> numbers;
            for (const std::int64_t each : lengths) numbers.push_back(std::to_string(each));
            line += " $lengths "_message + joined(numbers, ",");
            config.lengths = std::move(lengths);
        }
        shown.assumed.push_back("assumed: " + line + by);
        return;
    }
    if (!is_saved || cells.is_over_queries() || !cells.are_alike_for_queries(is_square)) return;
    config.mask.given = mask.reading.hidden;
    const std::string file = "$mask-file FILE:"_message + visible(mask.name) +
                             " $mask-true "_message + (mask.reading.true_keeps ? "keep" : "drop");
    shown.assumed.push_back(
        "assumed: " + (cells.hides_anything() ? file : std::string("nothing is hidden")) + by);
}

/// Sets the mask that the user saved, or that masked scores show, which may hide later keys, too.
void show_mask(ShownWalk& shown) {
    WalkConfig& config = shown.requested.config;
    if (shown.requested.specified.mask || config.mask.any()) return;
    const Plan plan = resolve(config);
    const std::optional<SavedMask> saved = saved_mask(shown.requested.user_tensors, plan);
    const std::optional<SavedMask> seen = mask_in_scores(shown.requested.user_tensors, plan);
    if (saved || seen) take_mask(saved ? *saved : *seen, saved.has_value(), plan, shown);
    if (!saved || !seen || config.mask.causal || !has_square_scores(plan)) return;
    const std::vector<std::int64_t> lengths =
        Cells(seen->reading.hidden, plan).lengths(true, false);
    const bool is_same =
        config.mask.padding ? lengths == config.lengths : are_unpadded(lengths, plan);
    if (lengths.empty() || !is_same) return;
    config.mask.causal = true;
    shown.assumed.push_back("assumed: $mask causal, by "_message + visible(seen->name));
}

/// Counts the query, key and value of the user, and those that are right in this walk.
std::pair<std::size_t, std::size_t> right_projections(const RequestedWalk& requested,
                                                      const DiagnoseOptions& options) {
    std::size_t all = 0, right = 0;
    const Plan plan = resolve(requested.config);
    const Judge judge(plan, draw(plan), options);
    for (const auto& [name, tensor] : requested.user_tensors.entries()) {
        std::vector<std::string> steps = steps_called(name, plan);
        std::erase_if(steps, [](const std::string& step) {
            return step != "query" && step != "key" && step != "value" &&
                   !step.starts_with("projected_");
        });
        if (steps.empty() || looks_like_parameter(name)) continue;
        const UserTensor actual{name, tensor, steps, epsilon_of_half(tensor)};
        ++all;
        right += std::ranges::any_of(
            steps, [&](const std::string& step) { return judge.looks_right(actual, step); });
    }
    return {all, right};
}

/// Adds the layout from which all of query, key and value follow, if the other one makes none. With
/// fewer than three tensors both layouts are tried.
void show_layout(const DiagnoseOptions& options, std::vector<ShownWalk>& walks) {
    const RequestedWalk& requested = walks.front().requested;
    const WalkConfig& config = requested.config;
    if (!has_square_matrix(config) || requested.specified.weight_layout || config.weight_layout ||
        requested.of_modules)
        return;
    ShownWalk other = walks.front();
    configure(other.requested.config, "weight-layout in-out");
    const auto [all, right] = right_projections(other.requested, options);
    if (all == 0 || right != all || right_projections(requested, options).second > 0) return;
    other.assumed.push_back(
        "assumed: $weight-layout in-out, as your query, key and value follow from it"_message);
    if (all >= 3) walks.clear();
    walks.push_back(std::move(other));
}

/// Replaces each walk by one for each of these settings.
void show_one_of(const std::vector<std::string>& lines, const std::string& by,
                 std::vector<ShownWalk>& walks) {
    std::vector<ShownWalk> all;
    for (const ShownWalk& walk : walks) {
        for (const std::string& line : lines) {
            all.push_back(walk);
            configure(all.back().requested.config, line);
            all.back().assumed.push_back("assumed: " + std::string(setting_prefix) + line + by);
        }
    }
    walks = std::move(all);
}

/// Adds the rotation if the user saved rotated queries and keys.
void show_rotation(std::vector<ShownWalk>& walks) {
    const RequestedWalk& requested = walks.front().requested;
    const WalkConfig& config = requested.config;
    if (config.rotary.pairing || config.latent.rank || !config.attentions.empty()) return;
    for (const char* step : {"rotated_query", "rotated_key"}) {
        for (const auto& [name, tensor] : requested.user_tensors.entries()) {
            if (likeliest_step(name) != step || tensor.dimension() < 2) continue;
            const std::string by = ", by " + visible(name);
            return show_one_of({"rope half", "rope interleaved"}, by, walks);
        }
    }
}

/// Adds the norm of x whose gain the user saved, or leaves it out: a norm may also come after
/// attention.
void show_norm(std::vector<ShownWalk>& walks) {
    const RequestedWalk& requested = walks.front().requested;
    Ledger parameters;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : requested.user_tensors.entries()) {
        const std::string parameter = parameter_called(name);
        if ((parameter != "g_x" && parameter != "b_x") || parameters.has(parameter)) continue;
        parameters.record(parameter, tensor);
        names.push_back(name);
    }
    if (requested.config.x_norm || !parameters.has("g_x")) return;
    std::vector<ShownWalk> without = walks;
    for (ShownWalk& walk : without) walk.is_rare = true;
    for (ShownWalk& walk : walks) {
        for (const auto& [name, tensor] : parameters.entries()) {
            walk.requested.config.parameters.record(name, tensor);
        }
        for (const std::string& name : names)
            walk.requested.user_tensors = walk.requested.user_tensors.without(name);
    }
    const std::vector<std::string> kinds =
        parameters.has("b_x") ? std::vector<std::string>{"x-norm layer"}
                              : std::vector<std::string>{"x-norm rms", "x-norm layer"};
    show_one_of(kinds, ", by its gain", walks);
    std::ranges::copy(without, std::back_inserter(walks));
}

/// True if rotated queries or keys follow from no known rotation: the file needs other settings.
bool has_other_rotation(const Diagnosis& diagnosis) {
    return std::ranges::any_of(diagnosis.findings, [](const Finding& finding) {
        return finding.mistake() == nullptr && finding.step.starts_with("rotated_");
    });
}

/// Returns the walks that the user's tensors show, the likeliest first; empty if they show nothing.
std::vector<ShownWalk> shown_walks(const RequestedWalk& requested, const DiagnoseOptions& options) {
    if (requested.is_probe) return {};
    std::vector<ShownWalk> walks{{requested}};
    try {
        show_mask(walks.front());
        show_layout(options, walks);
        show_rotation(walks);
        show_norm(walks);
    } catch (const Error&) {
        return {};  // the settings do not fit the tensors, which the walk itself reports
    }
    const bool is_as_requested = walks.size() == 1 && walks.front().assumed.empty();
    return is_as_requested ? std::vector<ShownWalk>() : walks;
}

}  // namespace

ShownDiagnosis diagnose_as_shown(const RequestedWalk& requested, const Plan& plan,
                                 const DiagnoseOptions& options) {
    std::optional<ShownDiagnosis> best;
    for (ShownWalk& each : shown_walks(requested, options)) {
        const double most = each.is_rare ? cost::named : cost::right;
        if (best && best->diagnosis.cost < most) break;
        try {
            const Plan other = resolve(each.requested.config);
            Diagnosis found = diagnose(other, draw(other), each.requested.user_tensors, options);
            if (best && found.cost >= best->diagnosis.cost) continue;
            if (has_other_rotation(found)) continue;
            best = {std::move(each), std::move(found)};
        } catch (const Error&) {
            continue;  // the tensors do not fit these settings
        }
    }
    if (best) return *std::move(best);
    // Before the walk is copied: GCC 12 frees the copy twice if an exception leaves the braces.
    Diagnosis found = diagnose(plan, draw(plan), requested.user_tensors, options);
    return {{requested}, std::move(found)};
}

}  // namespace attn
