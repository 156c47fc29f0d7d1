#include "app/flags/setting.hpp"
#include "app/flags/walk_rows.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::Rotary;
using attn::WalkConfig;

std::vector<std::int64_t> parse_positions(const Flag& flag, const std::string& text) {
    std::vector<std::int64_t> positions;
    for (const std::string& position : split(text, ',')) {
        positions.push_back(parse_integer(flag.name, position, 0, 999'999'999));
    }
    return positions;
}

/// Those of x and, behind a semicolon, those of the memory.
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

bool rotates(const Plan& plan) { return plan.rotates(); }

std::string positions_json(const Plan& plan) {
    if (!rotates(plan)) return json_of(std::string());
    const std::string positions = json_of(plan.config.positions);
    if (!plan.has_memory) return positions;
    return "[" + positions + "," + json_of(plan.config.memory_positions) + "]";
}

}  // namespace

std::vector<Flag> position_rows() {
    const Need rope{nullptr, rotates, "rotary positions: add --rope half"};
    return {
        Flag{"--positions",
             "N,N",
             "where the tokens stand: 7,8,9; behind a semicolon those of the memory",
             {},
             "0,1,2,..."}
            .set_by(set_positions)
            .recorded("positions", positions_json)
            .needing(rope),
        setting<&WalkConfig::rotary, &Rotary::pairing>(
            "--rope", "PAIRING",
            "rotary positions: turn pairs of features of query and key, each with the one half a "
            "head away (Llama, Qwen) or with its neighbour (GPT-J)",
            "none"),
        setting<&WalkConfig::rotary, &Rotary::theta>(
            "--rope-theta", "X", "base of the rotary frequencies theta^(-2i/rotary-dim)")
            .needing(rope),
        setting<&WalkConfig::rotary, &Rotary::dim>(
            "--rotary-dim", "N", "features of each head that turn, from the first", "head-dim")
            .needing(rope),
    };
}

}  // namespace app
