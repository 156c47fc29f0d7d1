#include "attn/io/json.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/io/elements.hpp"
#include "attn/io/file_bytes.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

using Json = nlohmann::json;

constexpr int deepest = 64;

std::string place(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == before.npos ? before.size() : before.size() - start - 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

constexpr std::size_t most_axes = 32;

[[noreturn]] void fail(const std::string& label, const std::string& what,
                       const std::string& advice = "give nested lists of numbers") {
    throw InputError(label + ": " + what + ": " + advice);
}

// Every leaf of nested lists in order, with what is needed to choose their common type.
class Leaves {
public:
    explicit Leaves(const std::string& label) : label_(label) {}

    void collect(const Json& value) {
        // The first element of every list tells the shape; the others must follow it.
        for (const Json* each = &value; each->is_array(); each = &each->front()) {
            shape_.push_back(each->size());
            if (shape_.size() > most_axes) fail(label_, "more than 32 axes");
            if (each->empty()) break;
        }
        visit(value, 0);
    }

    const Shape& shape() const { return shape_; }
    std::size_t size() const { return leaves_.size(); }

    // The type that the values have by themselves. true and false among numbers are more likely a
    // slip than ones and zeros.
    DType natural_dtype() const {
        if (booleans_ > 0 && booleans_ < size()) {
            fail(label_, "true or false stands among numbers", "write 1 or 0");
        }
        if (leaves_.empty()) return DType::float64;
        if (booleans_ == size()) return DType::boolean;
        return integers_ == size() ? DType::int64 : DType::float64;
    }

    Tensor tensor(DType dtype, const Shape& shape, Axes axes) const {
        switch (dtype) {
            case DType::float32:
                return {std::move(axes), values<float>(shape)};
            case DType::float64:
                return {std::move(axes), values<double>(shape)};
            case DType::int64:
                if (integers_ != size())
                    fail(label_, "the type is int64, but not all are integers");
                return {std::move(axes), values<std::int64_t>(shape)};
            default:
                if (booleans_ != size()) {
                    fail(label_, "the type is bool, but not all are true or false");
                }
                return {std::move(axes), values<bool>(shape)};
        }
    }

private:
    struct Leaf {
        double number = 0.0;
        std::int64_t integer = 0;
    };

    void visit(const Json& value, std::size_t depth) {
        if (value.is_array()) {
            if (depth >= shape_.size() || value.size() != shape_[depth]) {
                fail(label_, "the lists along axis " + std::to_string(depth) +
                                 " have different lengths or depths (the first gives " +
                                 shape_text(shape_) + ")");
            }
            for (const Json& each : value) visit(each, depth + 1);
            return;
        }
        if (depth != shape_.size()) {
            fail(label_, "a number stands where a list of axis " + std::to_string(depth) +
                             " is expected (the first gives " + shape_text(shape_) + ")");
        }
        leaves_.push_back(leaf(value));
    }

    Leaf leaf(const Json& value) {
        if (value.is_boolean()) {
            ++booleans_;
            return {value.get<bool>() ? 1.0 : 0.0, value.get<bool>() ? 1 : 0};
        }
        const bool too_large =
            value.is_number_unsigned() &&
            value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
        if (value.is_number_integer() && !too_large) {
            ++integers_;
            return {value.get<double>(), value.get<std::int64_t>()};
        }
        if (value.is_number()) return {value.get<double>(), 0};
        if (value.is_string()) {
            const auto& text = value.get_ref<const std::string&>();
            const std::optional<double> number = parse_number(text);
            // Only what JSON has no number for may stand in quotes.
            if (number && *number - *number != 0.0) return {*number, 0};
            fail(label_, shown(text) + " is no number");
        }
        fail(label_, std::string("there is ") + value.type_name() + " where a number is expected",
             "give a number, \"nan\", \"inf\" or \"-inf\"");
    }

    template <class T>
    Array<T> values(const Shape& shape) const {
        Array<T> array = empty_array<T>(shape);
        for (std::size_t i = 0; i < leaves_.size(); ++i) {
            if constexpr (std::is_floating_point_v<T>) {
                array.data()[i] = static_cast<T>(leaves_[i].number);
            } else {
                array.data()[i] = static_cast<T>(leaves_[i].integer);
            }
        }
        return array;
    }

    const std::string& label_;
    Shape shape_;
    std::vector<Leaf> leaves_;
    std::size_t booleans_ = 0;
    std::size_t integers_ = 0;
};

Tensor plain_tensor(const Json& value, const std::string& label) {
    Leaves leaves(label);
    leaves.collect(value);
    return leaves.tensor(leaves.natural_dtype(), leaves.shape(),
                         numbered_axes(leaves.shape().size()));
}

// Reading a key of a step: absent and mistyped are the same trouble.
template <class T>
T step_entry(const Json& step, const char* key, const std::string& label) {
    const auto found = step.find(key);
    try {
        if (found != step.end()) return found->get<T>();
    } catch (const Json::exception&) {
    }
    fail(label, std::string("a step lacks a proper ") + shown(key),
         "give the output of --format json unchanged");
}

NamedTensor step_tensor(const Json& step, const std::string& file_label) {
    const char* const advice = "give the output of --format json unchanged";
    if (!step.is_object()) fail(file_label, "a step is no object", advice);
    const auto name = step_entry<std::string>(step, "name", file_label);
    const std::string label = file_label + ": step " + shown(name);

    const auto type_name = step_entry<std::string>(step, "dtype", label);
    std::optional<DType> dtype;
    for (DType each : {DType::float32, DType::float64, DType::int64, DType::boolean}) {
        if (dtype_name(each) == type_name) dtype = each;
    }
    if (!dtype) fail(label, "unknown dtype " + shown(type_name), advice);

    // The shape says more than the lists do when an axis has length 0.
    Leaves leaves(label);
    leaves.collect(step_entry<Json>(step, "data", label));
    Shape shape = leaves.shape();
    if (step.contains("shape")) {
        const auto claimed = step_entry<std::vector<std::uint64_t>>(step, "shape", label);
        const Shape said(claimed.begin(), claimed.end());
        const std::optional<std::size_t> bytes = byte_count(said, 1);
        const bool both_empty = bytes == 0U && leaves.size() == 0 && said.size() <= most_axes;
        if (said != shape && !both_empty) {
            fail(label,
                 "the shape is said to be " + shape_text(said) + ", but the data has " +
                     shape_text(shape),
                 advice);
        }
        shape = said;
    }
    Axes axes = numbered_axes(shape.size());
    if (step.contains("axes")) {
        axes = step_entry<Axes>(step, "axes", label);
        if (axes.size() != shape.size()) fail(label, "'axes' does not fit the shape", advice);
    }
    return {name, leaves.tensor(*dtype, shape, std::move(axes))};
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& label) {
    std::vector<std::unordered_set<std::string>> keys;
    const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > deepest) {
            throw InputError(label + ": lists or objects nested more than " +
                             std::to_string(deepest) + " deep: give plain nested lists");
        }
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end) keys.pop_back();
        if (event == Json::parse_event_t::key) {
            const std::string& key = parsed.get_ref<const std::string&>();
            if (!keys.back().insert(key).second) {
                throw InputError(label + ": the key " + shown(key) +
                                 " occurs twice in one object: keep one of them");
            }
        }
        return true;
    };
    try {
        return Json::parse(text, check);
    } catch (const Json::parse_error& error) {
        throw InputError(label + ": this is no JSON at " + place(text, error.byte) +
                         ": mend it there (nan and inf are written \"nan\" and \"inf\")");
    } catch (const Json::out_of_range&) {
        throw InputError(label +
                         ": a number is beyond the range of float64: write \"inf\" or \"-inf\"");
    }
}

std::vector<NamedTensor> parse_json_tensors(std::string_view text, const std::string& label) {
    const Json root = parse_json(text, label);
    std::vector<NamedTensor> tensors;
    if (!root.is_object()) {
        tensors.push_back({"", plain_tensor(root, label)});
        return tensors;
    }
    if (root.contains("attn_explain") && root.contains("steps")) {
        std::set<std::string> names;
        for (const Json& step : root["steps"]) {
            tensors.push_back(step_tensor(step, label));
            if (!names.insert(tensors.back().name).second) {
                fail(label, "the step " + shown(tensors.back().name) + " occurs twice",
                     "keep one of them");
            }
        }
        return tensors;
    }
    for (const auto& [name, value] : root.items()) {
        tensors.push_back({name, plain_tensor(value, label + ": array " + shown(name))});
    }
    return tensors;
}

}  // namespace attn
