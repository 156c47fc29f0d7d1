#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// Where one cell of a split tensor is read from: head and token become the place (token, feature)
/// in the unsplit row-major memory of one sample.
using ReadFrom =
    std::function<std::size_t(std::size_t h, std::size_t t, std::size_t f, const Grid& right)>;

/// Splits again, from the same numbers, by another rule.
TableEdit split_by(ReadFrom from_where) {
    return replace_step(head_steps(), [from_where](const Plan& plan, const Ledger& ledger,
                                                   const Compute& before) {
        return rearranged(before(plan, ledger), [&](const GridCell& cell, const Grid& right) {
            const std::size_t from = from_where(cell.h, cell.r, cell.c, right);
            const std::size_t all = right.heads * right.columns;
            const std::size_t feature = from % all;
            return GridCell{cell.b, feature / right.columns, from / all, feature % right.columns};
        });
    });
}

/// The lines of a split that reads the unsplit features of each sample by another rule.
std::vector<WrongLines> split_lines(const std::string& rule, const std::string& words) {
    std::vector<WrongLines> lines;
    for (const std::string& step : head_steps()) {
        const std::string unsplit = step + " = " + step + ".transpose(-3, -2)";
        lines.push_back({step, say("{right}\n" + unsplit + rule), formula("{right}, " + words)});
    }
    return lines;
}

bool splits(const Plan& plan) {
    return plan.heads > 1 && !plan.head_axis_on_weight() && plan.has_x() &&
           !walk_has(plan, "latent");
}

}  // namespace

void add_head_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            {"split-view", "query", "The projection was viewed as (B, H, T, D) directly",
             "a head's tokens are pieces of one or two true tokens, and causal masks leak",
             "q = q.view(B, T, H, D).transpose(1, 2)", "q = q.reshape(B, T, H, D).swapaxes(1, 2)",
             "A view re-reads memory in order; only a transpose moves an axis.", "",
             first_of(
                 {unless(splits, "nothing is split into heads"),
                  unless([](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
                         "with one token both shapes read memory alike")}),
             split_by([](std::size_t h, std::size_t t, std::size_t f, const Grid& right) {
                 return (h * right.rows + t) * right.columns + f;
             }),
             split_lines(".reshape({shape})", "cut as (head, token)")},
            {"split-strided", "query", "Features were dealt out to the heads in turn",
             "head h holds features h, h + H, h + 2 H, ... instead of neighbours",
             "q = q.view(B, T, H, D)  # not view(B, T, D, H)",
             "q = q.reshape(B, T, H, D)  # not reshape(B, T, D, H)",
             "A head is a run of neighbouring features; the weights were trained that way.", "",
             first_of(
                 {unless(splits, "nothing is split into heads"),
                  unless([](const Plan& plan) { return plan.head_dim > 1 || plan.value_dim > 1; },
                         "with one feature a head there is no difference")}),
             split_by([](std::size_t h, std::size_t t, std::size_t f, const Grid& right) {
                 return (t * right.columns + f) * right.heads + h;
             }),
             split_lines(".reshape({feature by head}).transpose(-2, -1).transpose(-3, -2)",
                         "features dealt out in turn")},
        });
}

}  // namespace attn
