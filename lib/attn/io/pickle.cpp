#include "attn/io/pickle.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "attn/io/input_file.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

using Sort = PickleValue::Sort;

constexpr std::string_view dictionary_name{"collections OrderedDict"};
constexpr std::string_view size_name{"torch Size"};
constexpr std::string_view tensor_name{"torch._utils _rebuild_tensor_v2"};
constexpr std::string_view parameter_name{"torch._utils _rebuild_parameter"};

/// Follows the instructions of a pickle.
class Reader {
public:
    Reader(std::string_view bytes, const std::string& label) : rest_(bytes), label_(label) {}

    /// All values, and the number of the one that is left.
    std::pair<std::vector<PickleValue>, std::size_t> read() {
        while (true) {
            const auto code = static_cast<unsigned char>(take(1)[0]);
            if (code == '.') break;
            follow(code);
        }
        const std::size_t result = pop();
        return {std::move(values_), result};
    }

private:
    [[noreturn]] void damaged() const {
        throw InputError(label_ + ": the pickle inside is damaged: " + pickle_advice);
    }

    std::string_view take(std::size_t size) {
        if (size > rest_.size()) damaged();
        const std::string_view bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return bytes;
    }

    std::uint64_t number(std::size_t size) { return little_endian(take(size), size); }
    std::string_view line() {
        const std::size_t end = rest_.find('\n');
        if (end == rest_.npos) damaged();
        const std::string_view text = take(end);
        take(1);
        return text;
    }

    std::size_t pop() {
        if (stack_.empty()) damaged();
        const std::size_t top = stack_.back();
        stack_.pop_back();
        return top;
    }

    std::size_t top() const {
        if (stack_.empty()) damaged();
        return stack_.back();
    }

    void push(PickleValue value) {
        values_.push_back(std::move(value));
        stack_.push_back(values_.size() - 1);
    }

    // The values above the last mark, which goes too.
    std::vector<std::size_t> above_mark() {
        std::vector<std::size_t> items;
        while (values_[top()].sort != Sort::mark) items.push_back(pop());
        pop();
        std::reverse(items.begin(), items.end());
        return items;
    }

    void push_tuple(std::size_t count) {
        std::vector<std::size_t> items(count);
        for (std::size_t i = count; i-- > 0;) items[i] = pop();
        push(Sort::tuple, std::move(items));
    }

    void extend(Sort sort, const std::vector<std::size_t>& items) {
        PickleValue& whole = values_[top()];
        if (whole.sort != sort || (sort == Sort::dictionary && items.size() % 2 != 0)) damaged();
        whole.items.insert(whole.items.end(), items.begin(), items.end());
    }

    void recall(std::uint64_t place) {
        const auto found = memory_.find(place);
        if (found == memory_.end()) damaged();
        stack_.push_back(found->second);
    }

    void push_name(const std::string& name) {
        const bool known = name == dictionary_name || name == size_name || name == tensor_name ||
                           name == parameter_name || type_called(name, &TypeNames::torch);
        if (!known)
            throw InputError(label_ + ": it holds more than tensors, " + shown(name) + ": " +
                             pickle_advice);
        push({Sort::name, 0, name, {}});
    }

    // ('storage', class, key, device, size)
    void push_storage() {
        const PickleValue& id = values_[pop()];
        if (id.sort != Sort::tuple || id.items.size() != 5 ||
            values_[id.items[1]].sort != Sort::name || values_[id.items[2]].sort != Sort::text ||
            values_[id.items[2]].text.size() > 1000) {
            damaged();
        }
        push({Sort::storage, 0, values_[id.items[2]].text, {id.items[1]}});
    }

    void call() {
        const PickleValue& arguments = values_[pop()];
        const PickleValue& function = values_[pop()];
        if (arguments.sort != Sort::tuple || function.sort != Sort::name) damaged();
        if (function.text == dictionary_name && arguments.items.empty()) {
            push(Sort::dictionary, {});
        } else if (function.text == size_name && arguments.items.size() == 1) {
            stack_.push_back(arguments.items[0]);
        } else if (function.text == tensor_name && arguments.items.size() >= 4) {
            push(Sort::tensor, {arguments.items.begin(), arguments.items.begin() + 4});
        } else if (function.text == parameter_name && !arguments.items.empty()) {
            stack_.push_back(arguments.items[0]);
        } else {
            damaged();
        }
    }

    void follow(unsigned char code) {
        switch (code) {
            case 0x80:  // PROTO
                take(1);
                return;
            case 0x95:  // FRAME
                take(8);
                return;
            case 'N':   // NONE
            case 0x88:  // NEWTRUE
            case 0x89:  // NEWFALSE
                return push({});
            case 'G':  // BINFLOAT
                take(8);
                return push({});
            case 'K':
                return push_integer(static_cast<std::int64_t>(number(1)));
            case 'M':
                return push_integer(static_cast<std::int64_t>(number(2)));
            case 'J':
                return push_integer(static_cast<std::int32_t>(number(4)));
            case 0x8A:  // LONG1
                return push_long(number(1));
            case 'X':
                return push_text(number(4));
            case 0x8C:
                return push_text(number(1));
            case '}':
                return push(Sort::dictionary, {});
            case ']':
                return push(Sort::list, {});
            case ')':
                return push(Sort::tuple, {});
            case '(':
                return push({Sort::mark, 0, "", {}});
            case 't':
                return push(Sort::tuple, above_mark());
            case 0x85:
            case 0x86:
            case 0x87:
                return push_tuple(code - 0x84U);
            case 'a': {
                const std::size_t item = pop();
                return extend(Sort::list, {item});
            }
            case 'e': {
                const std::vector<std::size_t> items = above_mark();
                return extend(Sort::list, items);
            }
            case 's': {
                const std::size_t value = pop();
                const std::size_t key = pop();
                return extend(Sort::dictionary, {key, value});
            }
            case 'u': {
                const std::vector<std::size_t> items = above_mark();
                return extend(Sort::dictionary, items);
            }
            case 'q':
                return remember(number(1));
            case 'r':
                return remember(number(4));
            case 0x94:  // MEMOIZE
                return remember(memory_.size());
            case 'h':
                return recall(number(1));
            case 'j':
                return recall(number(4));
            case 'c': {
                const std::string module(line());
                return push_name(module + " " + std::string(line()));
            }
            case 0x93: {  // STACK_GLOBAL
                const std::string name = values_[pop()].text;
                return push_name(values_[pop()].text + " " + name);
            }
            case 'Q':  // BINPERSID
                return push_storage();
            case 'R':
                return call();
            case 'b':  // BUILD: the versions of a state dictionary's modules
                pop();
                if (values_[top()].sort != Sort::dictionary) damaged();
                return;
            default:
                throw InputError(label_ +
                                 ": the pickle inside has an instruction that is not known here: " +
                                 pickle_advice);
        }
    }

    void push_long(std::size_t size) {
        if (size > 8) {
            take(size);
            return push({});
        }
        std::uint64_t bits = number(size);
        const bool negative = size > 0 && size < 8 && (bits >> (8 * size - 1) & 1U) != 0;
        if (negative) bits |= ~std::uint64_t{0} << (8 * size);
        push_integer(std::bit_cast<std::int64_t>(bits));
    }

    void push(Sort sort, std::vector<std::size_t> items) { push({sort, 0, "", std::move(items)}); }
    void push_integer(std::int64_t value) { push({Sort::integer, value, "", {}}); }
    void push_text(std::size_t size) { push({Sort::text, 0, std::string(take(size)), {}}); }
    void remember(std::uint64_t place) { memory_[place] = top(); }

    std::string_view rest_;
    const std::string& label_;
    std::vector<PickleValue> values_;
    std::vector<std::size_t> stack_;
    std::map<std::uint64_t, std::size_t> memory_;
};

}  // namespace

Pickle::Pickle(std::string_view bytes, const std::string& label) {
    std::tie(values_, result_) = Reader(bytes, label).read();
}

}  // namespace attn
