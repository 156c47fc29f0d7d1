#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/words.hpp"

namespace attn {
enum class FigureKind;
enum class Theme;
}  // namespace attn

namespace app {

/// The name of a flag or a positional argument.
struct Name {
    std::string_view text;
    operator std::string() const { return std::string(text); }
};

/// A name with the type of its value: an optional is empty if the flag was not given, others have
/// the default.
template <class T>
struct Key : Name {};

/// The flags that the program reads by name. Their rows begin with these names.
namespace flags {

// Only their presence is read.
inline constexpr Name torch{"--torch"};
inline constexpr Name all{"--all"}, as_flags{"--as-flags"}, backward{"--backward"},
    bounds{"--bounds"}, causal_align{"--causal-align"}, check_gradient{"--check-gradient"},
    corrected{"--corrected"}, cost{"--cost"}, detail{"--detail"}, embed{"--embed"},
    embed_dim{"--embed-dim"}, forms{"--forms"}, full_screen{"--full-screen"}, effect{"--effect"},
    hide_mistake{"--hide-mistake"}, json{"--json"}, keep_case{"--keep-case"}, lines{"--lines"},
    list{"--list"}, list_layers{"--list-layers"}, list_presets{"--list-presets"},
    list_rules{"--list-rules"}, list_steps{"--list-steps"}, live{"--live"}, merge{"--merge"},
    no_merge{"--no-merge"}, no_model{"--no-model"}, no_notes{"--no-notes"}, pace{"--pace"},
    pairs{"--pairs"}, partial{"--partial"}, position_bias{"--position-bias"}, power{"--power"},
    rope{"--rope"}, rope_scaling{"--rope-scaling"}, rope_theta{"--rope-theta"},
    rotary_dim{"--rotary-dim"}, scale{"--scale"}, sink{"--sink"}, softcap{"--softcap"},
    softmax_axis{"--softmax-axis"}, step{"--step"}, strict{"--strict"}, summary{"--summary"},
    value_dim{"--value-dim"}, position_embedding{"--position-embedding"}, watch{"--watch"};

using Text = Key<std::string>;
inline constexpr Text a{"A"}, arch{"--arch"}, as{"--as"}, b{"B"}, blank{"--blank"}, bug{"--bug"},
    by{"--by"}, cell{"CELL"}, code{"--code"}, color{"--color"}, command{"COMMAND"},
    compute_dtype{"--compute-dtype"}, config{"--config"}, derive{"--derive"}, digits{"--digits"},
    dtype{"--dtype"}, example{"--example"}, explain{"--explain"}, file{"FILE"}, folder{"FOLDER"},
    form{"--form"}, format{"--format"}, fresh{"--new"}, from{"--from"}, function{"--function"},
    given{"--given"}, grid{"--grid"}, heatmap{"--heatmap"}, html_compare{"--html-compare"},
    id{"ID"}, ids{"--ids"}, image{"--image"}, loss{"--loss"}, mask{"--mask"},
    mask_file{"--mask-file"}, mask_true{"--mask-true"}, memory{"--memory"},
    memory_ids{"--memory-ids"}, model{"--model"}, model_file{"--model-file"}, name{"NAME"},
    notebook{"--notebook"}, only{"--only"}, output{"--output"}, page{"PAGE"}, pad_id{"--pad-id"},
    plot{"--plot"}, preset{"--preset"}, projection{"--projection"}, python{"--python"},
    save_config{"--save-config"}, save_dir{"--save-dir"}, sci_mode{"--sci-mode"},
    script{"--script"}, seq_len{"--seq-len"}, shell{"SHELL"}, solutions{"--solutions"},
    split{"--split"}, tested_step{"--step"}, text{"--text"}, text_file{"--text-file"},
    threads{"--threads"}, threshold{"--threshold"}, tokens{"--tokens"}, topic{"--topic"},
    trace{"--trace"}, until{"--until"}, variants{"--variant"}, vocab{"--vocab"},
    weight_layout{"--weight-layout"}, weights{"--weights"}, what{"--what"}, word{"TOPIC"}, x{"--x"};
inline constexpr Key<std::optional<std::string>> chosen{"--token"}, most_memory{"--memory"},
    tokenizer{"--tokenizer"};

using Texts = Key<std::vector<std::string>>;
inline constexpr Texts attentions{"--attention"}, settings{"--set"};
inline constexpr Texts bugs{"--bug"}, learn{"--learn"}, map{"--map"}, memory_texts{"--memory-text"},
    rules{"--rule"}, shapes{"--shape"}, texts{"--text"}, what_ifs{"--what-if"},
    without{"--without"};

using Count = Key<std::size_t>;
inline constexpr Count batch{"--batch"}, depth{"--depth"}, head_dim{"--head-dim"}, heads{"--heads"},
    layer{"--layer"}, level{"--level"}, most_tokens{"--tokens"}, rounds{"--rounds"},
    seconds{"--seconds"}, top{"--top"};
using MaybeCount = Key<std::optional<std::size_t>>;
inline constexpr MaybeCount columns{"--columns"}, edgeitems{"--edgeitems"}, hint{"--hint"},
    solution{"--solution"}, kv_heads{"--kv-heads"}, likeliest{"--top"}, linewidth{"--linewidth"},
    repeat{"--repeat"}, top_k{"--top-k"}, width{"--width"}, window{"--window"};
inline constexpr Key<std::int64_t> count{"--count"};
using MaybeInteger = Key<std::optional<std::int64_t>>;
inline constexpr MaybeInteger sheet{"--sheet"}, students{"--students"}, vocab_size{"--vocab-size"};
inline constexpr Key<std::optional<int>> decimals{"--decimals"}, precision{"--precision"};
inline constexpr Key<std::uint64_t> seed{"--seed"};
using MaybeNumber = Key<std::optional<double>>;
inline constexpr MaybeNumber atol{"--atol"}, rtol{"--rtol"}, temperature{"--temperature"},
    top_p{"--top-p"};

inline constexpr Key<attn::Distribution> random{"--random"};
inline constexpr Key<attn::FigureKind> figure{"--figure"};
inline constexpr Key<attn::Theme> theme{"--theme"};
inline constexpr Key<std::optional<attn::TorchBuild>> torch_build{"--torch-build"};
inline constexpr Key<std::optional<attn::Variant>> variant{"--variant"};

}  // namespace flags
}  // namespace app
