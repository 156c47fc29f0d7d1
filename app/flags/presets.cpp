#include "app/flags/config_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/flags/output_flags.hpp"
#include "attn/ground/text/json.hpp"

namespace app {
namespace {

/// A family of models: settings for a small walk with its form of attention.
struct Preset {
    std::string_view name;
    std::string_view what;  ///< properties of its attention, in a few words
    std::string_view line;  ///< settings
};

// Small sizes that keep the essentials: how many heads share keys, which part of a head is rotated,
// and widths that differ. Numbers that do not depend on the size are the family's own.
constexpr Preset presets[] = {
    {"gpt2", "one weight for query, key and value, learned positions, causal",
     "projection fused, heads 3, head-dim 4, bias, output-projection, output-bias, mask causal, "
     "position-embedding learned"},
    {"bert", "bidirectional, learned positions",
     "heads 3, head-dim 4, bias, output-projection, output-bias, position-embedding learned"},
    {"t5", "unscaled scores, a learned bias for each distance (here the encoder's)",
     "heads 3, head-dim 4, output-projection, scale none, position-bias t5"},
    {"neox", "weights head by head, a quarter of each head rotates (GPT-NeoX, Pythia)",
     "projection fused-by-head, heads 3, head-dim 8, bias, output-projection, output-bias, mask "
     "causal, rope half, rotary-dim 2"},
    {"phi", "part of each head rotates (Phi-2)",
     "heads 3, head-dim 10, bias, output-projection, output-bias, mask causal, rope half, "
     "rotary-dim 4"},
    {"phi3", "one weight for query, key and value, a divisor for each pair (Phi-3, 128k)",
     "projection fused, heads 3, head-dim 4, output-projection, mask causal, rope half, "
     "rope-scaling longrope:32:4096:1,1.1:2,40"},
    {"deepseek", "keys and values of all heads from one latent (DeepSeek V2 and V3)",
     "heads 3, head-dim 4, embed-dim 10, output-projection, mask causal, mla 6, mla-query-rank 5, "
     "rotary-dim 2"},
    {"llama2", "rotary positions, no biases",
     "heads 3, head-dim 4, output-projection, mask causal, rope half"},
    {"mistral", "grouped heads and a sliding window (Mistral 7B v0.1)",
     "heads 6, kv-heads 2, head-dim 4, output-projection, mask causal,window:4, rope half"},
    {"llama3", "grouped heads, slow rotation for long inputs (Llama 3.1)",
     "heads 6, kv-heads 2, head-dim 4, output-projection, mask causal, rope half, rope-theta "
     "500000, rope-scaling llama3:8:1:4:8192"},
    {"qwen2", "grouped heads, biases only on query, key and value",
     "heads 6, kv-heads 2, head-dim 4, bias, output-projection, mask causal, rope half, rope-theta "
     "1000000"},
    {"gemma2", "scores capped at 50, grouped heads, every second layer a window",
     "heads 4, kv-heads 2, head-dim 6, embed-dim 10, output-projection, mask causal,window:4, rope "
     "half, softcap 50"},
    {"olmo2", "query and key normalised over all heads",
     "heads 3, head-dim 4, output-projection, mask causal, rope half, rope-theta 500000, qk-norm "
     "all"},
    {"qwen3", "query and key normalised in each head, head-dim independent of embed-dim",
     "heads 6, kv-heads 2, head-dim 4, embed-dim 10, output-projection, mask causal, rope half, "
     "rope-theta 1000000, qk-norm head"},
    {"gemma3", "one key head, normalised query and key, five of six layers a window",
     "heads 4, kv-heads 1, head-dim 6, embed-dim 10, output-projection, mask causal,window:4, rope "
     "half, qk-norm head"},
    {"gpt-oss", "a learned sink for each head, biases everywhere, every second layer a window",
     "heads 6, kv-heads 2, head-dim 4, embed-dim 10, bias, output-projection, output-bias, mask "
     "causal,window:4, rope half, rope-theta 150000, sink randn"},
};

/// Returns the line as flags.
std::string flags_of(const Preset& preset) {
    std::string flags;
    for (const auto& [name, text] : attn::settings_in(preset.line)) {
        flags += (flags.empty() ? "--" : " --") + name + (text.empty() ? "" : " ") + text;
    }
    return flags;
}

}  // namespace

std::vector<std::string> preset_names() { return collected<std::string>(presets, &Preset::name); }

Arguments with_preset(Arguments typed) {
    if (!typed.has(flags::preset)) return typed;
    const std::string name = typed[flags::preset];
    Arguments preset(typed.tables());
    const auto line = std::ranges::find(presets, name, &Preset::name)->line;
    preset.specify(
        collected(attn::settings_in(line), [&](const auto& setting) -> Arguments::SpecifiedFlag {
            return {typed.find("--" + setting.name), setting.text};
        }));
    preset.came_from({"--preset " + name});
    typed.set_defaults_from(preset);
    return typed;
}

void write_presets(const Arguments& arguments) {
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const Preset& preset : presets) {
        const auto& [name, what, line] = preset;
        const std::string flags = flags_of(preset);
        text += fmt::format("{:10}{}\n{:10}{}\n", name, what, "", flags);
        rows.push_back({{"name", name}, {"title", what}, {"flags", flags}});
    }
    write_text_or_json(arguments, text, rows);
}

}  // namespace app
