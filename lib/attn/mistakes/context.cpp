#include <algorithm>

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

std::string needs_square(const Plan& plan) {
    return plan.query_len == plan.key_len ? "" : "there are not as many keys as queries";
}

bool merges(const Plan& plan) { return plan.has_head && plan.merges && plan.heads > 1; }

Tensor diagonal_only(const Plan& plan, const Ledger& ledger, const Compute&) {
    const Grid weights = grid_of(ledger["weights"]);
    Grid context = grid_of(ledger.latest(Chain::values));
    context.fill([&](std::size_t b, std::size_t h, std::size_t t, std::size_t f) {
        return weights.at(b, h, t, t) * context.at(b, h, t, f);
    });
    return tensor_of(context, plan.per_head_axes("query", "feature"), plan.compute_dtype);
}

void exchange_rows_and_columns(Ledger& ledger, const Plan&) {
    const Tensor weights = ledger["weights"];
    const std::size_t axes = weights.dimension();
    ledger.record("weights", exchanged(weights, axes - 2, axes - 1));
}

/// Which cell of the context a cell of merged reads: given its place, batch, head, row, column.
struct Cell {
    std::size_t b, h, t, f;
};
using Place = std::function<Cell(const Cell& right, const Grid& context)>;

/// Merges the heads by another rule; `right` is where the right merge would read.
TableEdit merged_by(Place place) {
    return replace_step(
        {"merged"}, [place](const Plan& plan, const Ledger& ledger, const Compute&) {
            const Grid context = grid_of(ledger["context"]);
            Grid merged(context.batch, 1, context.rows, context.heads * context.columns);
            merged.fill([&](std::size_t b, std::size_t, std::size_t t, std::size_t c) {
                const Cell cell = place({b, c / context.columns, t, c % context.columns}, context);
                return context.at(cell.b, cell.h, cell.t, cell.f);
            });
            return tensor_of(merged, plan.per_batch_axes("query", "feature"), plan.compute_dtype);
        });
}

Mistake heads_reduced(const char* how, double (*reduce)(const std::vector<double>&)) {
    const auto compute = [reduce](const Plan& plan, const Ledger& ledger, const Compute&) {
        const Grid context = grid_of(ledger["context"]);
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
            replace_step({"merged"}, compute)};
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
                 NotApplicable possible, Place place) {
    return {std::move(id),
            "merged",
            std::move(title),
            std::move(effect),
            "context.transpose(1, 2).reshape(B, T, H * D)",
            "context.swapaxes(1, 2).reshape(B, T, H * D)",
            std::move(lesson),
            "",
            first_of({unless(merges, "no heads are merged"), std::move(possible)}),
            merged_by(std::move(place))};
}

}  // namespace

void add_context_mistakes(std::vector<Mistake>& list) {
    const NotApplicable nothing_more = [](const Plan&) { return std::string(); };
    add(list,
        {
            {"v-is-k", "context", "The weights were applied to the keys",
             "the context mixes keys, and the value projection has no influence",
             "context = weights @ v", "context = weights @ v",
             "Keys say where to look, values say what is there.", "keys for values",
             unless([](const Plan& plan) { return plan.value_dim == plan.head_dim; },
                    "keys and values differ in width"),
             with_ledger({"context"},
                         [](Ledger& ledger, const Plan&) {
                             replace_latest(ledger, Chain::values, ledger.latest(Chain::keys));
                         })},
            {"einsum-diagonal", "context", "A repeated letter in einsum took the diagonal",
             "each token receives its own value times its own weight, and nothing from the others",
             "torch.einsum('bqk,bkd->bqd', weights, v)", "np.einsum('bqk,bkd->bqd', weights, v)",
             "In einsum one letter is one axis: name queries and keys apart.", "", needs_square,
             replace_step({"context"}, diagonal_only)},
            {"weights-transposed", "context", "The transposed weights were applied to the values",
             "shares no longer add up to 1, and later tokens leak through a causal mask",
             "context = weights @ v", "context = weights @ v",
             "Row q of the weights belongs to query q: it must meet all values.", "", needs_square,
             with_ledger({"context"}, exchange_rows_and_columns)},
            in_merge("merge-reshape", "Heads were merged without moving their axis back",
                     "a merged row holds several tokens of one head",
                     "Undo the split in reverse order: first move the axis, then join.",
                     unless([](const Plan& plan) { return plan.query_len > 1; },
                            "with one token there is nothing to mix up"),
                     [](const Cell& right, const Grid& context) {
                         const std::size_t flat =
                             (right.t * context.heads + right.h) * context.columns + right.f;
                         const std::size_t of_head = context.rows * context.columns;
                         return Cell{right.b, flat / of_head, flat % of_head / context.columns,
                                     flat % context.columns};
                     }),
            in_merge(
                "merge-bh-swapped", "A joint batch-and-head axis was taken apart as (H, B)",
                "samples receive heads of other samples",
                "What was joined as (batch, head) must be taken apart as (batch, head).",
                unless([](const Plan& plan) { return plan.batch > 1; }, "there is only one sample"),
                [](const Cell& right, const Grid& context) {
                    const std::size_t joint = right.h * context.batch + right.b;
                    return Cell{joint / context.heads, joint % context.heads, right.t, right.f};
                }),
            in_merge("merge-order=reversed", "Heads were merged last one first",
                     "the output weight meets the features of other heads",
                     "The output weight was trained on head 0 first.", nothing_more,
                     [](const Cell& right, const Grid& context) {
                         return Cell{right.b, context.heads - 1 - right.h, right.t, right.f};
                     }),
            in_merge("merge-order=strided", "Heads were interleaved feature by feature",
                     "neighbouring features belong to different heads",
                     "A head's features stay together when heads are merged.",
                     unless([](const Plan& plan) { return plan.value_dim > 1; },
                            "with one feature a head there is no difference"),
                     [](const Cell& right, const Grid& context) {
                         const std::size_t c = right.h * context.columns + right.f;
                         return Cell{right.b, c % context.heads, right.t, c / context.heads};
                     }),
            heads_reduced("mean", mean_of),
            heads_reduced("sum", sum_of),
            heads_reduced("maximum", max_of),
        });
}

}  // namespace attn
