#include "attn/files/io/number_lists.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "attn/files/io/document_names.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::string_view blanks{" \t\r\n"};

}  // namespace

void NumberLists::fail(const std::string& what, const std::string& advice) const {
    throw InputError(label_ + ": " + what + ": " + advice);
}

void NumberLists::open() {
    if (depth_is_known_ && open_.size() == shape_.size()) {
        fail("there is a list where a number of axis " + std::to_string(open_.size()) +
                 " is expected",
             "give nested lists of numbers");
    }
    if (open_.size() == most_axes) fail("more than 32 axes", "give nested lists of numbers");
    if (!open_.empty()) ++open_.back();
    open_.push_back(0);
    if (shape_.size() < open_.size()) {
        shape_.push_back(0);
        closed_.push_back(false);
    }
}

void NumberLists::close() {
    const std::size_t length = open_.back();
    open_.pop_back();
    const std::size_t axis = open_.size();
    // The first list that ends is an innermost one.
    depth_is_known_ = true;
    if (closed_[axis] && shape_[axis] != length) {
        fail("the lists along axis " + std::to_string(axis) + " have different lengths, " +
                 std::to_string(shape_[axis]) + " and " + std::to_string(length),
             "give nested lists of numbers");
    }
    shape_[axis] = length;
    closed_[axis] = true;
}

void NumberLists::add_leaf(Leaf leaf) {
    if (open_.size() != shape_.size()) {
        fail("there is a number where a list of axis " + std::to_string(open_.size()) +
                 " is expected",
             "give nested lists of numbers");
    }
    depth_is_known_ = true;
    if (!open_.empty()) ++open_.back();
    leaves_.push_back(leaf);
}

void NumberLists::add(double number) { add_leaf({number, 0}); }

void NumberLists::add_integer(std::int64_t integer) {
    add_leaf({static_cast<double>(integer), integer});
    ++integers_;
}

void NumberLists::add_truth(bool truth) {
    add_leaf({truth ? 1.0 : 0.0, truth ? 1 : 0});
    ++booleans_;
}

bool NumberLists::add_word(std::string_view word) {
    if (word.ends_with(')')) {  // np.float64(0.5), tensor(0.5)
        word.remove_suffix(1);
        word.remove_prefix(std::min(word.find('('), word.size() - 1) + 1);
    }
    if (word == "True" || word == "true" || word == "False" || word == "false") {
        add_truth(word == "True" || word == "true");
        return true;
    }
    constexpr std::string_view minus = "\u2212";  // of web pages
    if (word.starts_with(minus)) {
        const auto number = parse_number(word.substr(minus.size()));
        if (number) add(-*number);
        return number.has_value();
    }
    const auto integer = parse_whole<std::int64_t>(word);
    const bool negative_zero = integer == 0 && word.starts_with('-');
    const std::optional<double> number = parse_fraction(word);
    if (integer && !negative_zero) {
        add_integer(*integer);
    } else if (number) {
        add(*number);
    }
    return integer.has_value() || number.has_value();
}

void NumberLists::add_quoted(std::string_view text) {
    const std::optional<double> number = parse_number(text);
    if (!number || *number - *number == 0.0) {
        throw NotATensor(label_, quoted_text(text) + " is not a number",
                         "give nested lists of numbers");
    }
    add(*number);
}

DType NumberLists::natural_dtype() const {
    if (booleans_ > 0 && booleans_ < size()) {
        fail("true or false is among numbers", "write 1 or 0");
    }
    if (leaves_.empty()) return DType::float64;
    if (booleans_ == size()) return DType::boolean;
    return integers_ == size() ? DType::int64 : DType::float64;
}

Tensor NumberLists::tensor(DType dtype, const Shape& shape, Axes axes) const {
    if (dtype == DType::int64 && integers_ != size()) {
        fail("the type is int64, but not all are integers", "give nested lists of numbers");
    }
    if (dtype == DType::boolean && booleans_ != size()) {
        fail("the type is bool, but not all are true or false", "give nested lists of numbers");
    }
    if (dtype == DType::float32 || is_16_bit(dtype)) {
        return cast({std::move(axes), values<float>(shape)}, dtype);
    }
    if (dtype == DType::float64) return {std::move(axes), values<double>(shape)};
    if (dtype == DType::int64) return {std::move(axes), values<std::int64_t>(shape)};
    return {std::move(axes), values<bool>(shape)};
}

template <class T>
Array<T> NumberLists::values(const Shape& shape) const {
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

namespace {

constexpr std::string_view calls[] = {"tensor(",       "array(",
                                      "torch.tensor(", "numpy.array(",
                                      "np.array(",     "Parameter containing:\ntensor("};

std::string_view without_blanks(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? std::string_view() : text.substr(first);
}

// Returns the call at the beginning of a text; empty if there is none.
std::string_view call_of(std::string_view text) {
    for (const std::string_view call : calls) {
        if (text.starts_with(call)) return call;
    }
    return {};
}

bool begins_array(std::string_view text) { return text.starts_with('[') || !call_of(text).empty(); }

// True for a number, as in `d_k = 64`.
bool begins_number(std::string_view text) {
    return !text.empty() && std::string_view("-.0123456789").find(text[0]) != text.npos;
}

// Returns the name before an array, `q = [`, `q: tensor(` or `>>> q` above it, and the length of
// that text.
std::pair<std::string_view, std::size_t> head_of(std::string_view text) {
    const std::size_t start = text.starts_with(">>> ") ? 4 : 0;
    std::size_t end = std::min(start, text.size());
    while (end < text.size() && (is_letter_of_name(text[end]) || text[end] == '.')) ++end;
    std::string_view rest = without_blanks(text.substr(end));
    const bool is_set = rest.starts_with('=');
    if (is_set || rest.starts_with(':')) rest = without_blanks(rest.substr(1));
    const bool begins = begins_array(rest) || (is_set && begins_number(rest));
    if (end == start || begins_array(text) || !begins) return {};
    return {text.substr(start, end - start), text.size() - rest.size()};
}

class PrintedArray {
public:
    PrintedArray(std::string_view text, const std::string& label, std::size_t place)
        : text_(text), label_(label), lists_(label), place_(place) {}

    NamedTensor parse() {
        place_ = text_.size() - without_blanks(text_.substr(place_)).size();
        const auto [name, size] = head_of(text_.substr(place_));
        place_ += size;
        const std::string_view call = call_of(text_.substr(place_));
        place_ += call.size();
        values();
        const std::string_view after =
            text_.substr(place_, call.empty() ? 0 : end_of_call(text_.substr(place_)));
        if (!call.empty() && after.empty()) fail_after();
        place_ += after.size();
        NamedTensor array = finished(call, after);
        array.name = name;
        return array;
    }

    NotATensor no_tensor(const std::string& word) const {
        return {label_, quoted_text(word) + " is not a number", "give nested lists of numbers"};
    }

    // Returns the end of the array.
    std::size_t end() const { return place_; }

    [[noreturn]] void fail_after() const {
        fail("the array does not end here",
             "give one array, whole, with nothing after it, or several with their names: q = ...");
    }

private:
    [[noreturn]] void fail(const std::string& what, const std::string& advice) const {
        throw InputError(label_ + ": " + place_in(text_, place_) + ": " + what + ": " + advice);
    }

    // Reads up to the bracket that closes the first one, or one number.
    void values() {
        std::size_t depth = 0;
        char before = '[';  // or a comma, or a closing bracket, at which values end, too
        do {
            const std::size_t start = place_;
            place_ = std::min(text_.find_first_not_of(blanks, place_), text_.size());
            if (place_ == text_.size()) {
                fail("the text ends within the array", "give the whole array");
            }
            const char letter = text_[place_];
            // Python allows a comma before a closing bracket.
            if ((letter == ',' && before != ']') || (letter == ']' && depth == 0)) {
                fail("a value is missing", "give nested lists of numbers");
            }
            if (letter != ',' && letter != ']' && before == ']' && place_ == start) {
                fail("a comma or a space is missing", "give nested lists of numbers");
            }
            before = letter;
            if (letter == '[') {
                lists_.open();
                ++depth;
            } else if (letter == ']') {
                lists_.close();
                --depth;
            } else if (letter != ',') {
                value();
                before = ']';
                continue;
            }
            ++place_;
        } while (depth > 0);
    }

    void value() {
        const char quote = text_[place_];
        if (quote == '"' || quote == '\'') return quoted_value(quote);
        std::size_t end = std::min(text_.find_first_of(" \t\r\n,[]()", place_), text_.size());
        // np.float64(0.5)
        if (text_.substr(end).starts_with('('))
            end = std::min(text_.find(')', end), text_.size() - 1) + 1;
        const std::string_view word = text_.substr(place_, end - place_);
        if (word == "null" || word == "None") {
            lists_.add(std::numeric_limits<double>::quiet_NaN());
        } else if (word == "...") {
            fail("the array was shortened when it was printed",
                 "print it whole: torch.set_printoptions(profile='full') or "
                 "numpy.set_printoptions(threshold=sys.maxsize)");
        } else if (!lists_.add_word(word)) {
            fail(quoted_text(word) + " is not a number", "write it as 1.5 or 1e-3");
        }
        place_ = end;
    }

    void quoted_value(char quote) {
        const std::size_t end = text_.find(quote, place_ + 1);
        if (end == text_.npos) fail("a quote is left open", "close it");
        const std::string_view word = text_.substr(place_ + 1, end - place_ - 1);
        if (parse_number(word)) {
            lists_.add_quoted(word);
        } else {
            words_.emplace_back(word);
            lists_.add(0);
        }
        place_ = end + 1;
    }

    // Returns the end of a call after its numbers: options and the closing parenthesis.
    static std::size_t end_of_call(std::string_view after) {
        std::size_t depth = 1;
        for (std::size_t i = 0; i < after.size(); ++i) {
            if (after[i] == '(') ++depth;
            if (after[i] == ')' && --depth == 0) return i + 1;
        }
        return 0;
    }

    // Returns the word after `key=`, without the name of a module.
    static std::string_view option(std::string_view after, std::string_view key) {
        const std::size_t start = after.find(key);
        if (start == after.npos) return {};
        std::string_view word = after.substr(start + key.size());
        word = word.substr(0, word.find_first_of(",) \n"));
        return word.substr(word.rfind('.') == word.npos ? 0 : word.rfind('.') + 1);
    }

    NamedTensor finished(std::string_view call, std::string_view after) {
        const std::string_view type = option(after, "dtype=");
        DType dtype = lists_.natural_dtype();
        const bool is_torch = call.find("tensor") != call.npos;
        const bool is_single =
            type == "float32" || type.ends_with("float16") || (type.empty() && is_torch);
        if (dtype == DType::float64 && is_single) {
            dtype = type == "bfloat16"  ? DType::bfloat16
                    : type == "float16" ? DType::float16
                                        : DType::float32;
        }
        const Shape shape = lists_.size() > 0 ? lists_.shape() : empty_shape(after);
        if (!words_.empty() && words_.size() != lists_.size()) throw no_tensor(words_.front());
        return {"", lists_.tensor(dtype, shape, numbered_axes(shape.size())), words_};
    }

    // Reads the shape of an empty array after its brackets: size=(2, 0) or shape=(2, 0).
    Shape empty_shape(std::string_view after) const {
        const std::size_t size = after.find("size=(");
        const std::size_t start = size == after.npos ? after.find("shape=(") : size;
        if (start == after.npos) return lists_.shape();
        Shape shape;
        const char* at = after.data() + after.find('(', start) + 1;
        const char* const end = after.data() + after.size();
        while (shape.size() < most_axes) {
            std::size_t length = 0;
            const auto [rest, error] = std::from_chars(at, end, length);
            if (error != std::errc()) break;
            shape.push_back(length);
            at = rest;
            while (at < end && (*at == ',' || *at == ' ')) ++at;
        }
        return byte_count(shape, 1) == 0U ? shape : lists_.shape();
    }

    std::string_view text_;
    const std::string& label_;
    NumberLists lists_;
    std::size_t place_;
    std::vector<std::string> words_{};  // for a list without numbers: `tokens = ["the", "cat"]`
};

}  // namespace

std::optional<double> parse_fraction(std::string_view text) {
    const std::size_t bar = text.find('/');
    if (bar == text.npos) return parse_number(text);
    const auto top = parse_number(text.substr(0, bar)), bottom = parse_number(text.substr(bar + 1));
    return top && bottom && *bottom != 0 ? std::optional(*top / *bottom) : std::nullopt;
}

std::string place_in(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

bool looks_like_printed_array(std::string_view text) {
    const std::string alone = arrays_alone(text);
    text = without_blanks(alone);
    return begins_array(text) || head_of(text).second > 0;
}

std::vector<NamedTensor> parse_printed_arrays(std::string_view whole, const std::string& label) {
    const std::string text = arrays_alone(whole);
    std::vector<NamedTensor> arrays;
    std::vector<std::string> words;  // the names of rows
    for (std::size_t place = 0;;) {
        PrintedArray array(text, label, place);
        arrays.push_back(array.parse());
        place = array.end();
        const std::string_view rest = without_blanks(std::string_view(text).substr(place));
        if (!arrays.back().row_names.empty()) {
            words = arrays.back().row_names;
            arrays.pop_back();
            if (rest.empty() && arrays.empty()) throw array.no_tensor(words.front());
        } else if (!rest.empty() && arrays.back().name.empty()) {
            array.fail_after();
        }
        if (rest.empty()) break;
        if (head_of(rest).second == 0) array.fail_after();
    }
    for (NamedTensor& each : arrays) name_rows(each, words);
    return arrays;
}

}  // namespace attn
