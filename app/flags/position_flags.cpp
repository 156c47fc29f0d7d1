#include <algorithm>
#include <array>

#include "app/flags/setting.hpp"
#include "app/terminal/messages.hpp"
#include "attn/files/io/read_tensor.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::QkNorm;
using attn::Rotary;
using attn::WalkConfig;

std::vector<std::int64_t> parse_positions(const Flag& flag, const std::string& text) {
    std::vector<std::int64_t> positions;
    for (const std::string& position : split(text, ',')) {
        positions.push_back(parse_integer(flag.name, position, 0, 999'999'999));
    }
    return positions;
}

/// Those of x and, after a semicolon, those of the memory.
void set_positions(WalkConfig& config, const Flag& flag, const std::string& text) {
    const std::vector<std::string> sources = split(text, ';');
    if (sources.size() > 2) {
        throw attn::ConfigError(flag.name + " takes one list, and a second one for a memory, not " +
                                std::to_string(sources.size()));
    }
    config.positions = parse_positions(flag, sources[0]);
    config.memory_positions.clear();
    if (sources.size() == 2) config.memory_positions = parse_positions(flag, sources[1]);
}

using Scaling = attn::RopeScaling;

/// The numbers of each kind of scaling, in this order.
struct ScalingTakes {
    Scaling::Kind kind;
    const char* example;
    std::vector<double Scaling::*> numbers;
    std::size_t required;
    std::vector<std::vector<double> Scaling::*> lists{};  ///< after the numbers, all of them
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
    return *std::find_if(scalings().begin(), scalings().end(),
                         [kind](const ScalingTakes& takes) { return takes.kind == kind; });
}

/// The named settings of yarn, after its numbers; the first of them longrope too.
constexpr std::array<std::pair<const char*, std::optional<double> Scaling::*>, 3> yarn_names{
    {{"attention_factor", &Scaling::attention_factor},
     {"mscale", &Scaling::mscale},
     {"mscale_all_dim", &Scaling::mscale_all_dim}}};

/// `truncate=false` and its like.
void set_named(Scaling& scaling, const Flag& flag, const std::string& part) {
    const std::string name = part.substr(0, part.find('='));
    const std::string value = part.substr(part.find('=') + 1);
    const bool is_yarn = scaling.kind == Scaling::Kind::yarn;
    if (!is_yarn && name != "attention_factor") {
        refuse_word(flag.name, part, {"attention_factor=X"});
    }
    if (name == "truncate") {
        if (value != "true" && value != "false") refuse_word(flag.name, part, {"truncate=false"});
        scaling.truncate = value == "true";
        return;
    }
    for (const auto& [known, member] : yarn_names) {
        if (name != known) continue;
        scaling.*member = parse_number(flag.name, value);
        return;
    }
    refuse_word(flag.name, part,
                {"truncate=false", "attention_factor=X", "mscale=X", "mscale_all_dim=X"});
}

void set_scaling(WalkConfig& config, const Flag& flag, const std::string& text) {
    if (text == "none") return;
    const std::vector<std::string> parts = split(text, ':');
    Scaling scaling;
    scaling.kind = parse_word<Scaling::Kind>(flag.name, parts[0]);
    const ScalingTakes& takes = takes_of(scaling.kind);
    const bool by_name =
        scaling.kind == Scaling::Kind::yarn || scaling.kind == Scaling::Kind::longrope;
    const std::size_t most = takes.numbers.size() + takes.lists.size();
    std::size_t numbers = 0;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (by_name && parts[i].find('=') != std::string::npos) {
            set_named(scaling, flag, parts[i]);
            continue;
        }
        const std::size_t place = numbers++;
        if (place < takes.numbers.size()) {
            scaling.*takes.numbers[place] = parse_number(flag.name, parts[i]);
        } else if (place < most) {
            for (const std::string& number : split(parts[i], ',')) {
                (scaling.*takes.lists[place - takes.numbers.size()])
                    .push_back(parse_number(flag.name, number));
            }
        }
    }
    if (numbers < takes.required + takes.lists.size() || numbers > most) {
        throw attn::ConfigError(flag.name + " " + text + " has not the numbers that " + parts[0] +
                                " takes: write it like " + takes.example);
    }
    config.rotary.scaling = scaling;
}

std::string scaling_json(const Plan& plan) {
    const std::optional<Scaling>& scaling = plan.config.rotary.scaling;
    if (!scaling) return json_of(std::string());
    std::string text(attn::word(scaling->kind));
    for (double Scaling::*const member : takes_of(scaling->kind).numbers) {
        text += ":" + attn::json_number((*scaling).*member);
    }
    for (const auto list : takes_of(scaling->kind).lists) {
        const char* between = ":";
        for (const double number : (*scaling).*list) {
            text += between + attn::json_number(number);
            between = ",";
        }
    }
    if (!scaling->truncate) text += ":truncate=false";
    for (const auto& [name, member] : yarn_names) {
        const std::optional<double>& number = (*scaling).*member;
        if (number) text += std::string(":") + name + "=" + attn::json_number(*number);
    }
    return json_of(text);
}

std::vector<std::string> scaling_words() {
    std::vector<std::string> words;
    for (const ScalingTakes& takes : scalings()) words.emplace_back(takes.example);
    return words;
}

bool counts(const Plan& plan) { return plan.rotates() || plan.adds_positions(); }
bool norms(const Plan& plan) { return plan.norms(); }
bool norms_and_rotates(const Plan& plan) { return plan.norms() && plan.rotates(); }
bool rotates(const Plan& plan) { return plan.rotates(); }

std::string positions_json(const Plan& plan) {
    if (!counts(plan)) return json_of(std::string());
    const std::string positions = json_of(plan.config.positions);
    if (!plan.has_memory || !rotates(plan)) return positions;
    return "[" + positions + "," + json_of(plan.config.memory_positions) + "]";
}

/// `alibi`, `t5`, `t5:32:128` (buckets and the largest distance), or a file.
void set_position_bias(WalkConfig& config, const Flag& flag, const std::string& text) {
    using Of = attn::PositionBias::Kind;
    attn::PositionBias bias;
    const std::vector<std::string> parts = split(text, ':');
    if (parts[0] == "t5" && (parts.size() == 1 || parts.size() == 3)) {
        bias.kind = Of::t5;
        if (parts.size() == 3) {
            bias.buckets = parse_integer(flag.name + " t5", parts[1], 1, 1'000'000);
            bias.max_distance = parse_integer(flag.name + " t5", parts[2], 1, 1'000'000'000);
        }
    } else if (text != "alibi") {
        if (parts[0] == "t5" || !names_a_file(text)) {
            refuse_word(flag.name, text, {"alibi", "t5", "t5:32:128", "a file"});
        }
        bias.kind = Of::file;
        bias.given = attn::read_tensor(text, report_note);
    }
    config.position_bias = std::move(bias);
}

std::string position_bias_json(const Plan& plan) {
    using Of = attn::PositionBias::Kind;
    const std::optional<attn::PositionBias>& bias = plan.config.position_bias;
    if (!bias) return json_of(std::string());
    if (bias->kind != Of::t5) {
        return attn::json_string(bias->kind == Of::alibi ? "alibi" : "file");
    }
    return attn::json_string("t5:" + std::to_string(bias->buckets) + ":" +
                             std::to_string(bias->max_distance));
}

}  // namespace

std::vector<Flag> position_rows() {
    const Need rope{nullptr, rotates, "rotary positions: add --rope half"};
    return {
        setting<&WalkConfig::position_embedding>(
            "--position-embedding", "KIND",
            "add a row for its position to each token: of a learned table (GPT-2, BERT), or the "
            "sines and cosines of the first Transformer",
            "none"),
        Flag{"--positions",
             "N,N",
             "where the tokens stand: 7,8,9; after a semicolon those of the memory",
             {},
             "0,1,2,..."}
            .set_by(set_positions)
            .recorded("positions", positions_json)
            .needing(
                {nullptr, counts, "positions: add --rope half or --position-embedding learned"}),
        setting<&WalkConfig::rotary, &Rotary::pairing>(
            flags::rope, "PAIRING",
            "rotary positions: rotate pairs of features of query and key, each with the one half a "
            "head away (Llama, Qwen) or with its neighbour (GPT-J)",
            "none"),
        setting<&WalkConfig::rotary, &Rotary::theta>(
            flags::rope_theta, "X", "base of the rotary frequencies theta^(-2i/rotary-dim)")
            .needing(rope),
        setting<&WalkConfig::rotary, &Rotary::dim>(
            flags::rotary_dim, "N", "the first N features of each head rotate, the others do not",
            "head-dim")
            .needing(rope),
        Flag{flags::rope_scaling, "KIND:N:...",
             "rotary frequencies for inputs longer than those of training: linear:F, "
             "dynamic:F:LENGTH, llama3:F:LOW:HIGH:LENGTH, longrope:F:LENGTH:SHORT:LONG with two "
             "lists of a factor for each pair (1,1.1), or yarn:F:LENGTH[:FAST:SLOW], with "
             "truncate=false, attention_factor=X, mscale=X and mscale_all_dim=X after colons",
             such_as(scaling_words), "none"}
            .set_by(set_scaling)
            .recorded("rope_scaling", scaling_json)
            .needing(rope),
        Flag{flags::position_bias, "HOW",
             "a number added to each score by its distance: alibi, t5 (t5:32:128 are buckets and "
             "the largest distance), or a file",
             such_as("alibi t5"), "none"}
            .being(or_file)
            .set_by(set_position_bias)
            .recorded("position_bias", position_bias_json),
        setting<&WalkConfig::qk_norm, &QkNorm::over>(
            "--qk-norm", "OVER",
            "normalise query and key: RMSNorm over each head (Qwen3, Gemma 3), over all heads "
            "together (OLMo 2), or each row to length 1",
            "none")
            .being(of_model),
        setting<&WalkConfig::qk_norm, &QkNorm::place>(
            "--qk-norm-place", "WHERE", "normalise query and key before they rotate, or after")
            .needing({nullptr, norms_and_rotates, "--qk-norm head and --rope half"}),
        setting<&WalkConfig::qk_norm, &QkNorm::eps>(
            "--norm-eps", "X",
            "added to the mean square in the norms of query and key; of l2 the "
            "least length")
            .needing({nullptr, norms, "a norm: add --qk-norm head"}),
    };
}

}  // namespace app
