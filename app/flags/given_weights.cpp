#include <cmath>

#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/models/hugging_face.hpp"

namespace app {
namespace {

using attn::Projection;

void contradict(const std::string& flag, const std::string& model, const std::string& has_it) {
    throw attn::ConfigError(flag + " contradicts --model " + model + ", which " + has_it +
                            ": leave " + flag.substr(0, flag.find(' ')) + " out");
}

/// Reads one layer of a model and applies the settings of its family.
std::vector<attn::NamedTensor> read_model(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string model = arguments[flags::model];
    const std::string weights = arguments[flags::weights];
    const attn::models::AttentionNames names = attn::models::attention_names(model);
    const std::int64_t layer = arguments[flags::layer];
    if (!arguments.has(flags::heads)) {
        throw attn::ConfigError("--model " + model +
                                " needs --heads: the file does not show how many there are (12 in "
                                "the small models)");
    }
    const attn::TensorFile file(weights);
    std::vector<attn::NamedTensor> parameters =
        attn::models::pick_layer(file.arrays(), names, layer, file.label());
    const Projection projection = names.fused ? Projection::fused : Projection::split;
    const auto layout = names.in_out ? attn::WeightLayout::in_out : attn::WeightLayout::out_in;
    if (arguments.has(flags::projection) && config.projection != projection) {
        contradict("--projection " + arguments[flags::projection], model,
                   "is " + std::string(attn::word(projection)));
    }
    if (config.weight_layout.value_or(layout) != layout) {
        contradict("--weight-layout " + arguments[flags::weight_layout], model,
                   "is " + std::string(attn::word(layout)));
    }
    if (arguments.has(flags::no_merge)) contradict("--no-merge", model, "has an output projection");
    config.projection = projection;
    config.weight_layout = layout;
    config.model = model;
    config.layer = layer;
    if (names.causal && !config.mask.causal) {
        report_note("GPT-2 is causal: add --mask causal");
    }
    return parameters;
}

bool hides_cells(const attn::Tensor& tensor) {
    bool hides = false;
    attn::each_number(tensor, [&](std::size_t, double cell) { hides |= cell == -HUGE_VAL; });
    return hides;
}

/// The sum of the row of weights that begins at a cell.
struct RowSum {
    double sum = 0;
    bool is_hidden = true;  ///< all its keys are: every weight is 0 or nan

    RowSum(const attn::Tensor& weights, std::size_t first) {
        for (std::size_t i = first; i < first + weights.shape().back(); ++i) {
            sum += weights.at(i);
            is_hidden = is_hidden && (weights.at(i) == 0 || std::isnan(weights.at(i)));
        }
    }
    bool is_one(double near) const { return std::abs(sum - 1) <= near; }
};

/// True if that share of the rows, or more, are shares that sum to 1, to the precision of the
/// printed decimals.
bool sums_to_one(const attn::Tensor& tensor, double least) {
    if (tensor.dimension() == 0 || tensor.shape().back() == 0 || hides_cells(tensor)) return false;
    const std::size_t columns = tensor.shape().back();
    std::size_t good = 0, bad = 0;
    for (std::size_t first = 0; first < tensor.size(); first += columns) {
        const RowSum row(tensor, first);
        if (row.is_hidden) continue;
        bool are_shares = true;
        for (std::size_t i = first; i < first + columns; ++i) {
            are_shares = are_shares && !(tensor.at(i) < 0 || tensor.at(i) > 1.02);
        }
        (are_shares && row.is_one(0.02) ? good : bad)++;
    }
    return good > 0 && static_cast<double>(good) >= least * static_cast<double>(good + bad);
}

/// True if no query looks at a later key in masked scores or weights.
bool hides_later(const attn::Tensor& cells, bool are_weights) {
    const attn::Shape shape = cells.shape();
    if (shape.size() < 2) return false;
    const std::size_t keys = shape.back(), queries = shape[shape.size() - 2];
    if (queries < 2 || keys < queries) return false;
    const std::size_t earlier = keys - queries;
    bool hides = true;
    attn::each_number(cells, [&](std::size_t i, double cell) {
        const std::size_t query = i / keys % queries, key = i % keys;
        const bool is_hidden = std::isnan(cell) || (are_weights ? cell == 0 : cell <= -1e4);
        const bool is_later = key > query + earlier;
        // Weights of earlier keys may be printed as 0 because they are small.
        const bool may_be_small = are_weights && earlier == 0 && query > 0;
        hides = hides && (is_hidden == is_later || std::isnan(cell) || (!is_later && may_be_small));
        if (are_weights && keys == queries && query == 0 && key == 0) {
            hides = hides && (cell == 1 || std::isnan(cell));
        }
    });
    return hides;
}

/// True if a walk may be given that step.
bool may_be_given(const std::string& step) {
    const attn::StepTable& table = attn::step_table();
    const auto card = std::ranges::find(table, step, &attn::Step::name);
    if (card == table.end()) return false;
    return card->kind == attn::Step::Kind::input || card->kind == attn::Step::Kind::parameter ||
           step == "query" || step == "key" || step == "value" || attn::is_beginning(step);
}

}  // namespace

std::optional<OffRow> row_off_one(const attn::Tensor& tensor, double near) {
    const std::size_t columns = tensor.shape().back();
    for (std::size_t first = 0; first < tensor.size(); first += columns) {
        const RowSum row(tensor, first);
        if (!row.is_hidden && !row.is_one(near)) return OffRow{first, row.sum};
    }
    return std::nullopt;
}

std::string take_shown_mask(const attn::Ledger& named, const std::string& beginning,
                            attn::WalkConfig& config) {
    if (beginning == "masked_scores" || beginning == "weights") return "";
    for (const std::string name : {"masked_scores", "weights"}) {
        const attn::Tensor* const shown = named.find(name);
        if (shown == nullptr || !hides_later(*shown, name == "weights")) continue;
        const attn::Shape shape = shown->shape();
        config.mask.causal = true;
        if (shape.back() > shape[shape.size() - 2]) config.causal_align = attn::CausalAlign::end;
        return "--mask causal, because no query looks at a later key";
    }
    return "";
}

std::string given_as(const std::string& name, const attn::Tensor& tensor) {
    std::vector<std::string> steps = attn::known_steps(name);
    std::erase_if(steps, [](const std::string& step) { return !may_be_given(step); });
    const bool has_rows = tensor.dimension() > 1 && tensor.shape()[tensor.dimension() - 2] > 2;
    if (name.empty() && sums_to_one(tensor, has_rows ? 0.6 : 1)) return "weights";
    if (steps.empty() || steps.front() == "mask") return "";  // true may mean either
    const bool may_be_weights = std::ranges::count(steps, "weights") > 0;
    // A name says more than a row that is off.
    const double least = steps.front() == "weights" ? 0.5 : 0.6;
    if (may_be_weights && sums_to_one(tensor, least)) return "weights";
    if (may_be_weights && steps.front() == "weights") {
        return hides_cells(tensor) ? "masked_scores" : "scores";
    }
    return steps.front();
}

namespace {

/// Returns a file's tensors under our names, and a sentence on those that were renamed.
attn::Ledger by_our_names(const Arguments& arguments, const attn::Ledger& file,
                          std::vector<std::string>& notes) {
    const std::map<std::string, std::string> specified = mapped_names(arguments, file);
    const auto is_ours = [&](const std::string& name) {
        return std::ranges::count(attn::step_table(), name, &attn::Step::name) > 0;
    };
    attn::Ledger named;
    std::vector<std::string> assumed;
    for (const auto& [name, tensor] : file.entries()) {
        if (const auto mapped = specified.find(name); mapped != specified.end()) {
            if (arguments[flags::attentions].empty()) {
                attn::find_step(attn::step_table(), mapped->second);
            }
            named.record(mapped->second, tensor);
        } else if (is_ours(name)) {
            named.record(name, tensor);
        }
    }
    std::map<std::string, std::string> first_names;
    for (const auto& [name, tensor] : file.entries()) {
        if (specified.contains(name) || is_ours(name)) continue;
        const std::string step = given_as(name, tensor);
        const auto [first, is_first] = first_names.try_emplace(step, name);
        if (!is_first && step.starts_with("w_")) {
            throw attn::ConfigError("both " + attn::visible(first->second) + " and " +
                                    attn::visible(name) + " may be " + step +
                                    ": pass --map NAME:" + step + " for the one you mean");
        }
        const bool is_free = !step.empty() && !named.has(step);
        const std::string array_name = name.empty() ? "the array" : attn::visible(name);
        if (is_free) assumed.push_back(array_name + " is " + step);
        named.record(is_free ? step : name, tensor);
    }
    if (!assumed.empty()) notes.push_back("assumed: " + attn::joined(assumed));
    return named;
}

/// Reports the assumptions of a walk that begins after query and key, and flags that come too late.
void note_beginning(const Arguments& arguments, attn::WalkConfig& config,
                    std::vector<std::string>& notes) {
    const std::string beginning = attn::beginning_of(config);
    if (!attn::is_beginning(beginning)) return;
    if (beginning == "scores" && !arguments.has_any({flags::scale, flags::head_dim})) {
        config.scale = {attn::ScaleChoice::By::none, 1};
        notes.emplace_back(
            "assumed: --scale none, as scores do not reveal head-dim: pass --head-dim "
            "N to divide by its square root");
    }
    std::vector<Name> late{flags::rope};
    if (beginning != "scores") late.push_back(flags::scale);
    if (beginning == "masked_scores" || beginning == "weights") {
        late.insert(late.end(),
                    {flags::softcap, flags::position_bias, flags::mask, flags::mask_file});
    }
    if (beginning == "weights") late.push_back(flags::sink);
    for (const Name& flag : late) {
        if (!arguments.has(flag)) continue;
        report_note(std::string(flag.text) + " has no effect here: the walk begins at " +
                    beginning + ", which comes after it");
    }
}

/// The parameters of a walk, and those of a file.
struct WalkParameters {
    std::vector<std::string> needed, drawn{};
    std::vector<std::string> unused{};  ///< in the file, but not in the walk
};

/// Adds the tensors of this walk to the configuration.
WalkParameters take_parameters(const attn::Ledger& given, attn::WalkConfig& config) {
    attn::WalkConfig with_all = config;
    for (const auto& [name, tensor] : given.entries()) {
        // Earlier keys are read only on request, even if the file of a walk contains them.
        const bool requested = config.past || !name.starts_with("past_");
        if (!name.empty() && requested) with_all.parameters.record(name, tensor);
    }
    WalkParameters walk_parameters{attn::parameter_names(std::move(with_all))};
    for (const auto& [name, tensor] : given.entries()) {
        if (std::ranges::find(walk_parameters.needed, name) != walk_parameters.needed.end()) {
            config.parameters.record(name, tensor);
        } else if (name != "x" || !std::holds_alternative<attn::Tensor>(config.input)) {
            walk_parameters.unused.push_back(name.empty() ? "an array without a name" : name);
        }
    }
    for (const std::string& name : walk_parameters.needed) {
        if (!config.parameters.has(name)) walk_parameters.drawn.push_back(name);
    }
    return walk_parameters;
}

}  // namespace

std::map<std::string, std::string> mapped_names(const Arguments& arguments,
                                                const attn::Ledger& file) {
    std::map<std::string, std::string> steps;
    for (const std::string& entry : arguments[flags::map]) {
        const std::size_t colon = entry.rfind(':');
        const std::string array_name = entry.substr(0, colon);
        if (colon == std::string::npos || !file.has(array_name)) {
            throw attn::ConfigError("--map '" + entry +
                                    "' is not NAME:STEP with a name that the file has");
        }
        steps[array_name] = entry.substr(colon + 1);
    }
    return steps;
}

attn::SpecifiedSettings specified_settings(const Arguments& arguments) {
    return {.heads = arguments.has(flags::heads),
            .projection = arguments.has(flags::projection),
            .mask = arguments.has(flags::mask) || arguments.has(flags::mask_file),
            .source = arguments.has(sets_x),
            .weight_layout = arguments.has(flags::weight_layout),
            .causal_align = arguments.has(flags::causal_align),
            .form = arguments.has(flags::form)};
}

void set_given_weights(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string weights = arguments[flags::weights];
    const bool has_model = arguments.has(flags::model);
    if (weights.empty()) {
        if (has_model || arguments.has(flags::layer)) {
            throw attn::ConfigError(arguments.has(flags::layer)
                                        ? "--layer needs a model: pass --model-file stories, or "
                                          "--weights FILE"
                                        : "--model sets how --weights is read: add --weights FILE");
        }
        return;
    }
    if (!has_model && arguments.has(flags::layer)) {
        throw attn::ConfigError("--layer needs --model gpt2 or bert");
    }
    const std::string label = attn::file_label(weights);
    attn::Ledger given;
    std::vector<std::string> tokens;
    for (attn::NamedTensor& each :
         has_model ? read_model(arguments, config) : attn::read_tensors(weights, report_note)) {
        if (!has_model) take_as_written(each);
        if (tokens.empty()) tokens = each.row_names;
        given.record(each.name, std::move(each.tensor));
    }
    std::vector<std::string> notes;
    if (!has_model) given = by_our_names(arguments, attn::heads_together(given), notes);
    const attn::SpecifiedSettings specified = specified_settings(arguments);
    if (name_rows_of(given, tokens) && config.names.empty() && !specified.source) {
        config.names = {tokens};
    }
    for (const std::string name : {"mask", "position_bias"}) {
        const attn::Tensor* const added = given.find(name);
        const bool may_be = added != nullptr && (name == "mask" || added->dimension() > 1);
        if (!may_be || specified.mask || config.position_bias) continue;
        if (!take_added_mask(*added, false, config)) continue;
        given = given.without(name);
        notes.push_back("assumed: " + name + " is added to the scores");
    }
    const bool draws_x = arguments.has_any({flags::batch, flags::seq_len, flags::embed_dim});
    if (const attn::Tensor* x = given.find("x"); x != nullptr && !specified.source && !draws_x) {
        config.input = *x;
    }
    attn::take_names(given, specified, config);
    attn::take_direct(given, specified, config);
    const auto [needed, drawn, unused] = take_parameters(given, config);
    const bool has_x = std::holds_alternative<attn::Tensor>(config.input) && given.has("x");
    if (config.parameters.entries().empty() && !has_x) {
        throw attn::InputError(label + ": contains none of the parameters of this walk, " +
                               attn::some_of(needed) + ": it has " +
                               (unused.empty() ? "no array" : attn::some_of(unused)) +
                               " (--model gpt2 or bert reads the names of those models)");
    }
    config.weights_file = weights;
    note_beginning(arguments, config, notes);
    if (!specified.mask && !config.mask.any()) {
        const std::string assumed = take_shown_mask(given, attn::beginning_of(config), config);
        if (!assumed.empty()) notes.push_back("assumed: " + assumed);
    }
    attn::Ledger masks;
    if (const attn::Tensor* const whole = given.find("mask")) masks.record("mask", *whole);
    for (const std::string& assumed : attn::take_shapes(masks, specified, config)) {
        notes.push_back("assumed: " + assumed);
    }
    if (!drawn.empty()) {
        notes.push_back((has_model ? "not read, so drawn: "
                                   : "drawn, because the file does not contain them: ") +
                        attn::some_of(drawn));
    }
    if (!unused.empty()) notes.push_back("not used: " + attn::some_of(unused));
    if (!notes.empty()) report_note(label + ": " + attn::joined(notes, "; "));
}

}  // namespace app
