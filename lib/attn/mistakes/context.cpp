#include <algorithm>

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

bool merges(const Plan& plan) { return plan.has_head && plan.merges && plan.context_heads() > 1; }

Tensor diagonal_only(const Plan& plan, const Ledger& ledger, const Compute&) {
    const Grid weights = grid_of(ledger.latest(Chain::weights));
    Grid context = grid_of(ledger.latest(Chain::values));
    context.fill([&](std::size_t b, std::size_t h, std::size_t t, std::size_t f) {
        return weights.at(b, h, t, t) * context.at(b, h, t, f);
    });
    return tensor_of(context, plan.per_head_axes("query", "feature"), plan.compute_dtype);
}

void exchange_rows_and_columns(Ledger& ledger, const Plan&) {
    const Tensor weights = ledger.latest(Chain::weights);
    const std::size_t axes = weights.dimension();
    replace_latest(ledger, Chain::weights, exchanged(weights, axes - 2, axes - 1));
}

/// Which cell of the context a cell of merged reads, from the one that it should read.
using CellMap = std::function<GridCell(const GridCell& right, const Grid& context)>;

/// Merges the heads by another rule; `right` is where the right merge would read.
TableEdit merged_by(CellMap place) {
    return replace_step({"merged"}, [place](const Plan& plan, const Ledger& ledger,
                                            const Compute&) {
        const Grid context = grid_of(ledger.latest(Chain::contexts, "merged"));
        Grid merged(context.batch, 1, context.rows, context.heads * context.columns);
        merged.fill([&](std::size_t b, std::size_t, std::size_t t, std::size_t c) {
            const GridCell cell = place({b, c / context.columns, t, c % context.columns}, context);
            return context.at(cell.b, cell.h, cell.r, cell.c);
        });
        return tensor_of(merged, plan.per_batch_axes("query", "feature"), plan.compute_dtype);
    });
}

Mistake heads_reduced(const char* how, double (*reduce)(const std::vector<double>&), Lines lines) {
    const auto compute = [reduce](const Plan& plan, const Ledger& ledger, const Compute&) {
        const Grid context = grid_of(ledger.latest(Chain::contexts, "merged"));
        Grid one(context.batch, 1, context.rows, context.columns);
        one.fill([&](std::size_t b, std::size_t, std::size_t t, std::size_t f) {
            std::vector<double> heads;
            for (std::size_t h = 0; h < context.heads; ++h) heads.push_back(context.at(b, h, t, f));
            return reduce(heads);
        });
        return tensor_of(one, plan.per_batch_axes("query", "feature"), plan.compute_dtype);
    };
    return {std::string("heads-averaged=") + how,
            "merged",
            std::string("Heads were put together by their ") + how,
            "the result has the features of one head only",
            "context.transpose(1, 2).reshape(B, T, H * D)",
            "context.swapaxes(1, 2).reshape(B, T, H * D)",
            "Heads stand side by side; the output projection decides how to mix them.",
            "",
            first_of({unless(merges, "no heads are merged"),
                      unless([](const Plan& plan) { return !plan.config.output_projection; },
                             "the output projection would not fit, and the program would stop")}),
            replace_step({"merged"}, compute),
            {{"merged", std::move(lines)}}};
}

double mean_of(const std::vector<double>& heads) {
    double sum = 0;
    for (const double head : heads) sum += head;
    return sum / static_cast<double>(heads.size());
}

double sum_of(const std::vector<double>& heads) {
    return mean_of(heads) * static_cast<double>(heads.size());
}

double max_of(const std::vector<double>& heads) {
    return *std::max_element(heads.begin(), heads.end());
}

Mistake in_merge(std::string id, std::string title, std::string effect, std::string lesson,
                 NotApplicable possible, CellMap place, Lines lines) {
    return {std::move(id),
            "merged",
            std::move(title),
            std::move(effect),
            "context.transpose(1, 2).reshape(B, T, H * D)",
            "context.swapaxes(1, 2).reshape(B, T, H * D)",
            std::move(lesson),
            "",
            first_of({unless(merges, "no heads are merged"), std::move(possible)}),
            merged_by(std::move(place)),
            {{"merged", std::move(lines)}}};
}

}  // namespace

void add_context_mistakes(std::vector<Mistake>& list) {
    const NotApplicable nothing_more = [](const Plan&) { return std::string(); };
    add(list,
        {
            {"v-is-k",
             "context",
             "The weights were applied to the keys",
             "the context mixes keys, and the value projection has no influence",
             "context = weights @ v",
             "context = weights @ v",
             "Keys say where to look, values say what is there.",
             "keys for values",
             unless(
                 [](const Plan& plan) {
                     return plan.mixed_dim() == plan.key_dim() &&
                            plan.value_heads() == plan.kv_heads;
                 },
                 "keys and values differ in width"),
             with_ledger({"context"},
                         [](Ledger& ledger, const Plan&) {
                             replace_latest(ledger, Chain::values, ledger.latest(Chain::keys));
                         }),
             {{"context", say("context = weights @ {keys}"), formula("context = weights @ key")}}},
            {"einsum-diagonal",
             "context",
             "A repeated letter in einsum took the diagonal",
             "each token receives its own value times its own weight, and nothing from the others",
             "torch.einsum('bqk,bkd->bqd', weights, v)",
             "np.einsum('bqk,bkd->bqd', weights, v)",
             "In einsum one letter is one axis: name queries and keys apart.",
             "",
             needs_square,
             replace_step({"context"}, diagonal_only),
             {{"context",
               say("context = torch.einsum(\"{bh}kk,{bh}kf->{bh}kf\", {weights}, {values})"),
               formula("context(t) = weights(t, t) * value(t)")}}},
            {"weights-transposed",
             "context",
             "The transposed weights were applied to the values",
             "the weights of a query no longer sum to 1, and later tokens leak through a causal "
             "mask",
             "context = weights @ v",
             "context = weights @ v",
             "Row q of the weights belongs to query q: it must meet all values.",
             "",
             needs_square,
             with_ledger({"context"}, exchange_rows_and_columns),
             {{"context", say("context = {weights}.transpose(-2, -1) @ {values}"),
               formula("context = weights^T @ value")}}},
            in_merge(
                "merge-reshape", "Heads were merged without moving their axis back",
                "a merged row holds several tokens of one head",
                "Undo the split in reverse order: first move the axis, then join.",
                unless([](const Plan& plan) { return plan.query_len > 1; },
                       "with one token there is nothing to mix up"),
                [](const GridCell& right, const Grid& context) {
                    const std::size_t flat =
                        (right.r * context.heads + right.h) * context.columns + right.c;
                    const std::size_t of_head = context.rows * context.columns;
                    return GridCell{right.b, flat / of_head, flat % of_head / context.columns,
                                    flat % context.columns};
                },
                say("merged = {contexts}.reshape({shape})")),
            with_fix(
                in_merge(
                    "merge-bh-swapped", "A joint batch-and-head axis was taken apart as (H, B)",
                    "samples receive heads of other samples",
                    "What was joined as (batch, head) must be taken apart as (batch, head).",
                    unless([](const Plan& plan) { return plan.batch > 1; },
                           "there is only one sample"),
                    [](const GridCell& right, const Grid& context) {
                        const std::size_t joint = right.h * context.batch + right.b;
                        return GridCell{joint / context.heads, joint % context.heads, right.r,
                                        right.c};
                    },
                    say("merged = {contexts}.reshape({context heads}, {B}, {Tq}, -1).transpose(0, "
                        "1).transpose(-3, "
                        "-2).reshape({shape})")),
                "context.view(B, H, T, D).transpose(1, 2).reshape(B, T, H * D)",
                "context.reshape(B, H, T, D).swapaxes(1, 2).reshape(B, T, H * D)"),
            in_merge(
                "merge-order=reversed", "Heads were merged last one first",
                "the output weight meets the features of other heads",
                "The output weight was trained on head 0 first.", nothing_more,
                [](const GridCell& right, const Grid& context) {
                    return GridCell{right.b, context.heads - 1 - right.h, right.r, right.c};
                },
                say("merged = {contexts}.flip(-3).transpose(-3, -2).reshape({shape})",
                    "merged = np.flip({contexts}, -3).swapaxes(-3, -2).reshape({shape})")),
            in_merge(
                "merge-order=strided", "Heads were interleaved feature by feature",
                "neighbouring features belong to different heads",
                "A head's features stay together when heads are merged.",
                unless([](const Plan& plan) { return plan.value_dim > 1; },
                       "with one feature a head there is no difference"),
                [](const GridCell& right, const Grid& context) {
                    const std::size_t c = right.h * context.columns + right.c;
                    return GridCell{right.b, c % context.heads, right.r, c / context.heads};
                },
                say("merged = {contexts}.transpose(-3, -2).transpose(-2, -1).reshape({shape})")),
            heads_reduced(
                "mean", mean_of,
                say("merged = {contexts}.mean(dim=-3)", "merged = {contexts}.mean(axis=-3)")),
            heads_reduced(
                "sum", sum_of,
                say("merged = {contexts}.sum(dim=-3)", "merged = {contexts}.sum(axis=-3)")),
            heads_reduced(
                "maximum", max_of,
                say("merged = {contexts}.amax(dim=-3)", "merged = {contexts}.max(axis=-3)")),
        });
}

}  // namespace attn
