#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hf_config.hpp"

namespace attn::models {
namespace {

/// The rows (or columns) of the file's tensor that are ours.
struct Picked {
    std::vector<std::size_t> rows{};  ///< empty: all, in their order
    std::size_t all = 0;              ///< number of rows or columns in the file
};

/// Chooses rows in `runs` of `count` neighbours, `stride` apart.
Picked picked(const Name& name, const Architecture& a) {
    const std::size_t queries = a.heads * a.head_dim;
    const std::size_t keys = a.kv_heads * a.head_dim;
    const std::size_t all = queries + 2 * keys;
    struct Part {
        std::size_t first, count, all;
    };
    const std::map<std::string, Part> parts{
        {"", {0, name.ours.ends_with("_key") ? keys : queries, 0}},
        {"query", {0, queries, all}},
        {"key", {queries, keys, all}},
        {"value", {queries + keys, keys, all}},
        {"gate", {0, a.mlp_dim, 2 * a.mlp_dim}},
        {"up", {a.mlp_dim, a.mlp_dim, 2 * a.mlp_dim}}};
    const Part part = parts.at(name.part);
    if (name.part.empty() && !name.neighbours) return {};
    // For each key/value head: its queries, its key, its value.
    const std::size_t groups = name.by_head ? a.kv_heads : 1;
    const std::size_t count = part.count / groups;
    Picked result{{}, part.all > 0 ? part.all : part.count};
    for (std::size_t i = 0; i < part.count; ++i) {
        std::size_t row = part.first / groups + i / count * (all / groups) + i % count;
        if (name.neighbours) {
            const std::size_t pair = row % a.head_dim % (a.head_dim / 2);
            const std::size_t half = row % a.head_dim / (a.head_dim / 2);
            row += 2 * pair + half - row % a.head_dim;
        }
        result.rows.push_back(row);
    }
    return result;
}

/// Extracts our tensor, or returns the file's if it has another shape, which the reader then
/// refuses.
Tensor extract_products(const Tensor& theirs, bool columns, const Picked& ours) {
    const Shape shape = theirs.shape();
    const bool by_column = columns && shape.size() == 2;
    if (shape.empty() || (!by_column && !theirs.is_floating())) return theirs;
    const std::size_t all = by_column ? shape[1] : shape[0];
    const bool takes_all = ours.rows.empty() || ours.all != all;
    if (by_column) {  // columns are contiguous
        return strided(theirs, {takes_all ? all : ours.rows.size(), shape[0]}, {1, shape[1]},
                       takes_all ? 0 : ours.rows.front());
    }
    return takes_all ? theirs : rows_of(theirs, ours.rows);
}

/// Transposes (expert, in, out) to (expert, out, in).
Tensor transposed_each(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    if (shape.size() != 3) return tensor;
    const std::size_t area = shape[1] * shape[2];
    return strided(tensor, {shape[0], shape[2], shape[1]}, {area, 1, shape[2]});
}

/// Unpacks 4-bit floats (sign, 2 exponent bits, 1 mantissa bit) with a power-of-two scale per
/// block: blocks (expert, out, block, byte), low half of a byte first; scales (expert, out, block).
Tensor unpacked(const Tensor& blocks, const Tensor& scales) {
    static constexpr std::array<float, 8> sizes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    constexpr int exponent_of_one = 127;
    const Shape shape = blocks.shape();
    if (shape.size() != 4 || blocks.dtype() != DType::int64 || scales.dtype() != DType::int64 ||
        scales.shape() != Shape(shape.begin(), shape.end() - 1)) {
        return blocks;
    }
    Array<float> numbers = empty_array<float>({shape[0], shape[1], 2 * shape[2] * shape[3]});
    const auto& bytes = blocks.as<std::int64_t>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto byte = static_cast<std::uint64_t>(bytes.data()[i / 2]);
        const std::uint64_t code = (i % 2 == 0 ? byte : byte >> 4U) & 15U;
        const std::int64_t scale = scales.as<std::int64_t>().data()[i / 2 / shape[3]];
        const float size = std::ldexp(sizes[code & 7U], static_cast<int>(scale) - exponent_of_one);
        numbers.data()[i] = code < 8 ? size : -size;
    }
    return {numbered_axes(3), std::move(numbers)};
}

/// Reads some rows of an array, or all.
Tensor read_of(const StoredArray& array, const std::vector<std::size_t>* rows) {
    return (rows != nullptr ? array.read_rows(*rows) : array.read()).tensor;
}

/// Returns an array that calls `result` to compute all of its rows, or some.
StoredArray computed_array(const std::string& name, Shape shape,
                           const std::function<Tensor(const std::vector<std::size_t>*)>& result) {
    return {name,
            [=] {
                return NamedTensor{name, result(nullptr)};
            },
            [=](const std::vector<std::size_t>& rows) {
                return NamedTensor{name, result(&rows)};
            },
            std::move(shape)};
}

/// Stacks the matrices of all experts of a layer, (expert, out, in), from one tensor each, or from
/// two whose rows alternate.
StoredArray stacked_experts(const std::vector<StoredArray>& all, const Shape& shape) {
    return computed_array(all[0].name, shape, [=](const std::vector<std::size_t>* rows) {
        const std::size_t each = all.size() / shape[0];
        const std::size_t count = rows != nullptr ? rows->size() : shape[0];
        const Shape part{shape[1] / each, shape[2]};
        Array<double> result = empty_array<double>({count, shape[1], shape[2]});
        for (std::size_t i = 0; i < count * each; ++i) {
            const std::size_t expert = rows != nullptr ? (*rows)[i / each] : i / each;
            const Tensor one = all[expert * each + i % each].read().tensor;
            if (one.shape() != part || !one.is_floating()) return one;  // refused later
            for (std::size_t n = 0; n < one.size(); ++n) {
                const std::size_t row = n / part[1] * each + i % each;
                result(i / each, row, n % part[1]) = one.at(n);
            }
        }
        return Tensor(numbered_axes(3), std::move(result));
    });
}

/// Stacks the experts from (expert, in, out).
StoredArray transposed_experts(const StoredArray& plain) {
    const Shape& s = plain.shape;
    return computed_array(
        plain.name, s.size() == 3 ? Shape{s[0], s[2], s[1]} : s,
        [plain](const auto* rows) { return transposed_each(read_of(plain, rows)); });
}

/// Stacks them from blocks of 32 4-bit numbers (MXFP4) and their scales, if both exist.
std::optional<StoredArray> unpacked_experts(const StoredArray* blocks, const StoredArray* scales) {
    if (blocks == nullptr || scales == nullptr) return std::nullopt;
    const Shape& s = blocks->shape;
    return computed_array(blocks->name, s.size() == 4 ? Shape{s[0], s[1], 2 * s[2] * s[3]} : s,
                          [b = *blocks, of = *scales](const auto* rows) {
                              return unpacked(read_of(b, rows), read_of(of, rows));
                          });
}

/// The arrays of a model, and which of them were used.
class Arrays {
public:
    Arrays(const std::vector<StoredArray>& all, const std::string& label, const Family& family)
        : prefix_(family.facts.word({"prefix"}, "")), beside_(listed("beside")) {
        beside_.insert(beside_.end(), family.beside.begin(), family.beside.end());
        for (const StoredArray& each : all) {
            if (arrays_.try_emplace(each.name, &each).second) continue;
            throw InputError(label + ": has '" + visible(each.name) +
                             "' in two files: leave one of them out");
        }
    }

    /// Finds the array with that name, after one of the known prefixes.
    const StoredArray* find(const std::string& name) {
        static const std::vector<std::string> known = listed("prefixes");
        std::vector<std::string> prefixes{prefix_};
        prefixes.insert(prefixes.end(), known.begin(), known.end());
        for (const std::string& prefix : prefixes) {
            const auto found = arrays_.find(prefix + name);
            if (found == arrays_.end()) continue;
            if (used_.empty()) prefix_ = prefix;
            used_.insert(found->first);
            return found->second;
        }
        return nullptr;
    }
    /// Finds it also by the older names of BERT's norms.
    const StoredArray* find_by_any_name(const std::string& name) {
        const StoredArray* const found = find(name);
        const std::size_t norm = name.find("LayerNorm.");
        if (found != nullptr || norm == name.npos) return found;
        return find(name.substr(0, norm) +
                    (name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta"));
    }
    /// The prefix of the first array found, the embedding.
    const std::string& prefix() const { return prefix_; }

    /// Returns an array that was not used and may change the numbers; empty if there is none.
    std::string unread() const {
        for (const auto& [name, array] : arrays_) {
            if (!used_.contains(name) && !changes_nothing(name)) return name;
        }
        return {};
    }

private:
    /// True for buffers that are recomputed, and for parts outside of the text model.
    bool changes_nothing(std::string_view name) const {
        for (const std::string& end : listed("buffers")) {
            if (name == end || name.ends_with("." + end)) return true;
        }
        for (const std::string_view prefix : {"model.", "bert.", "roberta."}) {
            if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
        }
        return std::ranges::any_of(beside_,
                                   [name](const auto& part) { return name.starts_with(part); });
    }

    std::map<std::string, const StoredArray*, std::less<>> arrays_;
    std::set<std::string, std::less<>> used_;
    std::string prefix_;
    std::vector<std::string> beside_;
};

/// Reads the output matrix, or some of its rows, and checks that it is the embedding if the
/// configuration ties them.
auto tied(const StoredArray& head, const StoredArray& embedding, const std::string& label) {
    return [head, embedding, label](const std::vector<std::size_t>* rows) {
        Tensor matrix = read_of(head, rows);
        const Tensor same = read_of(embedding, rows);
        if (matrix.shape() == same.shape() && same_numbers(matrix, same)) return matrix;
        throw InputError(label + ": " + head.name + " is not " + embedding.name +
                         ", though tie_word_embeddings is true: set it to false, or leave out " +
                         head.name);
    };
}

/// Adds the first row of one table to each row of another.
Model::Read with_first_row(const StoredArray& positions, const StoredArray& types) {
    return [positions, types] {
        const Tensor rows = cast(positions.read().tensor, DType::float64);
        const Tensor type = cast(types.read().tensor, DType::float64);
        if (rows.dimension() != 2 || type.dimension() != 2 || type.shape()[1] != rows.shape()[1] ||
            !rows.is_floating() || !type.is_floating() || type.size() == 0) {
            return rows;
        }
        Array<double> sum = rows.as<double>();
        const std::size_t width = rows.shape()[1];
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum.data()[i] += type.as<double>().data()[i % width];
        }
        return Tensor(rows.axes(), std::move(sum));
    };
}

/// Adds the tensors of a model, one after another.
class Adding {
public:
    Adding(Model& model, const Family& family, const std::vector<StoredArray>& all)
        : model_(model),
          a_(model.architecture),
          family_(family),
          arrays_(all, model.label, family) {}

    void add_all() {
        for (const Name& name : family_.outside) {
            const bool may_lack = name.ours == "w_vocab";
            if (!may_lack || arrays_.find(name.named(".weight")) != nullptr) add(name, "", "");
        }
        for (std::size_t n = 0; n < a_.layers.size(); ++n) {
            for (const Name& name : family_.inside) {
                add(name, in_layer(n, ""), family_.layer + in_layer(n, ""));
            }
        }
        const std::string unread = arrays_.unread();
        if (unread.empty()) return;
        throw InputError(
            model_.label + ": '" + visible(unread) + "' is not a tensor of a " + a_.family +
            " with this configuration, and would change the numbers: check the configuration");
    }

private:
    /// Adds a parameter and its bias, in a layer or outside.
    void add(const Name& name, const std::string& layer, const std::string& theirs) {
        add_one(name, name.ours, layer, theirs + name.named(".weight"));
        if (name.bias == Bias::none || name.bias == Bias::whole ||
            (name.bias == Bias::attention && !a_.attention_bias) ||
            (name.bias == Bias::mlp && !a_.mlp_bias)) {
            return;
        }
        Name bias = name;
        bias.columns = false;
        add_one(bias, "b_" + name.ours.substr(2), layer, theirs + name.named(".bias"));
    }

    [[noreturn]] void lack(const std::string& theirs, const std::string& what) const {
        throw InputError(model_.label + ": lacks " + arrays_.prefix() + theirs + " (" + a_.family +
                         "), which makes " + what + ": give all files of the model");
    }

    /// Returns the tensors that `theirs` names, with # as the number of the expert, as one array.
    StoredArray experts_named(const Name& name, const std::string& theirs,
                              const std::string& ours) {
        std::vector<StoredArray> all;
        const auto add_named = [&](const std::string& each) {
            const StoredArray* const found = arrays_.find(each);
            if (found == nullptr) lack(each, ours);
            all.push_back(*found);
        };
        for (std::size_t e = 0; e < a_.experts; ++e) {
            const std::string one = replaced_all(theirs, "#", std::to_string(e));
            add_named(one);
            if (name.beside.empty()) continue;
            const std::string layer =
                theirs.substr(0, theirs.size() - name.named(".weight").size());
            add_named(layer + replaced_all(name.beside, "#", std::to_string(e)) + ".weight");
        }
        return stacked_experts(all, a_.shape_of(ours));
    }

    void add_one(const Name& name, const std::string& ours, const std::string& layer,
                 const std::string& theirs) {
        const Shape shape = a_.shape_of(ours);
        std::optional<StoredArray> found;
        if (name.by_expert()) {
            found = experts_named(name, theirs, ours);
        } else if (const StoredArray* const array = arrays_.find_by_any_name(theirs)) {
            found = *array;
        }
        if (name.experts && !found) {
            found = unpacked_experts(arrays_.find(theirs + "_blocks"),
                                     arrays_.find(theirs + "_scales"));
        } else if (name.experts) {
            found = transposed_experts(*found);
        }
        if (!found) lack(theirs, ours + " " + shape_text(shape));
        const Picked picked_rows = picked(name, a_);
        Model::ReadRows read_rows;
        Model::Read read = [array = *found, columns = name.columns, picked_rows] {
            return extract_products(array.read().tensor, columns, picked_rows);
        };
        if (!name.plus.empty()) {
            const StoredArray* const types = arrays_.find(name.plus);
            if (types == nullptr) lack(name.plus, ours);
            read = with_first_row(*found, *types);
        }
        if (ours == "w_vocab" && a_.tied) {
            const std::string embedding = family_.outside.front().named(".weight");
            const auto both = tied(*found, *arrays_.find(embedding), model_.label);
            read = [both] { return both(nullptr); };
            if (found->read_rows && found->shape == shape) {
                read_rows = [both](const std::vector<std::size_t>& which) { return both(&which); };
            }
        }
        const bool as_it_is = picked_rows.rows.empty() && !name.columns && name.plus.empty();
        if (as_it_is && !read_rows && found->read_rows && found->shape == shape) {
            read_rows = [array = *found](const std::vector<std::size_t>& rows) {
                return array.read_rows(rows).tensor;
            };
        }
        model_.add(layer + ours, shape, std::move(read), std::move(read_rows), found->name,
                   picked_rows.rows);
        store_as(layer + ours, *found, picked_rows,
                 name.plus.empty() && (ours != "w_vocab" || !a_.tied));
    }

    /// Records the bytes of a tensor, and how to keep its blocks in memory if its numbers are those
    /// of the file.
    void store_as(const std::string& ours, const StoredArray& theirs, const Picked& picked_rows,
                  bool same_numbers) {
        const Shape& shape = model_.shape_of(ours);
        const std::size_t all = picked_rows.rows.empty() ? shape[0] : picked_rows.all;
        Model::Keep keep;
        if (theirs.keep && same_numbers && theirs.shape == Shape{all, shape.back()}) {
            std::vector<std::size_t> rows = picked_rows.rows;
            for (std::size_t i = rows.size(); i < shape[0]; ++i) rows.push_back(i);
            keep = [array_keep = theirs.keep, rows = std::move(rows)] {
                return [open = array_keep(rows)](const std::vector<std::size_t>& which) {
                    return open(which).tensor;
                };
            };
        }
        model_.store_as(ours, theirs.width, std::move(keep));
    }

    Model& model_;
    const Architecture& a_;
    const Family& family_;
    Arrays arrays_;
};

}  // namespace

void add_tensors(Model& model, const Family& family, const std::vector<StoredArray>& all) {
    Adding(model, family, all).add_all();
}

}  // namespace attn::models
