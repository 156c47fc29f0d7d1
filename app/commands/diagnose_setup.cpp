#include "app/commands/diagnose_setup.hpp"

#include <algorithm>
#include <ctime>

#include "app/commands/shown_settings.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/judge/diagnose/verdict.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace app {
namespace {

/// True if the flags describe an x to draw, or parameters.
bool sets_sizes(const Arguments& arguments) {
    return arguments.has_any(
        {flags::batch, flags::seq_len, flags::embed_dim, flags::weights, flags::seed});
}

bool is_of_attention(const attn::WalkConfig& config, const std::string& name) {
    return std::ranges::any_of(config.attentions, [&](const auto& file) {
        return std::ranges::count(file->parameters, name, &attn::AttentionParameter::name) > 0;
    });
}

bool is_of_norm(const std::string& name) { return name == "g_x" || name == "b_x"; }

bool is_parameter(const attn::WalkConfig& config, const std::string& name) {
    if (is_of_attention(config, name)) return true;
    // Without a norm of x, its parameters may be those of a norm after attention.
    if (is_of_norm(name)) return config.x_norm.has_value();
    const attn::StepTable& table = attn::step_table();
    const std::size_t place = attn::place_of(table, name);
    return place < table.size() &&
           (table[place].kind == attn::Step::Kind::parameter || name == "position_table" ||
            name == "past_key" || name == "past_value");
}

/// Returns the step that a tensor is read as: by --map, else by its name.
std::string step_of(const attn::WalkConfig& config, const std::string& name,
                    const std::map<std::string, std::string>& specified) {
    const auto found = specified.find(name);
    if (found != specified.end()) return found->second;
    if (is_of_attention(config, name)) return name;
    std::vector<std::string> steps = attn::known_steps(name);
    // Without a past, the cache consists of the keys and values of this walk.
    if (!config.past) {
        std::erase_if(steps, [](const std::string& step) { return step.starts_with("present_"); });
    }
    return steps.empty() ? "" : steps.front();
}

/// True for a setting saved as a tensor, but not for a context's heads or a causal mask.
bool is_setting(const std::string& name, const attn::Tensor& tensor) {
    return tensor.dimension() <= 1 && (name == "heads" || name == "causal" || name == "lengths");
}

/// True if the flags, without any for x, draw exactly the x of the file.
bool draws_this_x(const attn::WalkConfig& config, const attn::Tensor& x) {
    try {
        const attn::Plan plan = attn::resolve(config);
        attn::Replay replay(plan, attn::draw(plan));
        const attn::Tensor* correct = replay.step("x");
        return correct != nullptr && attn::judged(x, *correct, {1e-6, 1e-6}).right();
    } catch (const attn::Error&) {
        return false;  // these flags are for the file's x
    }
}

/// Returns the user's tensors under step names, if these are unambiguous.
attn::Ledger by_step(const attn::WalkConfig& config, const attn::Ledger& file,
                     const std::map<std::string, std::string>& specified) {
    attn::Ledger named;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string known = step_of(config, name, specified);
        const std::string step = known.empty() ? name : known;
        // Keep the one with the most axes.
        const std::size_t known_axes = named.has(step) ? named[step].dimension() : 0;
        if (tensor.dimension() > known_axes) named.record(step, tensor);
    }
    return named;
}

/// Returns the inputs in a file under the steps' names, and reports unused tensors.
attn::Ledger inputs_by_step(const attn::WalkConfig& config, const attn::Ledger& file) {
    attn::Ledger named;
    std::string unused;
    for (const auto& [name, tensor] : file.entries()) {
        const bool setting = is_setting(name, tensor);
        const std::string step = setting ? name : step_of(config, name, {});
        const bool is_input = setting || is_parameter(config, step) || step == "x" ||
                              step == "token_embedding" || step == "memory" || step == "mask";
        if (is_input && !named.has(step)) {
            named.record(step, tensor);
        } else if (name != "target" && attn::differentiated(name, file).empty()) {
            unused += (unused.empty() ? "" : ", ") + name;
        }
    }
    if (!unused.empty()) report_note("--given: not used: " + unused);
    return named;
}

/// True if a walk with this step computes its scores or its context from it.
bool makes_others(const std::string& step) {
    return step.starts_with("rotated_") || step.starts_with("normed_") ||
           step.starts_with("dropped_") || step == "position_bias" || step == "biased_scores" ||
           step == "capped_scores";
}

/// The names of tensors that are not read, for a message.
std::string not_used(const char* what, std::vector<std::string> names) {
    for (std::string& name : names) name = attn::visible(name);
    return std::string(what) + " and are not used: " + attn::some_of(names) +
           "; pass --map NAME:STEP for each, as w_query, w_key, w_value and w_output";
}

}  // namespace

std::string why_not_judged(const DiagnosedWalk& requested) {
    if (requested.lacks_x) {
        return "your file has parameters, and no x that they multiply: add x, pass --map NAME:x if "
               "it has another name, or --seed N if this walk draws it";
    }
    if (!requested.lacks_parameters) return {};
    if (requested.unread_parameters.empty()) {
        return "nothing computes query, key and value from your x: add its parameters to the file; "
               "pass --projection none if x is all three, or --seed N if this walk draws them";
    }
    return not_used("these look like parameters", requested.unread_parameters);
}

std::string why_not_judged(const DiagnosedWalk& requested, const attn::Diagnosis& diagnosis) {
    if (!diagnosis.has_unknown()) return {};
    if (!requested.unread_parameters.empty()) {
        return not_used("these look like parameters", requested.unread_parameters);
    }
    std::vector<std::string> skipped, steps;
    for (const attn::Skipped& each : diagnosis.skipped) {
        skipped.push_back(each.name);
        // Inputs of other steps, which cannot be judged without them.
        const std::vector<std::string> known = attn::known_steps(each.name);
        const bool is_computed_step = !known.empty() &&
                                      each.reason == attn::no_such_step(known.front()) &&
                                      makes_others(known.front());
        if (!is_computed_step) continue;
        steps.push_back(attn::visible(each.name));
        if (each.name != known.front()) steps.back() += " (" + known.front() + ")";
    }
    if (!steps.empty()) {
        return "your file has steps that this walk lacks: " + attn::some_of(steps) +
               "; pass the flags of the walk that has them, such as --rope, --qk-norm, "
               "--position-bias, --softcap or --dropout";
    }
    if (2 * skipped.size() <= requested.user_tensors.entries().size()) return {};
    return not_used("these are most of your tensors", skipped);
}

void note_cost_of_mistakes(const attn::Plan& plan) {
    if (plan.config.rules.empty()) return;
    const attn::Ledger drawn = attn::draw(plan);
    const std::clock_t before = std::clock();
    attn::walk(plan, drawn);
    const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    attn::note_cost("each known mistake is tried", seconds, attn::mistakes().size(),
                    "pass a --rule that sums over less", report_note_now);
}

DiagnosedWalk requested_walk(const Arguments& arguments, const attn::Ledger& whole,
                             std::map<std::string, std::string> specified, bool may_begin_later) {
    const attn::Ledger file = attn::split_fused(whole, specified);
    DiagnosedWalk requested{
        {.config = config_of(arguments), .specified = specified_settings(arguments)}};
    const attn::WalkConfig& config = requested.config;
    const attn::Ledger given =
        arguments.has(flags::given)
            ? inputs_by_step(config, read_ledger(arguments[flags::given], true))
            : attn::Ledger();
    specified.merge(bare_parameters(by_step(config, file, specified), file));
    attn::Ledger named = by_step(config, file, specified);
    const bool may_draw = arguments.has(sets_x) || sets_sizes(arguments);
    const bool adds = config.position_embedding && named.has("token_embedding");
    const bool seeks_x = !may_draw && !may_begin_later && !adds && !named.has("x") &&
                         !given.has("x") && !given.has("token_embedding");
    const bool lacks_x = seeks_x && (named.has("w_query") || named.has("w_qkv"));
    const bool has_query = named.has("query") && named.has("key") && named.has("value");
    std::string wide;
    if (lacks_x || (seeks_x && has_query)) {
        std::map<std::string, std::string> steps;
        for (const auto& [name, tensor] : file.entries()) {
            const std::string step = step_of(config, name, specified);
            if (!specified.contains(name)) steps[name] = is_parameter(config, step) ? name : step;
        }
        const MayBeX candidates(named, file, steps);
        if (lacks_x || !candidates.called.empty()) wide = candidates.only();
        for (std::size_t i = 0; lacks_x && wide.empty() && i < candidates.others.size(); ++i) {
            std::map<std::string, std::string> read = specified;
            read[candidates.others[i]] = "x";
            DiagnosedWalk other = requested_walk(arguments, whole, std::move(read));
            if (!corrects_others(other)) continue;
            other.assumed.push_back(
                attn::visible(candidates.others[i]) +
                " is x: with it your other tensors follow from your parameters");
            return other;
        }
    }
    if (!wide.empty()) {
        specified[wide] = "x";
        named = by_step(config, file, specified);
        requested.assumed.push_back(attn::visible(wide) + " is x, by its shape");
    }
    take_dropout(named, requested);
    requested.is_probe = given.has("causal");
    require_all_steps(requested.config, "diagnose");
    attn::SpecifiedSettings settings = requested.specified;
    attn::take_given(given, settings, requested.config);
    bool has_source = arguments.has(sets_x) || given.has("x") || given.has("token_embedding");
    const attn::Tensor* x = named.find("x");
    if (x != nullptr && !has_source) has_source = draws_this_x(requested.config, *x);
    const bool has_memory = requested.config.memory &&
                            !std::holds_alternative<attn::RandomInput>(*requested.config.memory);
    const std::string start = adds ? "token_embedding" : "x";
    requested.may_have_positions = config.position_embedding && x != nullptr && !adds;
    attn::Ledger inputs;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = step_of(config, name, specified);
        const bool missing =
            (step == start && !has_source) || (step == "memory" && !has_memory) ||
            (is_parameter(config, step) && !requested.config.parameters.has(step) &&
             !(step.ends_with("embedding") && has_source));
        const bool kernel = missing && step.starts_with("w_") && name.find("kernel") != name.npos;
        if (kernel && !arguments.has(flags::weight_layout)) {
            requested.config.weight_layout = attn::WeightLayout::in_out;  // as in Keras and Flax
        }
        requested.of_modules = requested.of_modules ||
                               (missing && step.starts_with("w_") && name.ends_with(".weight"));
        if (attn::looks_like_parameter(name) && !is_parameter(config, step) && !is_of_norm(step)) {
            requested.unread_parameters.push_back(name);
        }
        const bool is_mask = may_begin_later && step == "mask" && !requested.specified.mask;
        const bool is_bias = may_begin_later && step == "position_bias" && tensor.dimension() > 1 &&
                             !requested.config.position_bias;
        if ((is_mask || is_bias) && !attn::is_causal(tensor) &&
            take_added_mask(tensor, false, requested.config)) {
            requested.assumed.push_back(attn::visible(name) + " is added to the scores");
            continue;
        }
        attn::Dropout& dropout = requested.config.dropout;
        const auto is_truth = [](double number) { return number == 0 || number == 1; };
        if (dropout.p > 0 && !dropout.keep && step == dropout.keep_name() &&
            std::ranges::all_of(tensor.numbers(), is_truth)) {
            dropout.keep = tensor;
            continue;
        }
        const bool is_idle = lacks_x && wide.empty() && is_parameter(config, step);
        if (is_setting(name, tensor)) {
            if (!given.has(name)) inputs.record(name, tensor);
        } else if (missing && !is_idle && !inputs.has(step)) {
            inputs.record(step, tensor);
        } else {
            requested.user_tensors.record(name, tensor);
        }
    }
    settings.heads = settings.heads || given.has("heads");
    attn::take_given(inputs, settings, requested.config);
    const auto is_matrix = [&named](const char* step) {
        const attn::Tensor* tensor = named.find(step);
        return tensor != nullptr && tensor->dimension() >= 2;
    };
    const bool projected = is_matrix("query") && is_matrix("key") && is_matrix("value");
    const bool from_files = given.has("x") || inputs.has("x") || (!has_source && x == nullptr);
    const bool makes_them =
        std::ranges::any_of(requested.config.parameters.entries(), [&config](const auto& entry) {
            return is_of_attention(config, entry.name) ||
                   (entry.name.starts_with("w_") && entry.name != "w_output");
        });
    requested.takes_projections =
        projected && from_files && !arguments.has(sets_x) && !makes_them && !sets_sizes(arguments);
    // An x of another width is not the user's.
    const auto as_large_as_x = [&](const char* step) { return named[step].size() == x->size(); };
    const bool fits_x =
        x != nullptr && projected && as_large_as_x("query") && as_large_as_x("value");
    if (requested.takes_projections && !given.has("x") && !fits_x) {
        if (inputs.has("memory")) requested.config.memory.reset();
        attn::take_direct_sizes(named, requested.specified, requested.config);
    }
    // Without a value or a parameter, an x in the file has no part in the results of query and key.
    const bool begins_at_query = attn::given_beginning(named) == "query" && inputs.has("x") &&
                                 is_matrix("query") && is_matrix("key");
    const bool begins_later = (begins_at_query || (may_begin_later && x == nullptr)) &&
                              !has_source && !makes_them && !sets_sizes(arguments) &&
                              !attn::given_beginning(named).empty();
    if (begins_later) begin_later(named, settings, requested);
    if (begins_later && begins_at_query) {
        requested.assumed.emplace_back(
            "query and key are taken as given: there are no parameters to compute them from x");
    }
    if (may_begin_later && !requested.specified.mask) {
        const std::string assumed = take_shown_mask(
            named, begins_later ? attn::given_beginning(named) : "", requested.config);
        requested.specified.mask = !assumed.empty();
        if (requested.specified.mask) requested.assumed.push_back(assumed);
    }
    const bool draws_them = arguments.has_any({flags::seed, flags::weights, flags::projection});
    requested.lacks_x = lacks_x && wide.empty() && !requested.takes_projections;
    requested.lacks_parameters = inputs.has(start) && !makes_them && !requested.takes_projections &&
                                 !begins_later && !draws_them &&
                                 requested.config.attentions.empty();
    settings.mask = settings.mask || requested.is_probe;
    const std::vector<std::string> by_shape = attn::take_shapes(named, settings, requested.config);
    requested.assumed.insert(requested.assumed.end(), by_shape.begin(), by_shape.end());
    requested.specified.mask = requested.specified.mask || requested.config.mask.any();
    return requested;
}

}  // namespace app
