#include "app/commands/diagnose_setup.hpp"

#include <algorithm>

#include "app/flags/ledger_file.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/diagnose/replay.hpp"
#include "attn/diagnose/their_tensors.hpp"

namespace app {
namespace {

/// Whether the flags describe an x to draw, or parameters.
bool says_sizes(const Arguments& arguments) {
    return arguments.has_any(
        {flags::batch, flags::seq_len, flags::embed_dim, flags::weights, flags::seed});
}

bool is_parameter(const std::string& name) {
    const attn::StepTable& table = attn::step_table();
    const std::size_t place = attn::place_of(table, name);
    return place < table.size() &&
           (table[place].kind == attn::Step::Kind::parameter || name == "position_table" ||
            name == "past_key" || name == "past_value");
}

/// The step that a tensor of that name is taken for: what --map says, else what the name says.
std::string step_of(const std::string& name, const std::map<std::string, std::string>& said) {
    const auto found = said.find(name);
    if (found != said.end()) return found->second;
    const std::vector<std::string> steps = attn::known_steps(name);
    return steps.empty() ? "" : steps.front();
}

/// Not the heads of a context, nor a causal mask.
bool is_setting(const std::string& name, const attn::Tensor& tensor) {
    return tensor.dimension() <= 1 && (name == "heads" || name == "causal" || name == "lengths");
}

/// Takes the settings of the given file that no flag sets; `probe` writes them beside its tensors.
void take_settings(const Arguments& arguments, const attn::Ledger& given,
                   attn::WalkConfig& config) {
    const auto number = [&given](const char* name) -> std::optional<double> {
        const attn::Tensor* tensor = given.find(name);
        return tensor != nullptr && tensor->size() == 1 ? std::optional(tensor->at(0))
                                                        : std::nullopt;
    };
    const std::optional<double> heads = number("heads"), causal = number("causal");
    if (!arguments.has(flags::heads) && heads) config.heads = static_cast<std::int64_t>(*heads);
    const attn::Tensor* lengths = given.find("lengths");
    if (lengths != nullptr && config.lengths.empty()) {
        for (const double each : lengths->numbers()) {
            config.lengths.push_back(static_cast<std::int64_t>(each));
        }
    }
    if (!arguments.has(flags::mask) && !arguments.has(flags::mask_file)) {
        // A model has said its own mask already.
        if (causal) config.mask.causal = *causal != 0;
        if (lengths != nullptr && lengths->size() > 0) config.mask.padding = true;
    }
    if (!arguments.has(flags::projection) && given.has("w_qkv")) {
        config.projection = attn::Projection::fused;
    }
    config.bias = config.bias || given.has("b_query") || given.has("b_qkv");
    config.output_projection = config.output_projection || given.has("w_output");
    config.output_bias = config.output_bias || given.has("b_output");
    if (given.has("sink") && !config.sink) config.sink = attn::SinkLogit::given;
}

/// Takes x, memory and parameters from the file that was given for that.
void take_given(const attn::Ledger& given, attn::WalkConfig& config) {
    for (const auto& [name, tensor] : given.entries()) {
        // With added positions the input is the token embedding; x is its sum with them.
        const bool adds = config.position_embedding && given.has("token_embedding");
        if (name == (adds ? "token_embedding" : "x")) {
            config.input = tensor;
            config.query_len.reset();
        } else if (name == "memory") {
            config.memory = tensor;
            config.key_len.reset();
        } else if (is_parameter(name)) {
            config.parameters.record(name, tensor);
        }
    }
}

/// A given mask, true where it hides, for a walk whose flags name none.
void take_mask(const attn::Ledger& given, attn::WalkConfig& config) {
    const attn::Tensor* mask = given.find("mask");
    if (mask == nullptr || config.mask.any()) return;
    attn::Array<bool> hidden = attn::empty_array<bool>(mask->shape());
    for (std::size_t i = 0; i < mask->size(); ++i) hidden.data()[i] = mask->at(i) != 0;
    config.mask.given = attn::Tensor(mask->axes(), std::move(hidden));
}

/// Whether the flags, without a word about x, draw the very x that the file has.
bool draws_this_x(const attn::WalkConfig& config, const attn::Tensor& x) {
    try {
        const attn::Plan plan = attn::resolve(config);
        attn::Replay replay(plan, attn::draw(plan));
        const attn::Tensor* ours = replay.step("x");
        return ours != nullptr && attn::judged(x, *ours, {1e-6, 1e-6}).right();
    } catch (const attn::Error&) {
        return false;  // these flags are for the file's x
    }
}

/// The sizes of a walk that starts with their query, key and value: nothing else says them.
void take_sizes(const attn::Ledger& named, bool says_heads, attn::WalkConfig& config) {
    config.projection = attn::Projection::none;
    config.input = attn::RandomInput{};
    const attn::Shape query = named["query"].shape();
    const attn::Tensor* cells = named.find("weights");
    if (cells == nullptr) cells = named.find("scores");
    // (batch, head, token, feature), unless a tensor over queries and keys says where the heads
    // are.
    std::size_t samples = query.size() > 2 ? query.front() : 0;
    std::size_t heads = query.size() == 4 ? query[1] : static_cast<std::size_t>(config.heads);
    std::size_t tokens = query[query.size() - 2];
    if (cells != nullptr && cells->dimension() == 4) {
        samples = cells->shape()[0];
        heads = cells->shape()[1];
        tokens = cells->shape()[2];
    }
    const attn::Shape key = named["key"].shape();
    const attn::Shape value = named["value"].shape();
    std::size_t keys =
        cells != nullptr && cells->dimension() > 1 ? cells->shape().back() : key[key.size() - 2];
    if (says_heads) heads = static_cast<std::size_t>(config.heads);
    // (head, token, feature) where all heads are as wide as what the output is made of.
    if (const attn::Tensor* w = config.parameters.find("w_output");
        w != nullptr && w->dimension() == 2 && query.size() == 3 && cells == nullptr) {
        const bool in_out = config.weight_layout == attn::WeightLayout::in_out;
        if (samples * value.back() == w->shape()[in_out ? 0 : 1]) heads = samples;
    }
    // (batch * head, token, feature) beside (batch * head, query, key).
    const bool joined =
        query.size() == 3 && samples % heads == 0 &&
        (cells == nullptr ? heads == samples
                          : cells->dimension() == 3 && cells->shape()[0] == samples);
    if (joined) samples /= heads;
    const std::size_t all = std::max<std::size_t>(samples, 1) * heads * tokens;
    if (samples != 0 && !config.batch) config.batch = static_cast<std::int64_t>(samples);
    config.heads = static_cast<std::int64_t>(heads);
    config.query_len = static_cast<std::int64_t>(tokens);
    config.head_dim =
        static_cast<std::int64_t>(named["query"].size() / std::max<std::size_t>(all, 1));
    if (keys != tokens && !config.memory && !config.past) {
        config.memory = attn::RandomInput{};
        config.key_len = static_cast<std::int64_t>(keys);
    }
    if (key.size() == 4 && key[1] < heads && !config.kv_heads) {
        config.kv_heads = static_cast<std::int64_t>(key[1]);
    }
    const auto kv_heads =
        static_cast<std::size_t>(std::max<std::int64_t>(config.kv_heads.value_or(config.heads), 1));
    const std::size_t rows = std::max<std::size_t>(samples, 1) * kv_heads * keys;
    config.value_dim =
        static_cast<std::int64_t>(named["value"].size() / std::max<std::size_t>(rows, 1));
}

/// Their tensors under the steps' names, where these leave no doubt.
attn::Ledger by_step(const attn::Ledger& file, const std::map<std::string, std::string>& said) {
    attn::Ledger named;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string known = step_of(name, said);
        const std::string step = known.empty() ? name : known;
        // Of several the one with all its axes tells the most.
        const std::size_t known_axes = named.has(step) ? named[step].dimension() : 0;
        if (tensor.dimension() > known_axes) named.record(step, tensor);
    }
    return named;
}

/// A file of inputs under the steps' names. What it has besides is not used, which is said.
attn::Ledger inputs_by_step(const attn::Ledger& file) {
    attn::Ledger named;
    std::string unused;
    for (const auto& [name, tensor] : file.entries()) {
        const bool setting = is_setting(name, tensor);
        const std::string step = setting ? name : step_of(name, {});
        const bool is_input = setting || is_parameter(step) || step == "x" ||
                              step == "token_embedding" || step == "memory" || step == "mask";
        if (is_input && !named.has(step)) {
            named.record(step, tensor);
        } else {
            unused += (unused.empty() ? "" : ", ") + name;
        }
    }
    if (!unused.empty()) report_note("--given: not used: " + unused);
    return named;
}

/// Whether a square tensor has one value up to the diagonal and another one after it.
bool is_causal(const attn::Tensor& mask) {
    const attn::Shape shape = mask.shape();
    if (shape.size() < 2 || shape.back() < 2) return false;
    const std::size_t tokens = shape.back();
    if (mask.size() != tokens * tokens || shape[shape.size() - 2] != tokens) return false;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        const bool later = i % tokens > i / tokens;
        if (mask.at(i) != mask.at(later ? 1 : 0)) return false;
    }
    return mask.at(0) != mask.at(1);
}

/// Sizes read off the shapes of x, parameters and their tensors, where no flag sets them.
class Sizes {
public:
    Sizes(const Arguments& arguments, Asked& asked) : arguments_(arguments), asked_(asked) {}

    void take(const attn::Ledger& named, bool knows_heads) {
        const auto* x = std::get_if<attn::Tensor>(&asked_.config.input);
        if (x == nullptr || x->dimension() < 2) return;
        features_ = x->shape().back();
        tokens_ = x->shape()[x->dimension() - 2];
        samples_ = x->dimension() - 2;
        if (!arguments_.has(flags::weight_layout)) take_layout();
        if (!arguments_.has(flags::heads) && !knows_heads) take_heads(named);
        take_widths();
    }

private:
    const attn::Tensor* matrix(const char* name) const {
        const attn::Tensor* found = asked_.config.parameters.find(name);
        return found != nullptr && found->dimension() == 2 ? found : nullptr;
    }
    void assume(const std::string& what) { asked_.assumed.push_back(what); }

    /// The side of a matrix that multiplies x is as long as x has features.
    void take_layout() {
        for (const char* name : {"w_query", "w_qkv"}) {
            const attn::Tensor* w = matrix(name);
            if (w == nullptr || w->shape()[0] == w->shape()[1]) continue;
            if (w->shape()[0] != features_) continue;
            asked_.config.weight_layout = attn::WeightLayout::in_out;
            assume("--weight-layout in-out, by the shape of " + std::string(name));
        }
    }

    /// One axis more than samples and a matrix have counts the heads.
    void take_heads(const attn::Ledger& named) {
        for (const char* name : {"weights", "scores", "scaled_scores", "masked_scores", "query"}) {
            const attn::Tensor* cells = named.find(name);
            if (cells == nullptr || cells->dimension() != samples_ + 3) continue;
            const std::size_t first = cells->shape()[samples_];
            const std::size_t second = cells->shape()[samples_ + 1];
            const bool tokens_first =
                name == std::string("query") && first == tokens_ && second != tokens_;
            asked_.config.heads = static_cast<std::int64_t>(tokens_first ? second : first);
            assume("--heads " + std::to_string(asked_.config.heads) + ", by the shape of the " +
                   name);
            return;
        }
    }

    void take_widths() {
        const auto heads = static_cast<std::size_t>(std::max<std::int64_t>(asked_.config.heads, 1));
        const auto kv_heads = static_cast<std::size_t>(
            std::max<std::int64_t>(asked_.config.kv_heads.value_or(asked_.config.heads), 1));
        const auto outputs = [&](const attn::Tensor& w) {
            const bool in_out = asked_.config.weight_layout == attn::WeightLayout::in_out;
            return w.shape()[in_out ? 1 : 0];
        };
        const auto set = [&](const Name& flag, const char* name, std::optional<std::int64_t>& size,
                             std::size_t of_heads) {
            const attn::Tensor* w = matrix(name);
            if (w == nullptr || size || arguments_.has(flag) || outputs(*w) % of_heads != 0) return;
            const std::size_t each = outputs(*w) / of_heads;
            const auto usual = static_cast<std::size_t>(asked_.config.head_dim.value_or(0));
            if (usual == 0 ? each * heads == features_ : each == usual) return;
            size = static_cast<std::int64_t>(each);
            assume(std::string(flag) + " " + std::to_string(each) + ", by the shape of " + name);
        };
        set(flags::head_dim, "w_query", asked_.config.head_dim, heads);
        set(flags::value_dim, "w_value", asked_.config.value_dim, kv_heads);
        set(flags::head_dim, "w_qkv", asked_.config.head_dim, heads + 2 * kv_heads);
    }

    const Arguments& arguments_;
    Asked& asked_;
    std::size_t features_ = 0;
    std::size_t tokens_ = 0;
    std::size_t samples_ = 0;  ///< axes before tokens and features
};

}  // namespace

bool says_mask(const Arguments& arguments, const attn::WalkConfig& config) {
    return arguments.has(flags::mask) || arguments.has(flags::mask_file) || config.mask.any();
}

Asked asked_walk(const Arguments& arguments, const attn::Ledger& file,
                 const std::map<std::string, std::string>& said) {
    const attn::Ledger given = arguments.has(flags::given)
                                   ? inputs_by_step(read_ledger(arguments[flags::given], true))
                                   : attn::Ledger();
    const attn::Ledger named = by_step(file, said);
    Asked asked{config_of(arguments), {}, false};
    asked.is_probe = given.has("causal");
    take_settings(arguments, given, asked.config);
    require_all_steps(asked.config, "diagnose");
    take_given(given, asked.config);
    take_mask(given, asked.config);
    bool has_source = arguments.has(says_x) || given.has("x") || given.has("token_embedding");
    const attn::Tensor* x = named.find("x");
    if (x != nullptr && !has_source) has_source = draws_this_x(asked.config, *x);
    const bool has_memory = asked.config.memory.has_value();
    attn::Ledger inputs;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = step_of(name, said);
        const bool missing = (step == "x" && !has_source) || (step == "memory" && !has_memory) ||
                             (is_parameter(step) && !asked.config.parameters.has(step) &&
                              !(step.ends_with("embedding") && has_source));
        if (is_setting(name, tensor)) {
            if (!given.has(name)) inputs.record(name, tensor);
        } else if (missing && !inputs.has(step)) {
            inputs.record(step, tensor);
        } else {
            asked.theirs.record(name, tensor);
        }
    }
    take_settings(arguments, inputs, asked.config);
    take_given(inputs, asked.config);
    const auto is_matrix = [&named](const char* step) {
        const attn::Tensor* tensor = named.find(step);
        return tensor != nullptr && tensor->dimension() >= 2;
    };
    const bool projected = is_matrix("query") && is_matrix("key") && is_matrix("value");
    const bool from_files = given.has("x") || inputs.has("x") || (!has_source && x == nullptr);
    const bool makes_them =
        !std::ranges::all_of(asked.config.parameters.entries(),
                             [](const auto& entry) { return entry.name.ends_with("_output"); });
    asked.takes_projections =
        projected && from_files && !arguments.has(says_x) && !makes_them && !says_sizes(arguments);
    if (asked.takes_projections && !given.has("x") && !inputs.has("x")) {
        take_sizes(named, arguments.has(flags::heads), asked.config);
    }
    Sizes(arguments, asked).take(named, given.has("heads"));
    if (const attn::Tensor* mask = named.find("mask"); mask != nullptr && !asked.is_probe &&
                                                       !says_mask(arguments, asked.config) &&
                                                       is_causal(*mask)) {
        asked.config.mask.causal = true;
        asked.assumed.emplace_back("--mask causal, by your mask");
    }
    return asked;
}

}  // namespace app
