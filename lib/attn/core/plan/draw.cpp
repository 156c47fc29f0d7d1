#include "attn/core/plan/draw_list.hpp"

#include <zlib.h>

#include <algorithm>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Draws each row of an embedding with a separate generator.
template <class T>
void draw_words(const DrawnTensor& row, std::span<T> cells, DType dtype) {
    const WalkConfig& config = *row.seeds;
    const std::size_t width = row.extents.back().length();
    for (std::size_t i = 0; i < row.words.size(); ++i) {
        const auto generator =
            make_generator(config.rng, word_seed(config.seed, row.words[i]), config.torch_build);
        initialise(cells.subspan(i * width, width), row.how, row.in, row.out, *generator, dtype);
    }
}

/// Draws the part of one turn.
template <class T>
void draw_share(const DrawnTensor& row, std::size_t turn, Array<T>& array, DType dtype,
                Generator& generator) {
    const std::size_t count = array.size() / row.turns;
    const std::span<T> cells(array.data() + turn * count, count);
    if (row.is_mask()) return draw_kept(cells, *row.seeds);
    if (row.value) {
        std::ranges::copy(row.value->as<T>(), cells.begin());
        return;
    }
    if (row.words.empty()) {
        initialise(cells, row.how, row.in, row.out, generator, dtype);
    } else {
        draw_words(row, cells, dtype);
    }
    if (row.shift != 0 || row.spread != 1) {
        const auto shift = static_cast<T>(row.shift), spread = static_cast<T>(row.spread);
        for (T& cell : cells) cell = shift + spread * cell;
    }
    if (row.zero_row) {
        const std::size_t width = row.extents.back().length();
        std::ranges::fill(cells.subspan(*row.zero_row * width, width), T{0});
    }
    if (!row.diagonal) return;
    const std::size_t rows = row.extents[row.extents.size() - 2].length();
    const std::size_t columns = row.extents.back().length();
    for (std::size_t first = 0; first < count; first += rows * columns) {
        for (std::size_t i = 0; i < std::min(rows, columns); ++i)
            cells[first + i * columns + i] = 1;
    }
}

/// Replaces drawn parameters by given ones.
void take_given(const Ledger& parameters, Ledger& ledger) {
    for (const auto& [name, tensor] : parameters.entries()) {
        const Tensor& drawn = ledger[name];
        if (drawn.shape() != tensor.shape()) {
            throw ShapeError("the given " + name + " has shape " + shape_text(tensor.shape()) +
                             " but this walk needs " + drawn.described() +
                             ": change the dimensions ($heads, $kv-heads, $head-dim) or the "
                             "weight layout"_message);
        }
        ledger.record(name, tensor.renamed(drawn.axes()));
    }
}

}  // namespace

std::uint32_t word_seed(std::uint64_t seed, const std::string& word) {
    const std::string text = std::to_string(seed) + " " + word;
    return static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

Tensor drawn_tensor(const DrawnTensor& row, DType dtype) {
    const Shape shape = row.shape();
    if (const auto* tokens = std::get_if<Tokens>(row.given_source)) {
        Array<std::int64_t> ids = empty_array<std::int64_t>(shape);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const std::size_t b = i / shape.back() % tokens->sequences.size();
            ids.data()[i] = tokens->sequences[b][i % shape.back()];
        }
        return {row.axes(), std::move(ids)};
    }
    const Tensor& given = std::get<Tensor>(*row.given_source);
    const Tensor selected = with_floating(dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> array = empty_array<T>(shape);
        for (std::size_t i = 0; i < array.size(); ++i) {
            array.data()[i] = static_cast<T>(given.at(i % given.size()));
        }
        return {row.axes(), std::move(array)};
    });
    return cast(selected, dtype);
}

Ledger draw(const DrawList& list, DType dtype, Generator& generator) {
    Ledger ledger;
    with_floating(dtype, [&](auto zero) {
        using T = decltype(zero);
        std::vector<Array<T>> arrays;
        for (const DrawnTensor& row : list) {
            arrays.push_back(empty_array<T>(row.given_source ? Shape{0} : row.shape()));
        }
        // Rows that alternate, or are drawn repeatedly, are drawn as a group.
        for (std::size_t first = 0, end = 0; first < list.size(); first = end) {
            const auto [turns, times] = std::pair(list[first].turns, list[first].times);
            while (end < list.size() && list[end].turns == turns && list[end].times == times) ++end;
            for (std::size_t turn = 0; turn < turns * times; ++turn) {
                for (std::size_t i = first; i < end; ++i) {
                    if (list[i].given_source) continue;
                    draw_share(list[i], turn % turns, arrays[i], dtype, generator);
                }
            }
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].name.empty()) continue;
            ledger.record(list[i].name,
                          list[i].given_source
                              ? drawn_tensor(list[i], dtype)
                              : cast(Tensor(list[i].axes(), std::move(arrays[i])), dtype));
        }
    });
    return ledger;
}

Ledger draw(const Plan& plan, Generator& generator) {
    Ledger drawn = draw(draw_list(plan), plan.dtype, generator);
    take_given(plan.config.parameters, drawn);
    Ledger given;
    for (const auto& [name, tensor] : drawn.entries()) {
        given.record(name, cast(cast(tensor, plan.dtype), plan.compute_dtype));
    }
    return given;
}

Ledger draw(const Plan& plan) {
    const WalkConfig& config = plan.config;
    return draw(plan, *make_generator(config.rng, config.seed, config.torch_build));
}

}  // namespace attn
