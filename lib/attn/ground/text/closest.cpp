#include "attn/ground/text/strings.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace attn {
namespace {

/// Names in this program (a setting with its value, a step, a command or a mistake), and other
/// names for each, separated by spaces; `dim=-1` is a name together with its value. A value that
/// ends in a colon is followed by the given number; `, ` separates two settings.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"heads", " num-heads n-heads n-head nhead nheads num-attention-heads attention-heads "},
    {"kv-heads", " gqa num-kv-heads n-kv-heads n-kv-head num-key-value-heads num-groups "},
    {"kv-heads 1", " mqa multi-query "},
    {"embed-dim", " d-model dmodel dim hidden-size hidden-dim n-embd embedding-dim emb-dim "},
    {"head-dim", " d-k dk d-head dim-head head-size key-dim kdim "},
    {"value-dim", " d-v dv vdim v-head-dim "},
    {"seq-len 4, embed-dim 4", " shape "},
    {"seq-len", " seq-length seqlen sequence-length length max-len context-length block-size "},
    {"batch", " batch-size bs bsz "},
    {"vocab-size", " vocab n-vocab num-embeddings "},
    {"pad-id", " pad-token-id padding-idx "},
    {"text", " sentence prompt words "},
    {"ids", " input-ids token-ids "},
    {"memory-text", " cross-attention cross source encoder "},
    {"mask causal",
     " is-causal autoregressive causal-mask look-ahead decoder tril triu lower lower-triangular "
     "triangular future subsequent true masked-scores "},
    {"mask causal,window:", " window window-size sliding sliding-window swa local band banded "},
    {"mask none", " no-mask full bidirectional unmasked false "},
    {"mask padding", " pad key-padding-mask padding-mask "},
    {"mask", " attn-mask attention-mask "},
    {"position-bias alibi", " alibi slopes biased-scores "},
    {"position-embedding sinusoidal", " sinusoidal positional-encoding "},
    {"position-embedding learned", " learned-positions wpe "},
    {"rope half", " rotary rotary-embedding rotated-query rotated-key "},
    {"rope-theta", " theta rotary-base rope-base "},
    {"softcap", " soft-cap attn-logit-softcapping logit-cap capped-scores "},
    {"sink zero", " sinks attention-sink softmax1 off-by-one "},
    {"scale head-dim", " sqrt sqrt-d sqrt-dk "},
    {"scale none", " no-scale no-scaling unscaled "},
    {"softmax-axis key", " softmax=-1 softmax-dim=-1 axis=-1 dim=-1 -1 last keys "},
    {"softmax-axis query", " softmax=-2 softmax-dim=-2 axis=-2 dim=-2 -2 "},
    {"softmax-axis head", " softmax=-3 softmax-dim=-3 axis=-3 dim=-3 -3 "},
    {"softmax-axis", " softmax softmax-dim axis "},
    {"qk-norm head", " qk-layernorm qk-layer-norm use-qk-norm normed-query normed-key "},
    {"past", " kv-cache cache use-cache "},
    {"dropout", " dropout-p dropout-rate dropout-prob attn-dropout attn-pdrop "},
    {"bias", " qkv-bias use-bias attention-bias b-query b-key b-value "},
    {"output-projection", " out-proj o-proj w-o c-proj output w-output "},
    {"heads 2", " merged projected-query projected-key projected-value "},
    {"projection mha", " mha multihead multihead-attention "},
    {"variant fused", " flash flash-attention sdpa "},
    {"dtype float64", " float64 double fp64 "},
    {"dtype float32", " float single fp32 "},
    {"dtype float16", " half fp16 "},
    {"dtype bfloat16", " bf16 "},
    {"seed", " random-seed manual-seed random-state "},
    {"model-file", " checkpoint ckpt pretrained model-name "},
    {"no-notes", " quiet silent brief "},
    {"detail", " verbose details all full "},
    {"why", " explain derive derivation trace "},
    {"heatmap", " plot draw shade "},
    {"only", " step steps show print "},
    {"precision", " decimals digits round rounding "},
    {"list-steps", " list "},
    {"output", " out outfile output-file save o proj result "},
    {"bug", " mistake "},
    {"tokens", " max-new-tokens max-tokens num-tokens "},
    {"bugs", " list-bugs mistakes list-mistakes errors "},
    {"attentions", " list-attentions architectures "},
    {"examples", " list-examples "},
    {"tour", " tutorial lessons "},
    {"scale-missing", " no-scale no-scaling unscaled not-scaled missing-scale "},
    {"mask-not-applied", " no-mask unmasked mask-missing missing-mask "},
    {"weights", " attention attn attention-weights attn-weights att probs probabilities softmax "},
    {"scores", " logits attention-logits attn-scores attention-scores dots qk energy energies "},
    {"context", " ctx attn-output attention-output "},
    {"query", " q queries "},
    {"key", " k keys "},
    {"value", " v values "},
    {"merged", " concat concatenated "},
    {"x", " input inputs embeddings hidden-states "},
    {"log", " ln loge "},
    {"D", " d d-k dk d-head head-dim "},
    {"C", " d-model dmodel embed-dim "},
    {"H", " n-heads num-heads "},
    {"Tk", " t n seq-len "},
};

/// Returns the word in lower case, with dashes between its parts, but none before it.
std::string plain(std::string_view word) {
    const std::size_t start = std::min(word.find_first_not_of('-'), word.size());
    const std::string_view bare = word.substr(start);
    const bool is_negative =
        start == 1 && !bare.empty() && std::isdigit(static_cast<unsigned char>(bare[0])) != 0;
    std::string text = lower(is_negative ? word : bare);
    for (char& c : text) c = c == '_' || c == ' ' ? '-' : c;
    return text;
}

/// Returns the edit distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t edits(std::string_view from, std::string_view to) {
    std::vector table(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = 0; i <= from.size(); ++i) {
        for (std::size_t j = 0; j <= to.size(); ++j) {
            std::size_t& least = table[i][j] = i + j;
            if (i == 0 || j == 0) continue;
            const bool same = from[i - 1] == to[j - 1];
            least = std::min(
                {table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                least = std::min(least, table[i - 2][j - 2] + 1);
            }
        }
    }
    return table.back().back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
    const std::string meant = closest(word, candidates);
    return meant.empty() ? otherwise : "; did you mean " + meant + "?";
}

std::string known_name_for(std::string_view word, const std::vector<std::string>& candidates) {
    const std::string name = " " + plain(word) + " ";
    if (name == "  ") return {};
    for (const auto& [here, others] : synonyms) {
        if (others.find(name) == others.npos) continue;
        const std::string_view first = here.substr(0, here.find(' '));
        for (const std::string& candidate : candidates) {
            if (plain(candidate) == plain(first)) return std::string(here);
        }
    }
    return {};
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
    const std::string name = plain(word);
    const std::string here = known_name_for(word, candidates);
    const std::size_t most = std::max<std::size_t>(1, (name.size() + 1) / 3);
    std::string best;
    std::size_t fewest = std::min(most + 1, name.size());
    for (const std::string& candidate : candidates) {
        const std::string other = plain(candidate);
        if (other == name || other == plain(here)) return candidate;
        const bool begins = name.size() > 2 && other.starts_with(name);
        const std::size_t distance = begins ? 1 : edits(name, other);
        if (distance < fewest) {
            fewest = distance;
            best = candidate;
        }
    }
    // Or a misspelt synonym: `qiet`.
    for (const auto& [correct, others] : synonyms) {
        const std::string first = plain(correct.substr(0, correct.find(' ')));
        const auto meant = std::ranges::find(candidates, first, plain);
        std::istringstream words{std::string(others)};
        for (std::string each; meant != candidates.end() && best.empty() && words >> each;) {
            if (name.size() > 3 && edits(name, each) == 1) best = *meant;
        }
    }
    return best;
}

}  // namespace attn
