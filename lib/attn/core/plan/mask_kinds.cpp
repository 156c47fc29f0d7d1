#include "attn/core/plan/mask_kinds.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attn/core/plan/visibility.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Numbers = std::vector<std::int64_t>;

// Positions: keys count from 0, queries from causal_offset(plan). A condition gets the position of
// its query as text, `q + 2`.

std::int64_t position(const Plan& plan, const ScoreCell& cell) {
    return static_cast<std::int64_t>(cell.query) + causal_offset(plan);
}

/// Returns the distance from the key to its query in tokens; negative for a later key.
std::int64_t back(const Plan& plan, const ScoreCell& cell) {
    return position(plan, cell) - static_cast<std::int64_t>(cell.key);
}

std::string tokens(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " token" : " tokens");
}

// Members of a kind with one number, which is an optional member of MaskChoice.
template <auto member>
bool is_set(const MaskChoice& mask) {
    return (mask.*member).has_value();
}
template <auto member>
void set(MaskChoice& mask, const Numbers& numbers) {
    mask.*member = numbers[0];
}
template <auto member>
Numbers number_of(const MaskChoice& mask) {
    return {*(mask.*member)};
}

constexpr MaskKind causal{
    .word = "causal",
    .such_as = "causal",
    .help = "later keys",
    // With a prefix, that kind hides the later keys.
    .chosen = [](const MaskChoice& mask) { return mask.is_causal(); },
    .choose = [](MaskChoice& mask, const Numbers&) { mask.causal = true; },
    .fits_any_length = true,
    .condition = [](const MaskChoice&, const std::string& i) { return "k > " + i; },
    .limit =
        [](const Plan& plan, MaskView& view) {
            view.causal = true;
            view.causal_offset = causal_offset(plan);
        },
    .reason = [](const Plan&,
                 const ScoreCell&) { return std::string("the key comes after the query"); },
    .keys =
        [](const Plan& plan) {
            return std::string(causal_offset(plan) != 0
                                   ? "keys that come later than the query, counted from the end"
                                   : "keys that come after the query");
        },
};

// The query's own key counts as one of the window.
constexpr MaskKind window{
    .word = "window",
    .such_as = "window:4",
    .help = "keys 4 and more before the query; later ones stay visible, unless causal is set, too",
    .chosen = is_set<&MaskChoice::window>,
    .choose = set<&MaskChoice::window>,
    .numbers = number_of<&MaskChoice::window>,
    .condition = [](const MaskChoice& mask,
                    const std::string& i) { return fmt::format("k <= {} - {}", i, *mask.window); },
    .limit =
        [](const Plan& plan, MaskView& view) {
            view.window = true;
            view.window_offset = causal_offset(plan) - *plan.config.mask.window + 1;
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            const std::int64_t keys = *plan.config.mask.window;
            return fmt::format("the key is {} back, and a window of {} ends {} back",
                               tokens(back(plan, cell)), keys, keys - 1);
        },
    .keys =
        [](const Plan& plan) {
            return "keys more than " + tokens(*plan.config.mask.window - 1) + " back";
        },
    .elsewhere =
        [](const Plan& plan) {
            const MaskChoice& mask = plan.config.mask;
            return fmt::format(
                "The window counts the query's own key, as sliding_window={0} of Hugging Face and "
                "local_window_size={0} of onnxruntime do. FlashAttention and ONNX count the keys "
                "before it: window_size=({1}, {2}), left_window_size={1}.",
                *mask.window, *mask.window - 1, mask.causal || mask.prefix ? 0 : -1);
        },
};

constexpr MaskKind chunk{
    .word = "chunk",
    .such_as = "chunk:4",
    .help = "keys of other chunks of 4",
    .chosen = is_set<&MaskChoice::chunk>,
    .choose = set<&MaskChoice::chunk>,
    .numbers = number_of<&MaskChoice::chunk>,
    .condition =
        [](const MaskChoice& mask, const std::string& i) {
            const std::string place = i == "q" ? i : "(" + i + ")";
            return fmt::format("k // {0} != {1} // {0}", *mask.chunk, place);
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            const std::int64_t size = *plan.config.mask.chunk, query = position(plan, cell);
            return fmt::format("the key is in chunk {}, the query in chunk {}",
                               static_cast<std::int64_t>(cell.key) / size,
                               query / size - (query % size < 0 ? 1 : 0));
        },
    .keys =
        [](const Plan& plan) {
            return "keys of other chunks of " + tokens(*plan.config.mask.chunk);
        },
    .elsewhere =
        [](const Plan& plan) {
            return fmt::format(
                "Llama 4 calls it attention_chunk_size={}: unlike a window, it restarts at every "
                "chunk.",
                *plan.config.mask.chunk);
        },
};

// A window with gaps.
constexpr MaskKind dilated{
    .word = "dilated",
    .such_as = "dilated:3:2",
    .help = "all but every second key of the last 6",
    .chosen = is_set<&MaskChoice::dilated>,
    .choose =
        [](MaskChoice& mask, const Numbers& all) {
            mask.dilated = {all[0], all[1]};
        },
    .numbers =
        [](const MaskChoice& mask) {
            return Numbers{mask.dilated->keys, mask.dilated->dilation};
        },
    .condition =
        [](const MaskChoice& mask, const std::string& i) {
            const auto& [keys, distance] = *mask.dilated;
            return fmt::format("k <= {0} - {1} or ({0} - k) % {2} != 0", i, keys * distance,
                               distance);
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            const auto& [keys, distance] = *plan.config.mask.dilated;
            const std::int64_t before = back(plan, cell);
            const std::string there = tokens(std::abs(before)) + (before < 0 ? " later" : " back");
            if (before < keys * distance) {
                return fmt::format("the key is {}, no multiple of {}", there, distance);
            }
            return fmt::format("the key is {}, and the window ends {} back", there,
                               (keys - 1) * distance);
        },
    .keys =
        [](const Plan& plan) {
            const auto& [keys, distance] = *plan.config.mask.dilated;
            return fmt::format("keys more than {} back and those between every {}",
                               tokens((keys - 1) * distance), tokens(distance));
        },
    .elsewhere =
        [](const Plan&) {
            return std::string(
                "Longformer calls it a dilated sliding window: with layers above one another, few "
                "keys reach far back.");
        },
};

// A causal mask with the first keys visible to all.
constexpr MaskKind prefix{
    .word = "prefix",
    .such_as = "prefix:2",
    .help = "later keys beyond the first 2",
    .chosen = is_set<&MaskChoice::prefix>,
    .choose = set<&MaskChoice::prefix>,
    .numbers = number_of<&MaskChoice::prefix>,
    .least = 0,
    .condition =
        [](const MaskChoice& mask, const std::string& i) {
            return fmt::format("(k > {} and k >= {})", i, *mask.prefix);
        },
    .reason =
        [](const Plan& plan, const ScoreCell&) {
            return fmt::format("the key comes after the query and is not one of the first {}",
                               *plan.config.mask.prefix);
        },
    .keys =
        [](const Plan& plan) {
            return fmt::format("keys that come after the query, except for the first {}",
                               *plan.config.mask.prefix);
        },
    .elsewhere =
        [](const Plan&) {
            return std::string(
                "This is the mask of a prefix language model: the prompt is read in both "
                "directions, the answer from left to right.");
        },
};

// documents:3+4+2, packed into one sequence.

void check_documents(Plan& plan) {
    const Numbers& lengths = plan.config.mask.documents;
    auto left = static_cast<std::int64_t>(plan.key_len);
    for (const std::int64_t length : lengths) left = length < 1 ? -1 : left - length;
    if (left != 0) {
        throw ConfigError("$mask documents:"_message + fmt::format("{}", fmt::join(lengths, "+")) +
                          " does not add up to the " + std::to_string(plan.key_len) +
                          " keys: give the number of tokens of each document");
    }
    const std::ptrdiff_t first = causal_offset(plan);
    if (first < 0 || static_cast<std::size_t>(first) + plan.query_len > plan.key_len) {
        throw ConfigError(
            "$mask documents needs queries that are among the keys: leave the memory out, or "
            "make it as long as x"_message);
    }
}

std::size_t document_at(const Plan& plan, std::int64_t position) {
    std::size_t document = 0;
    for (const std::int64_t length : plan.config.mask.documents) {
        if ((position -= length) < 0) break;
        ++document;
    }
    return document;
}

constexpr MaskKind documents{
    .word = "documents",
    .such_as = "documents:3+3",
    .help = "keys of other texts of these lengths",
    .chosen = [](const MaskChoice& mask) { return !mask.documents.empty(); },
    .choose = [](MaskChoice& mask, const Numbers& numbers) { mask.documents = numbers; },
    .numbers = [](const MaskChoice& mask) { return mask.documents; },
    .between = '+',
    .resolve = check_documents,
    .condition =
        [](const MaskChoice& mask, const std::string& i) {
            // Two keys are in two documents if one is before a boundary and the other after it.
            std::string distance;
            std::int64_t end = 0;
            for (const std::int64_t length : mask.documents) {
                if (end > 0) {
                    distance += fmt::format("{0}k < {1} and {2} >= {1} or k >= {1} and {2} < {1}",
                                            distance.empty() ? "" : " or ", end, i);
                }
                end += length;
            }
            return distance.empty() ? "k < 0" : distance;
        },
    .reason =
        [](const Plan& plan, const ScoreCell& cell) {
            return fmt::format("the key is in document {}, the query in document {}",
                               document_at(plan, static_cast<std::int64_t>(cell.key)),
                               document_at(plan, position(plan, cell)));
        },
    .keys = [](const Plan&) { return std::string("keys of other documents"); },
    .elsewhere =
        [](const Plan&) {
            return std::string(
                "Documents that are packed into one sequence need this mask: positions that "
                "restart "
                "with each document do not keep them apart.");
        },
};

void resolve_padding(Plan& plan) {
    const WalkConfig& config = plan.config;
    const Source& keys = config.memory ? *config.memory : config.input;
    const auto* tokens = std::get_if<Tokens>(&keys);
    const bool has_pad = tokens != nullptr && tokens->pad_id.has_value();
    if (!has_pad && config.lengths.empty()) {
        throw ConfigError(
            "a padding mask needs the positions of the padding: pass $lengths or $pad-id"_message);
    }
    plan.key_padding =
        empty_array<bool>(plan.has_batch ? Shape{plan.batch, plan.key_len} : Shape{plan.key_len});
    for (std::size_t b = 0; b < plan.batch; ++b) {
        const std::size_t row = has_pad ? b % tokens->sequences.size() : 0;
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            const bool is_pad = has_pad && k >= plan.past_len &&
                                tokens->sequences[row][k - plan.past_len] == *tokens->pad_id;
            const bool beyond =
                !config.lengths.empty() && static_cast<std::int64_t>(k) >= config.lengths[b];
            plan.key_padding.data()[b * plan.key_len + k] = is_pad || beyond;
        }
    }
}

/// Returns the shape of padding as a mask of the scores: the same for every head and query.
Shape padding_shape(const Plan& plan) {
    if (!plan.has_batch) return {1, plan.key_len};
    Shape shape = plan.per_head_shape(1, plan.key_len);
    if (plan.has_head) shape[1] = 1;
    return shape;
}

Array<bool> padded_cells(const Plan& plan) {
    Array<bool> cells = empty_array<bool>(padding_shape(plan));
    std::ranges::copy(plan.key_padding, cells.begin());
    return cells;
}

constexpr MaskKind padding{
    .word = "padding",
    .such_as = "padding",
    .chosen = [](const MaskChoice& mask) { return mask.padding; },
    .choose = [](MaskChoice& mask, const Numbers&) { mask.padding = true; },
    .resolve = resolve_padding,
    .shape = padding_shape,
    .cells = padded_cells,
    .code = "({padding}){at}",
    .reason = [](const Plan&, const ScoreCell&) { return std::string("the key is padding"); },
    .keys = [](const Plan&) { return std::string("keys that are padding"); },
};

void check_file(Plan& plan) {
    const Shape mask = plan.config.mask.given->shape();
    if (mask.empty()) throw ShapeError("the mask is a single number: give one for each key");
    broadcast_strides("the mask", mask, "the scores",
                      plan.per_head_shape(plan.query_len, plan.key_len));
}

constexpr MaskKind file{
    .word = "file",
    .chosen = [](const MaskChoice& mask) { return mask.given.has_value(); },
    .resolve = check_file,
    .shape = [](const Plan& plan) { return plan.config.mask.given->shape(); },
    .cells = [](const Plan& plan) { return plan.config.mask.given->as<bool>(); },
    .code = "{given}",
    .reason = [](const Plan&, const ScoreCell&) { return std::string("the given mask hides it"); },
    .keys = [](const Plan&) { return std::string("keys that the mask file hides"); },
};

constexpr std::array kinds{causal, window, dilated, chunk, prefix, documents, padding, file};

}  // namespace

std::span<const MaskKind> mask_kinds() { return kinds; }

std::string MaskKind::rule(const Plan& plan) const {
    if (condition != nullptr) return condition(plan.config.mask, position_text(plan));
    const Array<bool> all = cells(plan);
    const std::string letters =
        std::string(plan.has_batch ? "b" : "") + (plan.has_head ? "h" : "") + "qk";
    return where_true(all, letters.substr(letters.size() - all.dimension()));
}

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

std::string position_text(const Plan& plan) { return position_text(causal_offset(plan)); }

std::string position_text(std::ptrdiff_t offset) {
    if (offset == 0) return "q";
    return offset > 0 ? "q + " + std::to_string(offset) : "q - " + std::to_string(-offset);
}

std::ptrdiff_t causal_offset(const Plan& plan) {
    if (plan.first_query) return *plan.first_query;
    if (plan.config.causal_align == CausalAlign::start) return 0;
    return static_cast<std::ptrdiff_t>(plan.key_len) - static_cast<std::ptrdiff_t>(plan.query_len);
}

}  // namespace attn
