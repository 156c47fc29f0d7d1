#include <algorithm>
#include <array>

#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"

// Positions: embeddings, rotation, bias, and the norms of query and key.

namespace attn {
namespace {

std::vector<std::int64_t> parse_positions(std::string_view called, const std::string& text) {
    std::vector<std::int64_t> positions;
    for (const std::string& position : split(text, ',')) {
        positions.push_back(parse_integer(called, position, 0, 999'999'999));
    }
    return positions;
}

/// Sets the positions of x and, after a semicolon, those of the memory.
void set_positions(WalkConfig& config, std::string_view called, const std::string& text) {
    const std::vector<std::string> sources = split(text, ';');
    if (sources.size() > 2) {
        throw ConfigError(std::string(called) +
                          " takes one list, and a second one for a memory, not " +
                          std::to_string(sources.size()));
    }
    config.positions = parse_positions(called, sources[0]);
    config.memory_positions.clear();
    if (sources.size() == 2) config.memory_positions = parse_positions(called, sources[1]);
}

std::string positions_text(const WalkConfig& config) {
    const std::string positions = text_of(config.positions);
    return config.memory_positions.empty() ? positions
                                           : positions + ";" + text_of(config.memory_positions);
}

std::string positions_json(const Plan& plan) {
    if (!plan.rotates() && !plan.adds_positions()) return record_of("");
    const std::string positions = "[" + text_of(plan.config.positions) + "]";
    if (!plan.has_memory || !plan.rotates()) return positions;
    return "[" + positions + ",[" + text_of(plan.config.memory_positions) + "]]";
}

using Scaling = RopeScaling;

/// The numbers of each kind of scaling, in this order.
struct ScalingTakes {
    Scaling::Kind kind;
    const char* example;
    std::vector<double Scaling::*> numbers;
    std::size_t required;
    std::vector<std::vector<double> Scaling::*> lists{};  ///< after the numbers, complete
};

const std::vector<ScalingTakes>& scalings() {
    static const std::vector<ScalingTakes> all{
        {Scaling::Kind::linear, "linear:4", {&Scaling::factor}, 1},
        {Scaling::Kind::dynamic, "dynamic:4:8192", {&Scaling::factor, &Scaling::length}, 2},
        {Scaling::Kind::llama3,
         "llama3:8:1:4:8192",
         {&Scaling::factor, &Scaling::low, &Scaling::high, &Scaling::length},
         4},
        {Scaling::Kind::yarn,
         "yarn:32:4096",
         {&Scaling::factor, &Scaling::length, &Scaling::beta_fast, &Scaling::beta_slow},
         2},
        {Scaling::Kind::longrope,
         "longrope:32:4096:1,1.1:2,40",
         {&Scaling::factor, &Scaling::length},
         2,
         {&Scaling::short_factors, &Scaling::long_factors}}};
    return all;
}

const ScalingTakes& takes_of(Scaling::Kind kind) {
    return *std::ranges::find(scalings(), kind, &ScalingTakes::kind);
}

/// The named settings of yarn, after its numbers; longrope has only the first.
constexpr std::array<std::pair<const char*, std::optional<double> Scaling::*>, 3> yarn_names{
    {{"attention_factor", &Scaling::attention_factor},
     {"mscale", &Scaling::mscale},
     {"mscale_all_dim", &Scaling::mscale_all_dim}}};

/// Sets `truncate=false` and the like.
void set_named(Scaling& scaling, std::string_view called, const std::string& part) {
    const std::string name = part.substr(0, part.find('='));
    const std::string value = part.substr(part.find('=') + 1);
    const bool is_yarn = scaling.kind == Scaling::Kind::yarn;
    if (!is_yarn && name != "attention_factor") refuse_word(called, part, {"attention_factor=X"});
    if (name == "truncate") {
        if (value != "true" && value != "false") refuse_word(called, part, {"truncate=false"});
        scaling.truncate = value == "true";
        return;
    }
    for (const auto& [known, member] : yarn_names) {
        if (name != known) continue;
        scaling.*member = parse_number(called, value);
        return;
    }
    refuse_word(called, part,
                {"truncate=false", "attention_factor=X", "mscale=X", "mscale_all_dim=X"});
}

void set_scaling(WalkConfig& config, std::string_view called, const std::string& text) {
    if (text == "none") return;
    const std::vector<std::string> parts = split(text, ':');
    Scaling scaling;
    scaling.kind = parse_word<Scaling::Kind>(called, parts[0]);
    const ScalingTakes& takes = takes_of(scaling.kind);
    const bool by_name =
        scaling.kind == Scaling::Kind::yarn || scaling.kind == Scaling::Kind::longrope;
    const std::size_t most = takes.numbers.size() + takes.lists.size();
    std::size_t numbers = 0;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (by_name && parts[i].find('=') != std::string::npos) {
            set_named(scaling, called, parts[i]);
            continue;
        }
        const std::size_t place = numbers++;
        if (place < takes.numbers.size()) {
            scaling.*takes.numbers[place] = parse_number(called, parts[i]);
        } else if (place < most) {
            for (const std::string& number : split(parts[i], ',')) {
                (scaling.*takes.lists[place - takes.numbers.size()])
                    .push_back(parse_number(called, number));
            }
        }
    }
    if (numbers < takes.required + takes.lists.size() || numbers > most) {
        throw ConfigError(std::string(called) + " " + text + " does not have the numbers that " +
                          parts[0] + " takes: write it like " + takes.example);
    }
    config.rotary.scaling = scaling;
}

std::string scaling_text(const WalkConfig& config) {
    const std::optional<Scaling>& scaling = config.rotary.scaling;
    if (!scaling) return {};
    std::string text(word(scaling->kind));
    for (double Scaling::*const member : takes_of(scaling->kind).numbers) {
        text += ":" + json_number((*scaling).*member);
    }
    for (const auto list : takes_of(scaling->kind).lists) {
        const char* between = ":";
        for (const double number : (*scaling).*list) {
            text += between + json_number(number);
            between = ",";
        }
    }
    if (!scaling->truncate) text += ":truncate=false";
    for (const auto& [name, member] : yarn_names) {
        const std::optional<double>& number = (*scaling).*member;
        if (number) text += std::string(":") + name + "=" + json_number(*number);
    }
    return text;
}

std::vector<std::string> scaling_words() {
    std::vector<std::string> all;
    for (const ScalingTakes& takes : scalings()) all.emplace_back(takes.example);
    return all;
}

/// Sets `alibi`, `t5`, `t5:32:128`: buckets and the largest distance.
void set_position_bias(WalkConfig& config, std::string_view called, const std::string& text) {
    using Of = PositionBias::Kind;
    PositionBias bias;
    const std::vector<std::string> parts = split(text, ':');
    if (parts[0] == "t5" && (parts.size() == 1 || parts.size() == 3)) {
        bias.kind = Of::t5;
        if (parts.size() == 3) {
            const std::string named = std::string(called) + " t5";
            bias.buckets = parse_integer(named, parts[1], 1, 1'000'000);
            bias.max_distance = parse_integer(named, parts[2], 1, 1'000'000'000);
        }
    } else if (text != "alibi") {
        refuse_word(called, text, {"alibi", "t5", "t5:32:128", "a file"});
    }
    config.position_bias = std::move(bias);
}

std::string position_bias_text(const WalkConfig& config) {
    using Of = PositionBias::Kind;
    const std::optional<PositionBias>& bias = config.position_bias;
    if (!bias) return {};
    if (bias->kind != Of::t5) return bias->kind == Of::alibi ? "alibi" : "file";
    return "t5:" + std::to_string(bias->buckets) + ":" + std::to_string(bias->max_distance);
}

}  // namespace

std::vector<Setting> position_settings() {
    return {
        member_setting<&WalkConfig::position_embedding>("position-embedding", "none"),
        taking(own_setting("positions", set_positions, positions_text, positions_json), {},
               "0,1,2,..."),
        member_setting<&WalkConfig::rotary, &Rotary::pairing>("rope", "none"),
        member_setting<&WalkConfig::rotary, &Rotary::theta>("rope-theta"),
        member_setting<&WalkConfig::rotary, &Rotary::dim>("rotary-dim", "head-dim"),
        taking(own_setting("rope-scaling", set_scaling, scaling_text), such_as(scaling_words),
               "none"),
        taking(own_setting("position-bias", set_position_bias, position_bias_text),
               such_as("alibi t5"), "none"),
        member_setting<&WalkConfig::qk_norm, &QkNorm::over>("qk-norm", "none"),
        member_setting<&WalkConfig::qk_norm, &QkNorm::place>("qk-norm-place"),
        member_setting<&WalkConfig::qk_norm, &QkNorm::eps>("norm-eps"),
    };
}

}  // namespace attn
