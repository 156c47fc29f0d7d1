#include "attn/plan/mask_kinds.hpp"

#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// The masks that were made instead of the right one: what any of them hides is hidden.
using MadeMasks = std::function<std::vector<MaskChoice>(const Plan&)>;

Plan under(const Plan& plan, const MaskChoice& mask) {
    Plan other = plan;
    other.config.mask = mask;
    return other;
}

TableEdit masked_as(MadeMasks made) {
    return replace_step({"mask"}, [made](const Plan& plan, const Ledger&, const Compute&) {
        Grid hidden = score_grid(plan);
        for (const MaskChoice& mask : made(plan)) {
            if (!mask.any()) continue;
            const Grid part = hidden_cells(under(plan, mask));
            for (std::size_t i = 0; i < part.cells.size(); ++i) {
                hidden.cells[i] = part.cells[i] != 0 || hidden.cells[i] != 0 ? 1.0 : 0.0;
            }
        }
        return mask_of(hidden, plan);
    });
}

/// The lines of each mask, and of all of them together on the grid of the scores.
Lines made_lines(MadeMasks made) {
    return [made](const StepLines& of, const std::string&) {
        std::string lines;
        for (const MaskChoice& mask : made(of.plan)) {
            if (!mask.any()) continue;
            const Plan other = under(of.plan, mask);
            const StepLines part{{other, of.table, of.step}, of.language};
            lines +=
                lines.empty() ? mask_code(part) : "\nfirst = mask\n" + mask_code(part) + " | first";
        }
        if (lines.empty()) {
            return say("mask = torch.zeros({grid}, dtype=torch.bool)",
                       "mask = np.zeros(({grid}), dtype=bool)")(of, "");
        }
        return over_the_grid()(of, lines);
    };
}

Mistake kind_mistake(std::string id, std::string title, std::string effect, std::string fix_torch,
                     std::string fix_numpy, std::string lesson, NotApplicable not_applicable,
                     MadeMasks made) {
    return {std::move(id),
            "mask",
            std::move(title),
            std::move(effect),
            std::move(fix_torch),
            std::move(fix_numpy),
            std::move(lesson),
            "",
            std::move(not_applicable),
            masked_as(made),
            {{"mask", made_lines(made)}}};
}

/// The right mask with something changed.
MadeMasks with_change(std::function<void(MaskChoice&)> change) {
    return [change](const Plan& plan) {
        MaskChoice mask = plan.config.mask;
        change(mask);
        return std::vector<MaskChoice>{mask};
    };
}

std::int64_t last_position(const Plan& plan) {
    return static_cast<std::int64_t>(plan.query_len) - 1 + causal_offset(plan);
}

/// A mask by positions, as cells.
MaskChoice by_cells(const Plan& plan,
                    const std::function<bool(std::int64_t q, std::int64_t k)>& hides) {
    Array<bool> cells = empty_array<bool>({plan.query_len, plan.key_len});
    for (std::size_t q = 0; q < plan.query_len; ++q) {
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            cells(q, k) = hides(static_cast<std::int64_t>(q), static_cast<std::int64_t>(k));
        }
    }
    MaskChoice mask;
    mask.given = Tensor({"query", "key"}, std::move(cells));
    return mask;
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
        [more](const Plan& plan) {
            MaskChoice back = plan.config.mask;
            const std::int64_t ahead = *back.window - 1 + more;
            *back.window += more;
            back.causal = false;
            const std::int64_t first = causal_offset(plan);
            return std::vector<MaskChoice>{back,
                                           by_cells(plan, [&](std::int64_t q, std::int64_t k) {
                                               return k > q + first + ahead;
                                           })};
        });
}

constexpr const char* causal_lesson =
    "An encoder reads in both directions, and so does attention to another sequence.";

void hide_later_keys(Ledger& ledger, const Plan& plan) {
    Grid scores = grid_of(ledger.latest(Chain::scores, "row_max"));
    for (std::size_t cell = 0; cell < scores.cells.size(); ++cell) {
        const std::size_t query = cell / scores.columns % scores.rows;
        if (cell % scores.columns > query + plan.past_len) scores.cells[cell] = -infinity;
    }
    const Tensor& visible = ledger.latest(Chain::scores, "row_max");
    replace_latest(ledger, Chain::scores, tensor_of(scores, visible.axes(), visible.dtype()));
}

std::string later_keys_lines(const StepLines& of, const std::string& right) {
    const std::string first = std::to_string(of.plan.past_len + 1);
    return say("{scores} = {scores}.masked_fill(torch.ones({Tq}, {Tk}).triu(" + first +
                   ").bool(), float(\"-inf\"))\n{right}",
               "{scores} = np.where(np.triu(np.ones(({Tq}, {Tk})), " + first +
                   "), -np.inf, {scores})\n{right}")(of, right);
}

}  // namespace

void add_mask_kind_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            kind_mistake(
                "window-off-by-one", "The window holds one key too many",
                "from row W on, each query sees W + 1 keys", window_torch, window_torch,
                "Libraries count W keys with the own one, or W keys before it: compare one "
                "late row.",
                needs_window(), with_change([](MaskChoice& mask) { ++*mask.window; })),
            symmetric_window("window-symmetric",
                             "each query sees W keys on both sides, later ones too", 1),
            symmetric_window(
                "window-symmetric=within",
                "each query sees W - 1 keys on both sides, later ones too: abs(i - j) < W", 0),
            kind_mistake("window-dropped", "The window was left out",
                         "late queries see every earlier key", window_torch, window_torch,
                         "Short inputs fit into the window and hide this: test with more tokens.",
                         needs_window(),
                         with_change([](MaskChoice& mask) { mask.window.reset(); })),
            kind_mistake("window-from-cache-slot",
                         "The window was counted from the row instead of the position",
                         "with earlier keys in a cache, the window reaches too far back",
                         window_torch, window_torch,
                         "Row 0 of a later call is not token 0: count positions.",
                         first_of({needs_window(),
                                   unless([](const Plan& plan) { return causal_offset(plan) != 0; },
                                          "rows and positions are the same")}),
                         [](const Plan& plan) {
                             MaskChoice rest = plan.config.mask;
                             const std::int64_t window = *rest.window;
                             rest.window.reset();
                             return std::vector<MaskChoice>{
                                 rest, by_cells(plan, [&](std::int64_t q, std::int64_t k) {
                                     return k <= q - window;
                                 })};
                         }),
            kind_mistake("chunk-as-window", "Chunks were taken for a window",
                         "queries see across the borders of chunks",
                         "hidden = (k > q) | (k // N != q // N)",
                         "hidden = (k > q) | (k // N != q // N)",
                         "A window moves with the query, a chunk begins anew at its multiples.",
                         needs_chunks(), with_change([](MaskChoice& mask) {
                             mask.window = std::min(mask.window.value_or(*mask.chunk), *mask.chunk);
                             mask.chunk.reset();
                         })),
            kind_mistake("chunk-as-window=reverse", "The window was taken for chunks",
                         "the first tokens of a chunk see hardly any key", window_torch,
                         window_torch,
                         "A window moves with the query, a chunk begins anew at its multiples.",
                         first_of({needs_window(),
                                   unless([](const Plan& plan) { return !plan.config.mask.chunk; },
                                          "there are chunks, too")}),
                         with_change([](MaskChoice& mask) {
                             mask.chunk = mask.window;
                             mask.window.reset();
                         })),
            kind_mistake("causal-off-in-chunk", "No causal mask was made for a chunk of queries",
                         "tokens of the chunk see those that come after them",
                         "hidden = k > q + past", "hidden = k > q + past",
                         "With a cache the rows differ from the keys in number, and still need the "
                         "mask.",
                         first_of({unless([](const Plan& plan) { return plan.config.mask.causal; },
                                          "there is no causal mask"),
                                   unless(
                                       [](const Plan& plan) {
                                           return plan.query_len > 1 && causal_offset(plan) > 0;
                                       },
                                       "there is no chunk behind earlier keys")}),
                         with_change([](MaskChoice& mask) {
                             mask.causal = false;
                             mask.prefix.reset();
                         })),
            kind_mistake(
                "chunk-kv-length", "A chunk was given the length of the whole input",
                "queries of all chunks but the last see keys that come later",
                "kv_len = past_len + chunk_len  # not the length of the prompt",
                "kv_len = past_len + chunk_len  # not the length of the prompt",
                "Behind a chunk the cache holds nothing yet: its keys end where the chunk ends.",
                first_of({unless([](const Plan& plan) { return plan.config.mask.causal; },
                                 "there is no causal mask"),
                          unless(
                              [](const Plan& plan) {
                                  return plan.config.prefill &&
                                         *plan.config.prefill <= last_position(plan);
                              },
                              "the input is walked in one chunk: pass $prefill"_told)}),
                [](const Plan& plan) {
                    MaskChoice rest = plan.config.mask;
                    if (!plan.config.prefill) return std::vector<MaskChoice>{rest};
                    rest.causal = false;
                    const auto tokens = static_cast<std::int64_t>(plan.query_len);
                    const std::int64_t size = *plan.config.prefill;
                    return std::vector<MaskChoice>{
                        rest, by_cells(plan, [&](std::int64_t q, std::int64_t k) {
                            return k > q + tokens - std::min((q / size + 1) * size, tokens);
                        })};
                }),
            kind_mistake("causal-unasked=padding", "Later keys were hidden beside the padding",
                         "no token sees those that come after it", "hidden = padding",
                         "hidden = padding", causal_lesson,
                         unless(
                             [](const Plan& plan) {
                                 return plan.config.mask.padding && !plan.config.mask.causal &&
                                        plan.query_len > 1;
                             },
                             "padding is not all that is hidden"),
                         with_change([](MaskChoice& mask) { mask.causal = true; })),
            {"causal-unasked", "weights", "Later keys were hidden where all should be seen",
             "no token sees those that come after it", "weights = F.softmax(scores, dim=-1)",
             "weights = softmax(scores)", causal_lesson, "",
             unless([](const Plan& plan) { return !plan.masks() && plan.query_len > 1; },
                    "something is hidden here"),
             with_ledger({"row_max", "exponentials", "weights"}, hide_later_keys),
             lines_of_each({"row_max", "exponentials", "weights"}, later_keys_lines, "")},
            kind_mistake("prefix-causal", "The prefix was masked like the rest",
                         "tokens of the prefix do not see those of it that come later",
                         "hidden = (k > q) & (k >= N)", "hidden = (k > q) & (k >= N)",
                         "A prompt or an image is read whole before the first word is written.",
                         needs_prefix(), with_change([](MaskChoice& mask) {
                             mask.prefix.reset();
                             mask.causal = true;
                         })),
            kind_mistake("prefix-causal=open", "Everything was read in both directions",
                         "tokens behind the prefix see those that come after them",
                         "hidden = (k > q) & (k >= N)", "hidden = (k > q) & (k >= N)",
                         "Only the prefix is open in both directions.", needs_prefix(),
                         with_change([](MaskChoice& mask) {
                             mask.prefix.reset();
                             mask.causal = false;
                         })),
            kind_mistake(
                "documents-leak", "Packed documents were not kept apart",
                "tokens see the documents in front of (and behind) their own",
                "hidden = document[:, None] != document", "hidden = document[:, None] != document",
                "New positions for each document keep nothing apart: the mask does.",
                unless([](const Plan& plan) { return plan.config.mask.documents.size() > 1; },
                       "there are no several documents"),
                with_change([](MaskChoice& mask) { mask.documents.clear(); })),
        });
}

}  // namespace attn
