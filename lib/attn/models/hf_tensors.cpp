#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "attn/models/hf_config.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/tensor.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

/// The rows of their tensor that are ours, or its columns: `runs` of `count` neighbours, each run
/// `stride` behind the last. None: all.
struct Picked {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t all = 0;  ///< rows or columns that their tensor has
    std::size_t runs = 1;
    std::size_t stride = 0;
};

Picked picked(Lies lies, const Architecture& a) {
    const std::size_t d = a.head_dim;
    const std::size_t queries = a.heads * d;
    const std::size_t keys = a.kv_heads * d;
    const std::size_t both = queries + 2 * keys;
    const auto of_each_head = [&](std::size_t part) {
        return Picked{part * d, d, both, a.heads, 3 * d};
    };
    switch (lies.part) {
        case Part::all:
            break;
        case Part::query:
            return lies.by_head ? of_each_head(0) : Picked{0, queries, both};
        case Part::key:
            return lies.by_head ? of_each_head(1) : Picked{queries, keys, both};
        case Part::value:
            return lies.by_head ? of_each_head(2) : Picked{queries + keys, keys, both};
        case Part::gate:
            return {0, a.mlp_dim, 2 * a.mlp_dim};
        case Part::up:
            return {a.mlp_dim, a.mlp_dim, 2 * a.mlp_dim};
    }
    return {};
}

/// Their tensor as ours, or as it is where it has another shape, which reading it then refuses.
Tensor taken_from(const Tensor& theirs, bool columns, const Picked& ours) {
    const Shape shape = theirs.shape();
    const bool by_column = columns && shape.size() == 2;
    if (shape.empty() || (!by_column && !theirs.is_floating())) return theirs;
    const std::size_t all = by_column ? shape[1] : shape[0];
    const bool takes_all = ours.count == 0 || ours.all != all;
    if (by_column) {
        return strided(theirs, {takes_all ? all : ours.count, shape[0]}, {1, shape[1]},
                       takes_all ? 0 : ours.first);
    }
    if (takes_all) return theirs;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < ours.runs * ours.count; ++i) {
        rows.push_back(ours.first + i / ours.count * ours.stride + i % ours.count);
    }
    return rows_of(theirs, rows);
}

/// The arrays of a model, and which of them were asked for.
class Arrays {
public:
    explicit Arrays(const std::vector<StoredArray>& all, const std::string& label) {
        for (const StoredArray& each : all) {
            if (arrays_.try_emplace(each.name, &each).second) continue;
            throw InputError(label + ": has " + shown(each.name) +
                             " in two files: leave one of them out");
        }
    }

    /// The array of that name, behind one of the prefixes that models have.
    const StoredArray* find(const std::string& name) {
        for (const char* prefix :
             {prefix_, "", "model.", "transformer.", "gpt_neox.", "bert.", "language_model.model.",
              "model.language_model.", "language_model."}) {
            const auto found = arrays_.find(prefix + name);
            if (found == arrays_.end()) continue;
            if (used_.empty()) prefix_ = prefix;
            used_.insert(found->first);
            return found->second;
        }
        return nullptr;
    }
    /// The same, under the names that BERT's norms had once too.
    const StoredArray* find_by_any_name(const std::string& name) {
        const StoredArray* const found = find(name);
        const std::size_t norm = name.find("LayerNorm.");
        if (found != nullptr || norm == name.npos) return found;
        return find(name.substr(0, norm) +
                    (name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta"));
    }
    /// The prefix of what was found first, the embedding.
    std::string prefix() const { return prefix_; }

    /// An array that was not asked for and is none of those that change nothing; empty: none.
    std::string unread() const {
        for (const auto& [name, array] : arrays_) {
            if (!used_.contains(name) && !changes_nothing(name)) return name;
        }
        return {};
    }

private:
    /// Buffers that are computed anew, and what stands beside the text model.
    static bool changes_nothing(std::string_view name) {
        constexpr const char* buffers[]{
            "attn.bias",  "attn.masked_bias", "attention.bias", "attention.masked_bias", "inv_freq",
            "cos_cached", "sin_cached",       "position_ids",   "token_type_ids"};
        constexpr const char* parts[]{
            "cls.",          "pooler.",      "classifier.",   "qa_outputs.",
            "score.",        "v_head.",      "vision_tower.", "multi_modal_projector.",
            "vision_model.", "image_newline"};
        const auto ends = [name](std::string_view end) {
            return name == end || name.ends_with("." + std::string(end));
        };
        if (std::any_of(std::begin(buffers), std::end(buffers), ends)) return true;
        for (const char* prefix : {"model.", "bert."}) {
            if (name.starts_with(prefix)) name.remove_prefix(std::string_view(prefix).size());
        }
        return std::any_of(std::begin(parts), std::end(parts),
                           [name](const char* part) { return name.starts_with(part); });
    }

    std::map<std::string, const StoredArray*, std::less<>> arrays_;
    std::set<std::string, std::less<>> used_;
    const char* prefix_ = "";
};

/// The matrix of the logits where the configuration says that it is the embedding.
Model::Read tied(const StoredArray& head, const StoredArray& embedding, const std::string& label) {
    return [head, embedding, label] {
        Tensor matrix = head.read().tensor;
        const Tensor same = embedding.read().tensor;
        if (matrix.shape() == same.shape() && same_numbers(matrix, same)) return matrix;
        throw InputError(label + ": " + head.name + " is not " + embedding.name +
                         ", though tie_word_embeddings is true: set it to false, or leave out " +
                         head.name);
    };
}

/// Each row of a table with the first row of another.
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

/// Adds the tensors of a model one after another.
class Adding {
public:
    Adding(Model& model, Family family, const std::vector<StoredArray>& all)
        : model_(model),
          a_(model.architecture),
          names_(names_of(family)),
          arrays_(all, model.label) {}

    void add_all() {
        for (const Name& name : names_.outside) {
            if (name.ours != std::string_view("w_vocab")) {
                add(name, "", "");
            } else if (arrays_.find(name.named(".weight")) != nullptr) {
                add(name, "", "");
            }
        }
        for (std::size_t n = 0; n < a_.layers.size(); ++n) {
            for (const std::span<const Name> part : names_.inside) {
                for (const Name& name : part) {
                    add(name, in_layer(n, ""), names_.layer + in_layer(n, ""));
                }
            }
        }
        const std::string unread = arrays_.unread();
        if (unread.empty()) return;
        throw InputError(model_.label + ": " + shown(unread) + " is no tensor of a " + a_.family +
                         " with this config.json, and would change the numbers: check the "
                         "configuration");
    }

private:
    /// A parameter and its bias, in a layer or outside.
    void add(const Name& name, const std::string& layer, const std::string& theirs) {
        add_one(name, name.ours, layer, theirs + name.named(".weight"));
        if (name.bias == Bias::none || name.bias == Bias::whole ||
            (name.bias == Bias::attention && !a_.attention_bias) ||
            (name.bias == Bias::mlp && !a_.mlp_bias)) {
            return;
        }
        Name bias = name;
        bias.lies.columns = false;
        add_one(bias, "b_" + std::string(name.ours + 2), layer, theirs + name.named(".bias"));
    }

    [[noreturn]] void lack(const std::string& theirs, const std::string& what) const {
        throw InputError(model_.label + ": lacks " + arrays_.prefix() + theirs + " (" + a_.family +
                         "), which makes " + what + ": give all files of the model");
    }

    void add_one(const Name& name, const std::string& ours, const std::string& layer,
                 const std::string& theirs) {
        const Shape shape = a_.shape_of(ours);
        std::optional<StoredArray> found;
        if (const StoredArray* const array = arrays_.find_by_any_name(theirs)) found = *array;
        if (name.lies.experts && !found) {
            found = unpacked_experts(arrays_.find(theirs + "_blocks"),
                                     arrays_.find(theirs + "_scales"));
        } else if (name.lies.experts) {
            found = transposed_experts(*found);
        }
        if (!found) lack(theirs, ours + " " + shape_text(shape));
        Model::Read read = [array = *found, columns = name.lies.columns,
                            rows = picked(name.lies, a_)] {
            return taken_from(array.read().tensor, columns, rows);
        };
        if (name.plus != nullptr) {
            const StoredArray* const types = arrays_.find(name.plus);
            if (types == nullptr) lack(name.plus, ours);
            read = with_first_row(*found, *types);
        }
        if (ours == "w_vocab" && a_.tied) {
            const std::string embedding = names_.outside.front().named(".weight");
            read = tied(*found, *arrays_.find(embedding), model_.label);
        }
        const bool as_it_is =
            name.lies.part == Part::all && !name.lies.columns && name.plus == nullptr;
        Model::ReadRows read_rows;
        if (as_it_is && found->read_rows && found->shape == shape) {
            read_rows = [array = *found](const std::vector<std::size_t>& rows) {
                return array.read_rows(rows).tensor;
            };
        }
        model_.add(layer + ours, shape, std::move(read), std::move(read_rows), found->name);
    }

    Model& model_;
    const Architecture& a_;
    Names names_;
    Arrays arrays_;
};

}  // namespace

void add_tensors(Model& model, Family family, const std::vector<StoredArray>& all) {
    Adding(model, family, all).add_all();
}

}  // namespace attn::models
