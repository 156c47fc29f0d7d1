#include "attn/core/plan/mask_kinds.hpp"

#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

using Change = void (*)(MaskChoice&);

void kind_mistake(std::vector<Mistake>& list, const char* id, const char* title, const char* effect,
                  const Fix& fix, const char* lesson, Need needs,
                  std::function<void(MaskChoice&)> change, Text more = {}) {
    entry(list, id, "mask", title, effect, fix, lesson, std::move(needs),
          masked_as(std::move(change), std::move(more)));
}

std::int64_t last_position(const Plan& plan) {
    return static_cast<std::int64_t>(plan.query_len) - 1 + causal_offset(plan);
}

/// Whether a window, or chunks, of that size leave earlier keys out.
bool cuts(const Plan& plan, const std::optional<std::int64_t>& size) {
    return *size <= last_position(plan);
}

const Need needs_window{
    {[](const Plan& plan) { return plan.config.mask.window.has_value(); }, "there is no window"},
    {[](const Plan& plan) { return cuts(plan, plan.config.mask.window); },
     "the window holds every earlier key"}};
const Need needs_chunks{
    {[](const Plan& plan) { return plan.config.mask.chunk.has_value(); }, "there are no chunks"},
    {[](const Plan& plan) { return cuts(plan, plan.config.mask.chunk); },
     "one chunk holds every key"}};
const Need needs_prefix{{[](const Plan& plan) { return plan.config.mask.prefix.value_or(0) > 1; },
                         "there is no prefix of several tokens"},
                        {[](const Plan& plan) {
                             return *plan.config.mask.prefix <
                                    static_cast<std::int64_t>(plan.key_len);
                         },
                         "the prefix holds every key"}};

Need needs_causal(const char* reason) {
    return {[](const Plan& plan) { return plan.config.mask.causal; }, reason};
}

// Positions in fixes are i for a query and j for a key: q and k are tensors.
const Fix window("hidden = (j > i) | (j <= i - W)  # query i, key j: W keys with its own");

/// Sees keys on both sides, as far ahead as back: one more than the window holds, or as many.
void symmetric_window(std::vector<Mistake>& list, const char* id, const char* effect,
                      std::int64_t more) {
    kind_mistake(
        list, id, "The window reaches as far ahead as back", effect, window,
        "A window says how far, causal says which way: ask for both.",
        {needs_window, needs_causal("later keys are not hidden")},
        [more](MaskChoice& mask) {
            *mask.window += more;
            mask.causal = false;
        },
        std::string("k > q + offset + {W}") + (more == 0 ? " - 1" : ""));
}

/// A chunk by itself is masked as it should be; of several each sees the keys of the whole input.
std::string hidden_behind_all_chunks(const Plan& plan) {
    if (!plan.config.prefill) return "k > q + offset";
    const std::string size = std::to_string(*plan.config.prefill);
    return "k > q + Tq - min((floor(q / " + size + ") + 1) * " + size + ", Tq)";
}

}  // namespace

TableEdit masked_as(std::function<void(MaskChoice&)> change, Text more) {
    const auto rule = [change, more](const Plan& plan) -> std::string {
        MaskChoice other = plan.config.mask;
        change(other);
        const std::string rest = other.any() ? "mask[q,k]" : "";
        const std::string hides = more(plan);
        if (rest.empty() && hides.empty()) return "mask[q,k] = k < 0";
        return "mask[q,k] = " + rest + (rest.empty() || hides.empty() ? "" : " or ") + hides;
    };
    return all_of({with_plan({"mask"}, [change](Plan& plan) { change(plan.config.mask); }),
                   follows({.rule = rule, .outline = score_cells})});
}

void window_of(std::vector<Mistake>& list, double number, const std::string& word) {
    const auto size = static_cast<std::int64_t>(number);
    kind_mistake(list, ("window-other=" + word).c_str(),
                 ("The window holds " + word + " keys").c_str(),
                 "late queries see another number of keys", window,
                 "Read the size of the window from the configuration, and whether it counts the "
                 "own key.",
                 {needs_window,
                  {[size](const Plan& plan) { return size > 0 && cuts(plan, size); },
                   "that window holds every earlier key"}},
                 [size](MaskChoice& mask) { mask.window = size; });
}

void add_mask_kind_mistakes(std::vector<Mistake>& list) {
    const char* const causal_lesson =
        "An encoder reads in both directions, and so does attention to another sequence.";
    const Change drop_window = [](MaskChoice& mask) { mask.window.reset(); };
    const Change drop_causal = [](MaskChoice& mask) { mask.causal = false; };
    kind_mistake(
        list, "window-off-by-one", "The window holds one key too many",
        "from row W on, each query sees W + 1 keys", window,
        "Libraries count W keys with the own one, or W keys before it: compare one late row.",
        needs_window, [](MaskChoice& mask) { ++*mask.window; });
    kind_mistake(list, "window-off-by-one=few", "The window holds one key too few",
                 "from row W - 1 on, each query sees W - 1 keys", window,
                 "Some count W keys with the own one, others W + 1: compare one late row.",
                 {needs_window,
                  {[](const Plan& plan) { return *plan.config.mask.window > 1; },
                   "the window holds one key"}},
                 [](MaskChoice& mask) { --*mask.window; });
    symmetric_window(list, "window-symmetric",
                     "each query sees W keys on both sides, later ones too", 1);
    symmetric_window(list, "window-symmetric=within",
                     "each query sees W - 1 keys on both sides, later ones too: abs(i - j) < W", 0);
    kind_mistake(list, "window-dropped", "The window was left out",
                 "late queries see every earlier key", window,
                 "Short inputs fit into the window and hide this: test with more tokens.",
                 needs_window, drop_window);
    kind_mistake(list, "window-from-cache-slot",
                 "The window was counted from the row instead of the position",
                 "with earlier keys in a cache, the window reaches too far back", window,
                 "Row 0 of a later call is not token 0: count positions.",
                 {needs_window, rows_beside_positions()}, drop_window, "k <= q - {W}");
    kind_mistake(list, "chunk-as-window", "Chunks were taken for a window",
                 "queries see across the borders of chunks",
                 "hidden = (j > i) | (j // N != i // N)  # query i, key j",
                 "A window moves with the query, a chunk begins anew at its multiples.",
                 needs_chunks, [](MaskChoice& mask) {
                     mask.window = std::min(mask.window.value_or(*mask.chunk), *mask.chunk);
                     mask.chunk.reset();
                 });
    kind_mistake(
        list, "chunk-as-window=reverse", "The window was taken for chunks",
        "the first tokens of a chunk see hardly any key", window,
        "A window moves with the query, a chunk begins anew at its multiples.",
        {needs_window,
         {[](const Plan& plan) { return !plan.config.mask.chunk; }, "there are chunks, too"}},
        [](MaskChoice& mask) {
            mask.chunk = mask.window;
            mask.window.reset();
        });
    kind_mistake(list, "causal-off-in-chunk", "No causal mask was made for a chunk of queries",
                 "tokens of the chunk see those that come after them",
                 "hidden = j > i + past  # query i, key j",
                 "With a cache the rows differ from the keys in number, and still need the mask.",
                 {needs_causal("there is no causal mask"),
                  {[](const Plan& plan) { return plan.query_len > 1 && causal_offset(plan) > 0; },
                   "there is no chunk after earlier keys"}},
                 [](MaskChoice& mask) {
                     mask.causal = false;
                     mask.prefix.reset();
                 });
    kind_mistake(
        list, "chunk-kv-length", "A chunk was given the length of the whole input",
        "queries of all chunks but the last see keys that come later",
        "kv_len = past_len + chunk_len  # not the length of the prompt",
        "Behind a chunk the cache holds nothing yet: its keys end where the chunk ends.",
        {needs_causal("there is no causal mask"),
         {[](const Plan& plan) { return plan.config.prefill && cuts(plan, plan.config.prefill); },
          "the input is walked in one chunk: pass $prefill"}},
        drop_causal, hidden_behind_all_chunks);
    const Need needs_both{
        {[](const Plan& plan) { return plan.config.mask.padding && plan.config.mask.causal; },
         "the mask is not of padding and later keys"}};
    const char* const both = "hidden = (j > i) | is_padding[:, None, None, :]  # query i, key j";
    const char* const both_lesson =
        "A key is hidden if any of the masks hides it: join them by or, before softmax.";
    kind_mistake(list, "causal-dropped", "Padding was hidden, later keys were not",
                 "tokens see those that come after them", both, both_lesson, needs_both,
                 drop_causal);
    kind_mistake(
        list, "causal-dropped=documents", "Documents were kept apart, later keys were not hidden",
        "tokens see those of their document that come after them",
        "hidden = (j > i) | (document[:, None] != document)  # query i, key j", both_lesson,
        {[](const Plan& plan) {
             return plan.config.mask.documents.size() > 0 && plan.config.mask.causal;
         },
         "the mask is not of documents and later keys"},
        drop_causal);
    kind_mistake(list, "padding-dropped", "Later keys were hidden, padding was not",
                 "tokens after padding attend to it", both, both_lesson, needs_both,
                 [](MaskChoice& mask) { mask.padding = false; });
    entry(list, "masks-joined-by-and", "mask", "Only padding that comes later was hidden",
          "a key is hidden where both masks hide it: all others are seen", both, both_lesson,
          needs_both,
          all_of({with_plan({"mask"}, [](Plan& plan) { plan.config.mask.causal = false; }),
                  follows({.rule = "mask[q,k] = mask[q,k] and k > q + offset",
                           .outline = score_cells})}));
    kind_mistake(list, "causal-unasked=padding", "Later keys were hidden beside the padding",
                 "no token sees those that come after it", "hidden = padding", causal_lesson,
                 {[](const Plan& plan) {
                      return plan.config.mask.padding && !plan.config.mask.causal &&
                             plan.query_len > 1;
                  },
                  "padding is not all that is hidden"},
                 [](MaskChoice& mask) { mask.causal = true; });
    entry(list, "causal-unasked", "weights", "Later keys were hidden where all should be seen",
          "no token sees those that come after it", "weights = F.softmax(scores, dim=-1)",
          causal_lesson,
          {[](const Plan& plan) { return !plan.masks() && plan.query_len > 1; },
           "something is hidden here"},
          reads({"row_max", "exponentials", "weights", "sink_weight"}, "scores",
                "scores[q,k] = if k > q + P then -inf else scores[q,k]"));
    const char* const prefix = "hidden = (j > i) & (j >= N)  # query i, key j";
    kind_mistake(list, "prefix-causal", "The prefix was masked like the rest",
                 "tokens of the prefix do not see those of it that come later", prefix,
                 "A prompt or an image is read whole before the first word is written.",
                 needs_prefix, [](MaskChoice& mask) {
                     mask.prefix.reset();
                     mask.causal = true;
                 });
    kind_mistake(list, "prefix-causal=open", "Everything was read in both directions",
                 "tokens after the prefix see those that come after them", prefix,
                 "Only the prefix is open in both directions.", needs_prefix, [](MaskChoice& mask) {
                     mask.prefix.reset();
                     mask.causal = false;
                 });
    kind_mistake(list, "documents-leak", "Packed documents were not kept apart",
                 "tokens see the documents in front of (and behind) their own",
                 "hidden = document[:, None] != document",
                 "New positions for each document keep nothing apart: the mask does.",
                 {[](const Plan& plan) { return plan.config.mask.documents.size() > 1; },
                  "there are no several documents"},
                 [](MaskChoice& mask) { mask.documents.clear(); });
}

}  // namespace attn
