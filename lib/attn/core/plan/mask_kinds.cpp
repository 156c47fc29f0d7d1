#include "attn/core/plan/mask_kinds.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "attn/core/plan/visibility.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

// Positions: those of keys count from 0, those of queries from causal_offset(plan).

std::int64_t position(const Plan& plan, const ScoreCell& cell) {
    return static_cast<std::int64_t>(cell.query) + causal_offset(plan);
}

Shape square(const Plan& plan) { return {plan.query_len, plan.key_len}; }

std::string counted_tokens(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " token" : " tokens");
}

bool after_the_query(const Plan& plan, const ScoreCell& cell) {
    return static_cast<std::int64_t>(cell.key) > position(plan, cell);
}

// causal

constexpr MaskKind causal{
    .word = "causal",
    .such_as = "causal",
    .help = "later keys",
    // With a prefix, that kind says which later keys are hidden.
    .chosen = [](const MaskChoice& mask) { return mask.is_causal(); },
    .choose = [](MaskChoice& mask, const std::vector<std::int64_t>&) { mask.causal = true; },
    .by_position = true,
    .fits_any_length = true,
    .hides = after_the_query,
    .shape = square,
    .limit =
        [](const Plan& plan, MaskView& view) {
            view.causal = true;
            view.causal_offset = causal_offset(plan);
        },
    .rule = [](const Plan& plan) { return "k > " + position_text(plan); },
    .reason = [](const Plan&,
                 const ScoreCell&) { return std::string("the key comes after the query"); },
    .keys =
        [](const Plan& plan) {
            return std::string(causal_offset(plan) != 0
                                   ? "keys that come later than the query, counted from the end"
                                   : "keys that come after the query");
        },
    .also = "later keys",
    .variable = "causal",
    .torch = "torch.ones({Tq}, {Tk}, dtype=torch.bool).triu({above})",
    .numpy = "np.triu(np.ones(({Tq}, {Tk}), dtype=bool), {above})",
};

// window:W, of which the query's own key is one

constexpr MaskKind window{
    .word = "window",
    .such_as = "window:4",
    .help = "keys 4 and more before the query; later ones stay visible, unless causal is said too",
    .chosen = [](const MaskChoice& mask) { return mask.window.has_value(); },
    .choose = [](MaskChoice& mask,
                 const std::vector<std::int64_t>& numbers) { mask.window = numbers[0]; },
    .numbers = [](const MaskChoice& mask) { return std::vector{*mask.window}; },
    .named = {"window"},
    .by_position = true,
    .hides =
        [](const Plan& plan, const ScoreCell& cell) {
            const std::int64_t back = position(plan, cell) - static_cast<std::int64_t>(cell.key);
            return back >= *plan.config.mask.window;
        },
    .shape = square,
    .limit =
        [](const Plan& plan, MaskView& view) {
            view.window = true;
            view.window_offset = causal_offset(plan) - *plan.config.mask.window + 1;
        },
    .rule =
        [](const Plan& plan) {
            return "k <= " + position_text(plan) + " - " + std::to_string(*plan.config.mask.window);
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            const std::int64_t back = position(plan, cell) - static_cast<std::int64_t>(cell.key);
            return "the key is " + counted_tokens(back) + " back, and a window of " +
                   std::to_string(*plan.config.mask.window) + " ends " +
                   std::to_string(*plan.config.mask.window - 1) + " back";
        },
    .keys =
        [](const Plan& plan) {
            return "keys more than " + counted_tokens(*plan.config.mask.window - 1) + " back";
        },
    .also = "keys before the window",
    .variable = "window",
    .torch = "torch.ones({Tq}, {Tk}, dtype=torch.bool).tril({below})",
    .numpy = "np.tril(np.ones(({Tq}, {Tk}), dtype=bool), {below})",
    .elsewhere =
        [](const Plan& plan) {
            const std::string keys = std::to_string(*plan.config.mask.window);
            const std::string back = std::to_string(*plan.config.mask.window - 1);
            const bool closed = plan.config.mask.causal || plan.config.mask.prefix;
            return "The window counts the query's own key, as sliding_window=" + keys +
                   " of Hugging Face and local_window_size=" + keys +
                   " of onnxruntime do. FlashAttention and ONNX count the keys before it: "
                   "window_size=(" +
                   back + (closed ? ", 0)" : ", -1)") + ", left_window_size=" + back + ".";
        },
};

// chunk:N

std::int64_t chunk_of(const Plan& plan, std::int64_t position) {
    const std::int64_t size = *plan.config.mask.chunk;
    return position / size - (position % size < 0 ? 1 : 0);
}
std::int64_t chunk_of_key(const Plan& plan, const ScoreCell& cell) {
    return chunk_of(plan, static_cast<std::int64_t>(cell.key));
}

constexpr MaskKind chunk{
    .word = "chunk",
    .such_as = "chunk:4",
    .help = "keys of other chunks of 4",
    .chosen = [](const MaskChoice& mask) { return mask.chunk.has_value(); },
    .choose = [](MaskChoice& mask,
                 const std::vector<std::int64_t>& numbers) { mask.chunk = numbers[0]; },
    .numbers = [](const MaskChoice& mask) { return std::vector{*mask.chunk}; },
    .named = {"chunk"},
    .by_position = true,
    .hides =
        [](const Plan& plan, const ScoreCell& cell) {
            return chunk_of_key(plan, cell) != chunk_of(plan, position(plan, cell));
        },
    .shape = square,
    .rule =
        [](const Plan& plan) {
            const std::string size = std::to_string(*plan.config.mask.chunk);
            const std::string place = position_text(plan);
            return "floor(k / " + size + ") != floor(" +
                   (place.size() > 1 ? "(" + place + ")" : place) + " / " + size + ")";
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            return "the key is in chunk " + std::to_string(chunk_of_key(plan, cell)) +
                   ", the query in chunk " + std::to_string(chunk_of(plan, position(plan, cell)));
        },
    .keys =
        [](const Plan& plan) {
            return "keys of other chunks of " + counted_tokens(*plan.config.mask.chunk);
        },
    .also = "other chunks",
    .variable = "chunk",
    .torch = "torch.arange({offset}, {end})[:, None] // {chunk} != torch.arange({Tk}) // {chunk}",
    .numpy = "np.arange({offset}, {end})[:, None] // {chunk} != np.arange({Tk}) // {chunk}",
    .elsewhere =
        [](const Plan& plan) {
            return "Llama 4 calls it attention_chunk_size=" +
                   std::to_string(*plan.config.mask.chunk) +
                   ": unlike a window it begins anew with every chunk.";
        },
};

// dilated:W:S, a window with gaps

constexpr MaskKind dilated{
    .word = "dilated",
    .such_as = "dilated:3:2",
    .help = "all but every second key of the last 6",
    .chosen = [](const MaskChoice& mask) { return mask.dilated.has_value(); },
    .choose =
        [](MaskChoice& mask, const std::vector<std::int64_t>& numbers) {
            mask.dilated = {numbers[0], numbers[1]};
        },
    .numbers =
        [](const MaskChoice& mask) {
            return std::vector{mask.dilated->keys, mask.dilated->apart};
        },
    .named = {"keys", "apart"},
    .by_position = true,
    .hides =
        [](const Plan& plan, const ScoreCell& cell) {
            const DilatedWindow& seen = *plan.config.mask.dilated;
            const std::int64_t back = position(plan, cell) - static_cast<std::int64_t>(cell.key);
            return back >= seen.keys * seen.apart || back % seen.apart != 0;
        },
    .shape = square,
    .rule =
        [](const Plan& plan) {
            const DilatedWindow& seen = *plan.config.mask.dilated;
            const std::string place = position_text(plan);
            return fmt::format("k <= {} - {} or ({} - k) % {} != 0", place, seen.keys * seen.apart,
                               place, seen.apart);
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            const DilatedWindow& seen = *plan.config.mask.dilated;
            const std::int64_t back = position(plan, cell) - static_cast<std::int64_t>(cell.key);
            const std::string where =
                back < 0 ? counted_tokens(-back) + " later, " : counted_tokens(back) + " back, ";
            if (back < seen.keys * seen.apart) {
                return "the key is " + where + "no multiple of " + std::to_string(seen.apart);
            }
            return "the key is " + where + "and the window ends " +
                   std::to_string((seen.keys - 1) * seen.apart) + " back";
        },
    .keys =
        [](const Plan& plan) {
            const DilatedWindow& seen = *plan.config.mask.dilated;
            return fmt::format("keys more than {} back and those between every {}",
                               counted_tokens((seen.keys - 1) * seen.apart),
                               counted_tokens(seen.apart));
        },
    .also = "keys in the gaps of the window",
    .variable = "dilated",
    .torch =
        "torch.arange({offset}, {end})[:, None] - torch.arange({Tk})\n"
        "dilated = (dilated >= {keys} * {apart}) | (dilated % {apart} != 0)",
    .numpy =
        "np.arange({offset}, {end})[:, None] - np.arange({Tk})\n"
        "dilated = (dilated >= {keys} * {apart}) | (dilated % {apart} != 0)",
    .elsewhere =
        [](const Plan&) {
            return std::string(
                "Longformer calls it a dilated sliding window: with layers above one another, few "
                "keys reach far back.");
        },
};

// prefix:N, a causal mask that leaves the first N keys open

constexpr MaskKind prefix{
    .word = "prefix",
    .such_as = "prefix:2",
    .help = "later keys beyond the first 2",
    .chosen = [](const MaskChoice& mask) { return mask.prefix.has_value(); },
    .choose = [](MaskChoice& mask,
                 const std::vector<std::int64_t>& numbers) { mask.prefix = numbers[0]; },
    .numbers = [](const MaskChoice& mask) { return std::vector{*mask.prefix}; },
    .named = {"prefix"},
    .least = 0,
    .by_position = true,
    .hides =
        [](const Plan& plan, const ScoreCell& cell) {
            return after_the_query(plan, cell) &&
                   static_cast<std::int64_t>(cell.key) >= *plan.config.mask.prefix;
        },
    .shape = square,
    .rule =
        [](const Plan& plan) {
            return "(k > " + position_text(plan) +
                   " and k >= " + std::to_string(*plan.config.mask.prefix) + ")";
        },
    .reason =
        [](const Plan& plan, const ScoreCell&) {
            return "the key comes after the query and is not one of the first " +
                   std::to_string(*plan.config.mask.prefix);
        },
    .keys =
        [](const Plan& plan) {
            return "keys that come after the query, but for the first " +
                   std::to_string(*plan.config.mask.prefix);
        },
    .also = "later keys outside of the prefix",
    .variable = "prefix",
    .torch =
        "torch.ones({Tq}, {Tk}, dtype=torch.bool).triu({above}) & "
        "(torch.arange({Tk}) >= {prefix})",
    .numpy = "np.triu(np.ones(({Tq}, {Tk}), dtype=bool), {above}) & (np.arange({Tk}) >= {prefix})",
    .elsewhere =
        [](const Plan&) {
            return std::string(
                "This is the mask of a prefix language model: the prompt is read in both "
                "directions, the answer from left to right.");
        },
};

// documents:3+4+2, packed into one sequence

std::size_t document_of_query(const Plan& plan, const ScoreCell& cell) {
    return plan.key_documents[static_cast<std::size_t>(position(plan, cell))];
}

void resolve_documents(Plan& plan) {
    const std::vector<std::int64_t>& lengths = plan.config.mask.documents;
    auto left = static_cast<std::int64_t>(plan.key_len);
    for (const std::int64_t tokens : lengths) left = tokens < 1 ? -1 : left - tokens;
    if (left != 0) {
        throw ConfigError("$mask documents:"_told + fmt::format("{}", fmt::join(lengths, "+")) +
                          " does not add up to the " + std::to_string(plan.key_len) +
                          " keys: give the number of tokens of each document");
    }
    const std::ptrdiff_t first = causal_offset(plan);
    if (first < 0 || static_cast<std::size_t>(first) + plan.query_len > plan.key_len) {
        throw ConfigError(
            "$mask documents needs queries that stand among the keys: leave the memory out, or "
            "make it as long as x"_told);
    }
    plan.key_documents.clear();
    for (const std::int64_t tokens : lengths) {
        const std::size_t next = plan.key_documents.empty() ? 0 : plan.key_documents.back() + 1;
        plan.key_documents.insert(plan.key_documents.end(), static_cast<std::size_t>(tokens), next);
    }
}

constexpr MaskKind documents{
    .word = "documents",
    .such_as = "documents:3+3",
    .help = "keys of other texts of these lengths",
    .chosen = [](const MaskChoice& mask) { return !mask.documents.empty(); },
    .choose = [](MaskChoice& mask,
                 const std::vector<std::int64_t>& numbers) { mask.documents = numbers; },
    .numbers = [](const MaskChoice& mask) { return mask.documents; },
    .named = {"documents"},
    .between = '+',
    .by_position = true,
    .resolve = resolve_documents,
    .hides =
        [](const Plan& plan, const ScoreCell& cell) {
            return plan.key_documents[cell.key] != document_of_query(plan, cell);
        },
    .shape = square,
    .rule =
        [](const Plan& plan) {
            // Of two keys in two documents one is in front of a boundary and the other after it.
            const std::string place = position_text(plan);
            std::string apart;
            std::int64_t end = 0;
            for (const std::int64_t tokens : plan.config.mask.documents) {
                const std::string boundary = std::to_string(end);
                end += tokens;
                if (boundary == "0") continue;
                apart += (apart.empty() ? "" : " or ") + ("k < " + boundary) + " and " + place +
                         " >= " + boundary + " or k >= " + boundary + " and " + place + " < " +
                         boundary;
            }
            return apart.empty() ? std::string("k < 0") : apart;
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            return "the key is in document " + std::to_string(plan.key_documents[cell.key]) +
                   ", the query in document " + std::to_string(document_of_query(plan, cell));
        },
    .keys = [](const Plan&) { return std::string("keys of other documents"); },
    .also = "other documents",
    .variable = "documents",
    .torch =
        "torch.arange({count}).repeat_interleave(torch.tensor([{documents}]))\n"
        "documents = documents[{offset}:{end}, None] != documents",
    .numpy =
        "np.repeat(np.arange({count}), [{documents}])\n"
        "documents = documents[{offset}:{end}, None] != documents",
    .elsewhere =
        [](const Plan&) {
            return std::string(
                "Documents that are packed into one sequence need this mask: positions that begin "
                "anew with each document do not keep them apart.");
        },
};

// padding

bool is_padding(const Plan& plan, const ScoreCell& cell) {
    const std::size_t row = plan.has_batch ? cell.batch * plan.key_len : 0;
    return plan.key_padding.data()[row + cell.key];
}

void resolve_padding(Plan& plan) {
    const WalkConfig& config = plan.config;
    const Source& keys = config.memory ? *config.memory : config.input;
    const auto* tokens = std::get_if<Tokens>(&keys);
    const bool knows_pad = tokens != nullptr && tokens->pad_id.has_value();
    if (!knows_pad && config.lengths.empty()) {
        throw ConfigError(
            "a padding mask needs to know what is padding: pass $lengths or $pad-id"_told);
    }
    plan.key_padding =
        empty_array<bool>(plan.has_batch ? Shape{plan.batch, plan.key_len} : Shape{plan.key_len});
    for (std::size_t b = 0; b < plan.batch; ++b) {
        const std::size_t row = knows_pad ? b % tokens->sequences.size() : 0;
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            const bool is_pad = knows_pad && k >= plan.past_len &&
                                tokens->sequences[row][k - plan.past_len] == *tokens->pad_id;
            const bool beyond =
                !config.lengths.empty() && static_cast<std::int64_t>(k) >= config.lengths[b];
            plan.key_padding.data()[b * plan.key_len + k] = is_pad || beyond;
        }
    }
}

constexpr MaskKind padding{
    .word = "padding",
    .such_as = "padding",
    .chosen = [](const MaskChoice& mask) { return mask.padding; },
    .choose = [](MaskChoice& mask, const std::vector<std::int64_t>&) { mask.padding = true; },
    .resolve = resolve_padding,
    .hides = is_padding,
    .shape =
        [](const Plan& plan) {
            if (!plan.has_batch) return Shape{1, plan.key_len};
            Shape shape = plan.per_head_shape(1, plan.key_len);
            if (plan.has_head) shape[1] = 1;
            return shape;
        },
    .rule =
        [](const Plan& plan) { return where_true(plan.key_padding, plan.has_batch ? "bk" : "k"); },
    .reason = [](const Plan&, const ScoreCell&) { return std::string("the key is padding"); },
    .keys = [](const Plan&) { return std::string("keys that are padding"); },
    .also = "padding",
    .variable = "padding",
    .torch = "({padding}){at}",
    .numpy = "({padding}){at}",
};

// a mask from a file

/// The given mask, read where it broadcasts to the cell.
bool hidden_by_file(const Plan& plan, const ScoreCell& cell) {
    const Array<bool>& mask = plan.config.mask.given->as<bool>();
    const Shape& shape = mask.shape();
    std::array<std::size_t, 4> index{cell.key, cell.query};
    std::size_t axes = 2;
    if (plan.has_head) index[axes++] = cell.head;
    if (plan.has_batch) index[axes++] = cell.batch;
    std::size_t flat = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::size_t length = shape[i];
        flat = flat * length + (length == 1 ? 0 : index[shape.size() - 1 - i]);
    }
    return mask.data()[flat];
}

void resolve_file(Plan& plan) {
    const Shape mask = plan.config.mask.given->shape();
    if (mask.empty()) throw ShapeError("the mask is a single number: give one for each key");
    broadcast_strides("the mask", mask, "the scores",
                      plan.per_head_shape(plan.query_len, plan.key_len));
}

constexpr MaskKind file{
    .word = "file",
    .chosen = [](const MaskChoice& mask) { return mask.given.has_value(); },
    .resolve = resolve_file,
    .hides = hidden_by_file,
    .shape = [](const Plan& plan) { return plan.config.mask.given->shape(); },
    .rule =
        [](const Plan& plan) {
            const Array<bool>& mask = plan.config.mask.given->as<bool>();
            const std::string letters =
                std::string(plan.has_batch ? "b" : "") + (plan.has_head ? "h" : "") + "qk";
            return where_true(mask, letters.substr(letters.size() - mask.dimension()));
        },
    .reason = [](const Plan&, const ScoreCell&) { return std::string("the given mask hides it"); },
    .keys = [](const Plan&) { return std::string("what the mask file hides"); },
    .also = "what the mask file hides",
    .variable = "hidden",
    .torch = "{given}",
    .numpy = "{given}",
};

constexpr std::array kinds{causal, window, dilated, chunk, prefix, documents, padding, file};

}  // namespace

std::span<const MaskKind> mask_kinds() { return kinds; }

std::string mask_text(const MaskKind& kind, const MaskChoice& mask) {
    std::string text(kind.word);
    if (kind.numbers == nullptr) return text;
    char before = ':';
    for (const std::int64_t number : kind.numbers(mask)) {
        text += before + std::to_string(number);
        before = kind.between;
    }
    return text;
}

bool MaskChoice::any() const {
    return std::any_of(kinds.begin(), kinds.end(),
                       [this](const MaskKind& kind) { return kind.chosen(*this); });
}

std::string position_text(const Plan& plan) {
    const std::ptrdiff_t offset = causal_offset(plan);
    if (offset == 0) return "q";
    return offset > 0 ? "q + " + std::to_string(offset) : "q - " + std::to_string(-offset);
}

std::ptrdiff_t causal_offset(const Plan& plan) {
    if (plan.first_query) return *plan.first_query;
    if (plan.config.causal_align == CausalAlign::start) return 0;
    return static_cast<std::ptrdiff_t>(plan.key_len) - static_cast<std::ptrdiff_t>(plan.query_len);
}

}  // namespace attn
