#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/walk/config.hpp"

namespace CLI {
class App;
}

namespace app {

/// The walk flags as they were said. Every command that walks takes them.
struct WalkFlags {
    std::vector<std::string> text;
    std::string text_file, ids, random, x;
    std::vector<std::string> memory_text;
    std::string memory_ids, memory;
    std::optional<std::int64_t> memory_len, vocab_size, batch, seq_len;
    std::string pad_id, lengths;
    std::optional<std::int64_t> embed_dim, heads, head_dim, value_dim, output_dim;
    std::string weights, model;
    std::optional<std::int64_t> layer;
    std::string projection, init, draw_order = "qkv", weight_layout;
    bool bias = false, output_projection = false, output_bias = false;
    bool merge = false, no_merge = false;
    std::string mask = "none", mask_file, mask_true, causal_align = "start", empty_row = "nan";
    std::string scale = "head-dim", softmax_axis = "key";
    std::string rng = "torch", seed = "42", torch_build = "avx2", burn, dtype, compute_dtype;
    std::int64_t redraw = 0;
    std::string variant = "vectorized";
    int threads = 0;
};

/// Adds the walk flags to a command.
void setup_walk_flags(CLI::App& cli, WalkFlags& flags);

/// The flags of `base` with those in `text` (`--scale none --heads 2`) on top.
///
/// Errors  ConfigError, quoting the text.
WalkFlags with_flags(const WalkFlags& base, const std::string& text);

/// The configuration that the flags describe; reads the files they name.
///
/// Errors  ConfigError naming the flag; InputError naming the file.
attn::WalkConfig config_of(const WalkFlags& flags);

/// Refuses a walk that leaves steps out, for `who` looks at them all.
///
/// Errors  ConfigError with --variant fused.
void require_all_steps(const attn::WalkConfig& config, const std::string& who);

}  // namespace app
