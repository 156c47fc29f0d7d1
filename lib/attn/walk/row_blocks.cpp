#include "attn/walk/row_blocks.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "attn/simd/kernels.hpp"
#include "attn/simd/memory.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/softmax.hpp"
#include "attn/tensor/error.hpp"
#include "attn/walk/score_bias.hpp"
#include "attn/walk/visibility.hpp"

namespace attn {
namespace {

/// The rows of a block: three tiles of sums, so that each panel of keys is used three times while
/// it is near, and few enough for their scores to stay near too.
constexpr std::size_t most_block_rows = 24;

/// The fused kernel cuts its queries into blocks itself: these are shared among threads.
constexpr std::size_t most_fused_rows = 512;

/// The stride of rows in memory: whole cache lines, and an odd number of them, since rows a power
/// of two apart compete for the same few places of a cache.
std::size_t row_stride(std::size_t count) { return ((count + 15) / 16 | 1) * 16; }

/// One contiguous run of queries of one batch entry and head, and its place in the result.
struct Run {
    std::size_t batch, head, first, count, place;
};

/// The rows cut into runs: neighbours that follow each other in the whole and in the result.
std::vector<Run> runs_of(const QueryRows& rows) {
    std::vector<Run> runs;
    std::size_t place = 0;
    for (const std::size_t batch : rows.batches) {
        for (const std::size_t head : rows.heads) {
            const std::size_t start = runs.size();
            for (const std::size_t query : rows.queries) {
                const bool follows =
                    runs.size() > start && query == runs.back().first + runs.back().count;
                if (follows) {
                    ++runs.back().count;
                } else {
                    runs.push_back({batch, head, query, 1, place});
                }
                ++place;
            }
        }
    }
    return runs;
}

template <class T>
class RowBlocks {
public:
    RowBlocks(const Plan& plan, const RowSources<T>& sources, const RowSteps& steps,
              const QueryRows& rows, std::vector<Array<T>>& kept)
        : plan_(plan), sources_(sources), rows_(rows) {
        kept.resize(steps.kept.size());
        for (const Step* step : steps.steps) {
            Task task{step, step->rows(plan)};
            const auto place = std::find(steps.kept.begin(), steps.kept.end(), step);
            if (place != steps.kept.end()) {
                task.kept = &kept[static_cast<std::size_t>(place - steps.kept.begin())];
            } else if (task.perform.makes == PerRow::row_max &&
                       plan.config.empty_row == EmptyRow::error) {
                task.kept = &all_row_max_;
            }
            if (task.kept && task.kept->shape() != shape_of_rows(*step)) {
                *task.kept = empty_array<T>(shape_of_rows(*step));
            }
            tasks_.push_back(task);
        }
        find_skippable_keys();
    }

    void evaluate() {
        const std::vector<Run> runs = runs_of(rows_);
        const std::size_t height = block_height();
        std::vector<Run> blocks;
        for (const Run& run : runs) {
            // In causal attention the last blocks of a head are the long ones: they come first.
            const std::size_t count = (run.count + height - 1) / height;
            for (std::size_t b = count; b-- > 0;) {
                const std::size_t first = b * height;
                blocks.push_back({run.batch, run.head, run.first + first,
                                  std::min(height, run.count - first), run.place + first});
            }
        }
        const double work =
            static_cast<double>(rows_.batches.size() * rows_.heads.size() * rows_.queries.size()) *
            static_cast<double>(plan_.key_len) *
            static_cast<double>(plan_.key_dim() + plan_.mixed_dim());
        const std::size_t threads =
            worthwhile_threads(static_cast<std::size_t>(plan_.config.threads), work, blocks.size());
        std::vector<Workspace> workspaces;
        for (std::size_t t = 0; t < threads; ++t) {
            workspaces.emplace_back(height, plan_.fused() ? 0 : plan_.key_len);
        }
        share_tasks(blocks.size(), threads, [&](std::size_t block, std::size_t thread) {
            evaluate(blocks[block], workspaces[thread]);
            finish_streams();
        });
        refuse_empty_rows(runs);
    }

private:
    struct Task {
        const Step* step;
        RowStep perform;
        Array<T>* kept = nullptr;  ///< null when it is not kept
    };

    /// What one thread works with.
    struct Workspace {
        Workspace(std::size_t height, std::size_t keys)
            : stride(row_stride(keys)),
              cells(std::make_unique_for_overwrite<T[]>(keys == 0 ? 0 : height * stride)),
              row_max(std::make_unique_for_overwrite<T[]>(height)),
              row_sum(std::make_unique_for_overwrite<T[]>(height)),
              sink_weight(std::make_unique_for_overwrite<T[]>(height)),
              products(std::make_unique<PackedProducts>()) {}

        std::size_t stride;
        std::unique_ptr<T[]> cells, row_max, row_sum, sink_weight;
        std::unique_ptr<PackedProducts> products;
    };

    std::size_t block_height() const {
        return std::min(plan_.fused() ? most_fused_rows : most_block_rows, plan_.query_len);
    }

    Shape shape_of_rows(const Step& step) const {
        Outline outline = step.outline(plan_);
        for (std::size_t i = 0; i < outline.axes.size(); ++i) {
            if (outline.axes[i] == "batch") outline.shape[i] = rows_.batches.size();
            if (outline.axes[i] == "head") outline.shape[i] = rows_.heads.size();
            if (outline.axes[i] == "query") outline.shape[i] = rows_.queries.size();
        }
        return outline.shape;
    }

    /// Rows may end behind their last visible key, unless a hidden value is inf or nan, which 0
    /// times is nan. Short rows are not worth it.
    void find_skippable_keys() {
        const auto mask = std::find_if(tasks_.begin(), tasks_.end(),
                                       [](const Task& task) { return task.perform.masks; });
        const bool pays = mask != tasks_.end() && plan_.key_len >= vector_row_length;
        masking_ = static_cast<std::size_t>(mask - tasks_.begin());
        const MatrixView<const T>& value = sources_.value;
        for (std::size_t g = 0; g < value.groups; ++g) {
            skips_.push_back(pays && row_operations<T>(plan_.key_len)
                                         .finite(value.row(g, 0), value.rows * value.columns));
        }
        for (std::size_t t = 0; t < masking_ && t < tasks_.size(); ++t) {
            needs_all_scores_ = needs_all_scores_ || tasks_[t].kept != nullptr;
        }
    }

    /// How many cells of each row of a block are computed: one behind the last that any row sees,
    /// which stands for all hidden ones.
    std::size_t width_of(const Run& block, const MaskView& mask, std::size_t kv_group) const {
        if (!skips_[kv_group]) return plan_.key_len;
        std::size_t width = vector_row_length;  // shorter rows are worked on in another way
        for (std::size_t q = block.count; q-- > 0 && width < plan_.key_len;) {
            std::size_t end = mask.visible(q, plan_.key_len).end;
            if (const bool* cells = mask.cells(0, q)) {
                while (end > 0 && cells[(end - 1) * mask.key_stride]) --end;
            }
            width = std::max(width, end + 1);
        }
        return std::min(width, plan_.key_len);
    }

    void evaluate(const Run& block, Workspace& work) {
        const std::size_t group = block.batch * plan_.heads + block.head;
        // Repeated keys and values have as many matrices as the queries; others are shared.
        const std::size_t kv_group = group / (sources_.query.groups / sources_.key.groups);
        Arithmetic arithmetic = plan_.attention_arithmetic;
        arithmetic.products = work.products.get();
        const MaskView mask = sources_.mask.from(group, block.first);
        const std::size_t width = width_of(block, mask, kv_group);
        const MatrixView<T> cells{work.cells.get(), 1, block.count, width, work.stride, 0};
        const MatrixView<T> row_max = column_of(work.row_max.get(), 1, block.count);
        const MatrixView<T> row_sum = column_of(work.row_sum.get(), 1, block.count);
        const MatrixView<T> sink_weight = column_of(work.sink_weight.get(), 1, block.count);
        load_cells(block, group, cells);

        // Products take all rows of the block at once, other steps row after row.
        const auto step = [&](std::size_t t, std::size_t first, std::size_t count) {
            const Task& task = tasks_[t];
            const std::size_t columns = t < masking_ && needs_all_scores_ ? plan_.key_len : width;
            const MatrixView<T> here = cells.block(0, first, count).first_columns(columns);
            RowBlock<T> rows{plan_,
                             arithmetic,
                             mask.from(0, first),
                             sources_.bias.from(group, block.first + first),
                             sources_.query.block(group, block.first + first, count),
                             sources_.key.block(kv_group, 0, plan_.key_len),
                             sources_.value.block(kv_group, 0, plan_.key_len),
                             here,
                             row_max.block(0, first, count),
                             row_sum.block(0, first, count),
                             here};
            if (!sources_.sink.empty()) rows.sink = sources_.sink.subspan(block.head, 1);
            switch (task.perform.makes) {
                case PerRow::cells:
                    break;  // in the place of those that it reads
                case PerRow::row_max:
                    rows.result = row_max.block(0, first, count);
                    break;
                case PerRow::row_sum:
                    rows.result = row_sum.block(0, first, count);
                    break;
                case PerRow::sink_weight:
                    rows.result = sink_weight.block(0, first, count);
                    break;
                case PerRow::features:
                    rows.result = kept_rows(task, block.place + first, count);
                    break;
            }
            task.perform(rows);
            if (task.kept && task.perform.makes != PerRow::features) {
                keep(rows.result, kept_rows(task, block.place + first, count));
            }
        };
        for (std::size_t t = 0; t < tasks_.size();) {
            std::size_t end = t;
            while (end < tasks_.size() && !tasks_[end].perform.multiplies) ++end;
            for (std::size_t r = 0; r < block.count; ++r) {
                for (std::size_t of_row = t; of_row < end; ++of_row) step(of_row, r, 1);
            }
            if (end < tasks_.size()) step(end++, 0, block.count);
            t = end;
        }
    }

    /// The cells from which the first step goes on, where an earlier walk made them.
    void load_cells(const Run& block, std::size_t group, const MatrixView<T>& cells) const {
        if (!sources_.cells.numbers) return;
        for (std::size_t r = 0; r < block.count; ++r) {
            std::copy_n(sources_.cells.row(group, block.first + r), cells.columns, cells.row(0, r));
        }
    }

    MatrixView<T> kept_rows(const Task& task, std::size_t place, std::size_t count) {
        Array<T>& array = *task.kept;
        const std::size_t all = rows_.batches.size() * rows_.heads.size() * rows_.queries.size();
        const std::size_t columns = array.size() / all;
        return {array.data() + place * columns, 1, count, columns, columns, 0};
    }

    /// What is kept leaves the cache. The last computed cell stands for those behind it.
    static void keep(const MatrixView<T>& made, const MatrixView<T>& kept) {
        for (std::size_t r = 0; r < made.rows; ++r) {
            stream_row(made.row(0, r), kept.row(0, r), made.columns);
            std::fill(kept.row(0, r) + made.columns, kept.row(0, r) + kept.columns,
                      made(0, r, made.columns - 1));
        }
    }

    void refuse_empty_rows(const std::vector<Run>& runs) const {
        if (plan_.config.empty_row != EmptyRow::error) return;
        for (const Task& task : tasks_) {
            if (task.perform.makes != PerRow::row_max) continue;
            for (const Run& run : runs) {
                attn::refuse_empty_rows(
                    task.kept->data() + run.place, run.count,
                    (run.batch * plan_.heads + run.head) * plan_.query_len + run.first);
            }
        }
    }

    const Plan& plan_;
    const RowSources<T>& sources_;
    const QueryRows& rows_;
    std::vector<Task> tasks_;
    Array<T> all_row_max_;           ///< where it is wanted to refuse rows alone
    std::size_t masking_ = 0;        ///< the task that masks, or the number of tasks
    bool needs_all_scores_ = false;  ///< what stands before it is kept, hidden cells too
    std::vector<bool> skips_;  ///< for each head, whether rows end behind their last visible key
};

}  // namespace

namespace {

/// The cells that `first` goes on with: weights, or the latest scores; null where it makes them.
const Tensor* cells_before(const Plan& plan, const Ledger& ledger, const Step& first) {
    if (plan.fused()) return nullptr;
    const Chain chain = first.chain == Chain::contexts ? Chain::weights : Chain::scores;
    const Ledger::Entry* cells = ledger.find_latest(chain, first.name);
    return cells ? &cells->tensor : nullptr;
}

}  // namespace

RowSteps row_steps_from(const Plan& plan, const Ledger& given, const StepTable& table,
                        std::size_t first, const std::function<bool(const Step&)>& wanted) {
    RowSteps found;
    std::size_t last = 0;  // how many steps there are up to the last one that is wanted
    for (std::size_t i = first; i < table.size(); ++i) {
        const Step& step = table[i];
        if (!step.applies(plan)) continue;
        const RowStep rows = step.rows ? step.rows(plan) : RowStep();
        const bool stands_aside = step.follows_plan || step.kind == Step::Kind::parameter;
        if (!rows && i > first && stands_aside) {
            found.before.push_back(&step);
            continue;
        }
        if (!rows || given.has(step.name)) break;
        if (found.steps.empty() && !rows.begins) break;
        found.steps.push_back(&step);
        if (!wanted(step)) continue;
        found.kept.push_back(&step);
        last = found.steps.size();
    }
    found.steps.resize(last);
    return found;
}

QueryRows all_rows(const Plan& plan) {
    QueryRows rows{std::vector<std::size_t>(plan.batch), std::vector<std::size_t>(plan.heads),
                   std::vector<std::size_t>(plan.query_len)};
    for (auto* axis : {&rows.batches, &rows.heads, &rows.queries}) {
        std::iota(axis->begin(), axis->end(), std::size_t{0});
    }
    return rows;
}

template <class T>
void evaluate_row_blocks(const Plan& plan, const RowSources<T>& sources, const RowSteps& steps,
                         const QueryRows& rows, std::vector<Array<T>>& kept) {
    RowBlocks<T>(plan, sources, steps, rows, kept).evaluate();
}

template void evaluate_row_blocks(const Plan&, const RowSources<float>&, const RowSteps&,
                                  const QueryRows&, std::vector<Array<float>>&);
template void evaluate_row_blocks(const Plan&, const RowSources<double>&, const RowSteps&,
                                  const QueryRows&, std::vector<Array<double>>&);

Ledger evaluate_row_blocks(const Plan& plan, const Ledger& ledger, const RowSteps& steps,
                           const QueryRows& rows) {
    Ledger made;
    if (steps.steps.empty()) return made;
    const Visibility visibility(plan);
    with_floating(plan.compute_dtype, [&](auto zero) {
        using T = decltype(zero);
        RowSources<T> sources{matrices_of(ledger.latest(Chain::queries).as<T>()),
                              matrices_of(ledger.latest(Chain::keys).as<T>()),
                              matrices_of(ledger.latest(Chain::values).as<T>()),
                              {},
                              visibility.view()};
        if (const Tensor* sink = ledger.find("sink")) {
            const Array<T>& logits = sink->template as<T>();
            sources.sink = {logits.data(), logits.size()};
        }
        // A mask that was given, or replaced by a mistake, is what counts.
        if (const Tensor* mask = ledger.find("mask")) {
            sources.mask = view_of(mask->as<bool>(), plan);
        }
        const ScoreBias<T> bias(plan, ledger);
        sources.bias = bias.view();
        if (const Tensor* cells = cells_before(plan, ledger, *steps.steps.front())) {
            sources.cells = matrices_of(cells->template as<T>());
        }
        std::vector<Array<T>> kept;
        evaluate_row_blocks(plan, sources, steps, rows, kept);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            made.record(steps.kept[i]->name,
                        Tensor(steps.kept[i]->outline(plan).axes, std::move(kept[i])));
        }
    });
    return made;
}

bool has_planned_shapes(const Plan& plan, const Ledger& ledger, const Step& first) {
    const auto has = [&](const Tensor* tensor, const Shape& shape) {
        return tensor == nullptr || tensor->shape() == shape;
    };
    // Block by block the heads share keys and values; elsewhere these are repeated.
    const std::size_t kv_heads = plan.fused() ? plan.kv_heads : plan.heads;
    return has(&ledger.latest(Chain::queries),
               plan.per_head_shape(plan.query_len, plan.key_dim())) &&
           has(&ledger.latest(Chain::keys),
               plan.per_head_shape(plan.key_len, plan.key_dim(), kv_heads)) &&
           has(&ledger.latest(Chain::values),
               plan.per_head_shape(plan.key_len, plan.mixed_dim(), kv_heads)) &&
           has(cells_before(plan, ledger, first),
               plan.per_head_shape(plan.query_len, plan.key_len));
}

}  // namespace attn
