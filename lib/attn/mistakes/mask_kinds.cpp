#include "attn/plan/mask_kinds.hpp"

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

Mistake kind_mistake(std::string id, std::string title, std::string effect, std::string fix_torch,
                     std::string fix_numpy, std::string lesson, NotApplicable not_applicable,
                     std::function<void(MaskChoice&)> change, Text more = {}) {
    return entry(std::move(id), "mask", std::move(title), std::move(effect), std::move(fix_torch),
                 std::move(fix_numpy), std::move(lesson), "", std::move(not_applicable),
                 masked_as(std::move(change), std::move(more)));
}

std::int64_t last_position(const Plan& plan) {
    return static_cast<std::int64_t>(plan.query_len) - 1 + causal_offset(plan);
}

NotApplicable needs_window() {
    return first_of(
        {unless([](const Plan& plan) { return plan.config.mask.window.has_value(); },
                "there is no window"),
         unless([](const Plan& plan) { return *plan.config.mask.window <= last_position(plan); },
                "the window holds every earlier key")});
}

NotApplicable needs_chunks() {
    return first_of(
        {unless([](const Plan& plan) { return plan.config.mask.chunk.has_value(); },
                "there are no chunks"),
         unless([](const Plan& plan) { return *plan.config.mask.chunk <= last_position(plan); },
                "one chunk holds every key")});
}

NotApplicable needs_prefix() {
    return first_of(
        {unless([](const Plan& plan) { return plan.config.mask.prefix.value_or(0) > 1; },
                "there is no prefix of several tokens"),
         unless(
             [](const Plan& plan) {
                 return *plan.config.mask.prefix < static_cast<std::int64_t>(plan.key_len);
             },
             "the prefix holds every key")});
}

const std::string window_torch = "hidden = (k > q) | (k <= q - W)  # W keys with its own";

/// Sees keys on both sides, as far ahead as back: one more than the window holds, or as many.
Mistake symmetric_window(const char* id, const char* effect, std::int64_t more) {
    return kind_mistake(
        id, "The window reaches as far ahead as back", effect,
        "flash_attn_func(q, k, v, causal=True, window_size=(W - 1, 0))", window_torch,
        "A window says how far, causal says which way: ask for both.",
        first_of({needs_window(), unless([](const Plan& plan) { return plan.config.mask.causal; },
                                         "later keys are not hidden")}),
        [more](MaskChoice& mask) {
            *mask.window += more;
            mask.causal = false;
        },
        [more](const Plan& plan) {
            return "k > q + offset + " + std::to_string(*plan.config.mask.window - 1 + more);
        });
}

constexpr const char* causal_lesson =
    "An encoder reads in both directions, and so does attention to another sequence.";

}  // namespace

TableEdit masked_as(std::function<void(MaskChoice&)> change, Text more) {
    const auto rule = [change, more](const Plan& plan) -> std::string {
        Plan other = plan;
        change(other.config.mask);
        const std::string rest = other.config.mask.any() ? "mask[q,k]" : "";
        const std::string hides = more(plan);
        if (rest.empty() && hides.empty()) return "mask[q,k] = k < 0";
        return "mask[q,k] = " + rest + (rest.empty() || hides.empty() ? "" : " or ") + hides;
    };
    return all_of({with_plan({"mask"}, [change](Plan& plan) { change(plan.config.mask); }),
                   follows({.rule = rule, .outline = score_cells})});
}

void add_mask_kind_mistakes(std::vector<Mistake>& list) {
    list.push_back(
        kind_mistake("window-off-by-one", "The window holds one key too many",
                     "from row W on, each query sees W + 1 keys", window_torch, window_torch,
                     "Libraries count W keys with the own one, or W keys before it: compare one "
                     "late row.",
                     needs_window(), [](MaskChoice& mask) { ++*mask.window; }));
    list.push_back(symmetric_window("window-symmetric",
                                    "each query sees W keys on both sides, later ones too", 1));
    list.push_back(symmetric_window(
        "window-symmetric=within",
        "each query sees W - 1 keys on both sides, later ones too: abs(i - j) < W", 0));
    list.push_back(
        kind_mistake("window-dropped", "The window was left out",
                     "late queries see every earlier key", window_torch, window_torch,
                     "Short inputs fit into the window and hide this: test with more tokens.",
                     needs_window(), [](MaskChoice& mask) { mask.window.reset(); }));
    list.push_back(kind_mistake(
        "window-from-cache-slot", "The window was counted from the row instead of the position",
        "with earlier keys in a cache, the window reaches too far back", window_torch, window_torch,
        "Row 0 of a later call is not token 0: count positions.",
        first_of({needs_window(), unless([](const Plan& plan) { return causal_offset(plan) != 0; },
                                         "rows and positions are the same")}),
        [](MaskChoice& mask) { mask.window.reset(); },
        [](const Plan& plan) { return "k <= q - " + std::to_string(*plan.config.mask.window); }));
    list.push_back(kind_mistake(
        "chunk-as-window", "Chunks were taken for a window",
        "queries see across the borders of chunks", "hidden = (k > q) | (k // N != q // N)",
        "hidden = (k > q) | (k // N != q // N)",
        "A window moves with the query, a chunk begins anew at its multiples.", needs_chunks(),
        [](MaskChoice& mask) {
            mask.window = std::min(mask.window.value_or(*mask.chunk), *mask.chunk);
            mask.chunk.reset();
        }));
    list.push_back(kind_mistake(
        "chunk-as-window=reverse", "The window was taken for chunks",
        "the first tokens of a chunk see hardly any key", window_torch, window_torch,
        "A window moves with the query, a chunk begins anew at its multiples.",
        first_of({needs_window(), unless([](const Plan& plan) { return !plan.config.mask.chunk; },
                                         "there are chunks, too")}),
        [](MaskChoice& mask) {
            mask.chunk = mask.window;
            mask.window.reset();
        }));
    list.push_back(kind_mistake(
        "causal-off-in-chunk", "No causal mask was made for a chunk of queries",
        "tokens of the chunk see those that come after them", "hidden = k > q + past",
        "hidden = k > q + past",
        "With a cache the rows differ from the keys in number, and still need the "
        "mask.",
        first_of(
            {unless([](const Plan& plan) { return plan.config.mask.causal; },
                    "there is no causal mask"),
             unless([](const Plan& plan) { return plan.query_len > 1 && causal_offset(plan) > 0; },
                    "there is no chunk behind earlier keys")}),
        [](MaskChoice& mask) {
            mask.causal = false;
            mask.prefix.reset();
        }));
    list.push_back(kind_mistake(
        "chunk-kv-length", "A chunk was given the length of the whole input",
        "queries of all chunks but the last see keys that come later",
        "kv_len = past_len + chunk_len  # not the length of the prompt",
        "kv_len = past_len + chunk_len  # not the length of the prompt",
        "Behind a chunk the cache holds nothing yet: its keys end where the chunk ends.",
        first_of({unless([](const Plan& plan) { return plan.config.mask.causal; },
                         "there is no causal mask"),
                  unless(
                      [](const Plan& plan) {
                          return plan.config.prefill && *plan.config.prefill <= last_position(plan);
                      },
                      "the input is walked in one chunk: pass $prefill"_told)}),
        [](MaskChoice& mask) { mask.causal = false; },
        [](const Plan& plan) {
            // A chunk by itself is masked as it should be.
            if (!plan.config.prefill) return std::string("k > q + offset");
            const std::string size = std::to_string(*plan.config.prefill);
            return "k > q + Tq - min((floor(q / " + size + ") + 1) * " + size + ", Tq)";
        }));
    list.push_back(kind_mistake(
        "causal-unasked=padding", "Later keys were hidden beside the padding",
        "no token sees those that come after it", "hidden = padding", "hidden = padding",
        causal_lesson,
        unless(
            [](const Plan& plan) {
                return plan.config.mask.padding && !plan.config.mask.causal && plan.query_len > 1;
            },
            "padding is not all that is hidden"),
        [](MaskChoice& mask) { mask.causal = true; }));
    entry(list, "causal-unasked", "weights", "Later keys were hidden where all should be seen",
          "no token sees those that come after it", "weights = F.softmax(scores, dim=-1)",
          "weights = softmax(scores)", causal_lesson, "",
          unless([](const Plan& plan) { return !plan.masks() && plan.query_len > 1; },
                 "something is hidden here"),
          reads({"row_max", "exponentials", "weights", "sink_weight"}, "scores",
                "scores[q,k] = if k > q + P then -inf else scores[q,k]"));
    list.push_back(
        kind_mistake("prefix-causal", "The prefix was masked like the rest",
                     "tokens of the prefix do not see those of it that come later",
                     "hidden = (k > q) & (k >= N)", "hidden = (k > q) & (k >= N)",
                     "A prompt or an image is read whole before the first word is written.",
                     needs_prefix(), [](MaskChoice& mask) {
                         mask.prefix.reset();
                         mask.causal = true;
                     }));
    list.push_back(kind_mistake("prefix-causal=open", "Everything was read in both directions",
                                "tokens behind the prefix see those that come after them",
                                "hidden = (k > q) & (k >= N)", "hidden = (k > q) & (k >= N)",
                                "Only the prefix is open in both directions.", needs_prefix(),
                                [](MaskChoice& mask) {
                                    mask.prefix.reset();
                                    mask.causal = false;
                                }));
    list.push_back(kind_mistake(
        "documents-leak", "Packed documents were not kept apart",
        "tokens see the documents in front of (and behind) their own",
        "hidden = document[:, None] != document", "hidden = document[:, None] != document",
        "New positions for each document keep nothing apart: the mask does.",
        unless([](const Plan& plan) { return plan.config.mask.documents.size() > 1; },
               "there are no several documents"),
        [](MaskChoice& mask) { mask.documents.clear(); }));
}

}  // namespace attn
