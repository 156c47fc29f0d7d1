#include "attn/files/io/pickle.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using PickleType = PickleValue::PickleType;

constexpr std::string_view dictionary_name{"collections OrderedDict"};
constexpr std::string_view size_name{"torch Size"};
constexpr std::string_view tensor_name{"torch._utils _rebuild_tensor_v2"};
constexpr std::string_view parameter_name{"torch._utils _rebuild_parameter"};

/// Interprets the instructions of a pickle.
class Reader {
public:
    Reader(std::string_view bytes, const std::string& label) : rest_(bytes), label_(label) {}

    /// Returns all values, and the index of the result.
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

    void push_line() {
        push_text(rest_.find('\n'));
        take(1);
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

    // Pops the values above the last mark, and the mark.
    std::vector<std::size_t> above_mark() {
        std::vector<std::size_t> items;
        while (values_[top()].value_type != PickleType::mark) items.push_back(pop());
        pop();
        std::reverse(items.begin(), items.end());
        return items;
    }

    // Pops the last values, in their original order.
    std::vector<std::size_t> popped(std::size_t count) {
        std::vector<std::size_t> items(count);
        for (std::size_t i = count; i-- > 0;) items[i] = pop();
        return items;
    }

    void extend(PickleType value_type, const std::vector<std::size_t>& items) {
        PickleValue& whole = values_[top()];
        if (whole.value_type != value_type ||
            (value_type == PickleType::dictionary && items.size() % 2 != 0))
            damaged();
        whole.items.insert(whole.items.end(), items.begin(), items.end());
    }

    void recall(std::uint64_t place) {
        const auto found = memory_.find(place);
        if (found == memory_.end()) damaged();
        stack_.push_back(found->second);
    }

    // Pushes a name from a module and a qualified name.
    void push_name() {
        const std::vector<std::size_t> words = popped(2);
        const std::string name = values_[words[0]].text + " " + values_[words[1]].text;
        const bool known = name == dictionary_name || name == size_name || name == tensor_name ||
                           name == parameter_name || type_called(name, &TypeNames::torch);
        if (!known)
            throw InputError(label_ + ": it contains more than tensors, " + quoted_text(name) +
                             ": " + pickle_advice);
        push({PickleType::name, 0, name, {}});
    }

    // ('storage', class, key, device, size)
    void push_storage() {
        const PickleValue& id = values_[pop()];
        if (id.value_type != PickleType::tuple || id.items.size() != 5 ||
            values_[id.items[1]].value_type != PickleType::name ||
            values_[id.items[2]].value_type != PickleType::text ||
            values_[id.items[2]].text.size() > 1000) {
            damaged();
        }
        push({PickleType::storage, 0, values_[id.items[2]].text, {id.items[1]}});
    }

    void call() {
        const PickleValue& arguments = values_[pop()];
        const PickleValue& function = values_[pop()];
        if (arguments.value_type != PickleType::tuple || function.value_type != PickleType::name)
            damaged();
        if (function.text == dictionary_name && arguments.items.empty()) {
            push(PickleType::dictionary, {});
        } else if (function.text == size_name && arguments.items.size() == 1) {
            stack_.push_back(arguments.items[0]);
        } else if (function.text == tensor_name && arguments.items.size() >= 4) {
            push(PickleType::tensor, {arguments.items.begin(), arguments.items.begin() + 4});
        } else if (function.text == parameter_name && !arguments.items.empty()) {
            stack_.push_back(arguments.items[0]);
        } else {
            damaged();
        }
    }

    /// The effect of an instruction, given the number in the next `size` bytes.
    struct Instruction {
        unsigned char code;
        std::size_t size;
        void (*follow)(Reader& of, std::uint64_t number);
    };

    void follow(unsigned char code) {
        static constexpr Instruction all[] = {
            {0x80, 1, [](Reader&, std::uint64_t) {}},  // PROTO
            {0x95, 8, [](Reader&, std::uint64_t) {}},  // FRAME
            {'N', 0, [](Reader& of, auto) { of.push({}); }},
            {0x88, 0, [](Reader& of, auto) { of.push({}); }},  // NEWTRUE
            {0x89, 0, [](Reader& of, auto) { of.push({}); }},  // NEWFALSE
            {'G', 8, [](Reader& of, auto) { of.push({}); }},   // BINFLOAT
            {'K', 1, [](Reader& of, auto n) { of.push_integer(static_cast<std::int64_t>(n)); }},
            {'M', 2, [](Reader& of, auto n) { of.push_integer(static_cast<std::int64_t>(n)); }},
            {'J', 4, [](Reader& of, auto n) { of.push_integer(static_cast<std::int32_t>(n)); }},
            {0x8A, 1, [](Reader& of, auto n) { of.push_long(n); }},
            {'X', 4, [](Reader& of, auto n) { of.push_text(n); }},
            {0x8C, 1, [](Reader& of, auto n) { of.push_text(n); }},
            {'}', 0, [](Reader& of, auto) { of.push(PickleType::dictionary, {}); }},
            {']', 0, [](Reader& of, auto) { of.push(PickleType::list, {}); }},
            {')', 0, [](Reader& of, auto) { of.push(PickleType::tuple, {}); }},
            {'(', 0, [](Reader& of, auto) { of.push(PickleType::mark, {}); }},
            {'t', 0, [](Reader& of, auto) { of.push(PickleType::tuple, of.above_mark()); }},
            {0x85, 0, [](Reader& of, auto) { of.push(PickleType::tuple, of.popped(1)); }},
            {0x86, 0, [](Reader& of, auto) { of.push(PickleType::tuple, of.popped(2)); }},
            {0x87, 0, [](Reader& of, auto) { of.push(PickleType::tuple, of.popped(3)); }},
            {'a', 0, [](Reader& of, auto) { of.extend(PickleType::list, of.popped(1)); }},
            {'e', 0, [](Reader& of, auto) { of.extend(PickleType::list, of.above_mark()); }},
            {'s', 0, [](Reader& of, auto) { of.extend(PickleType::dictionary, of.popped(2)); }},
            {'u', 0, [](Reader& of, auto) { of.extend(PickleType::dictionary, of.above_mark()); }},
            {'q', 1, [](Reader& of, auto n) { of.remember(n); }},
            {'r', 4, [](Reader& of, auto n) { of.remember(n); }},
            {0x94, 0, [](Reader& of, auto) { of.remember(of.memory_.size()); }},
            {'h', 1, [](Reader& of, auto n) { of.recall(n); }},
            {'j', 4, [](Reader& of, auto n) { of.recall(n); }},
            {'c', 0, [](Reader& of, auto) { of.push_line(), of.push_line(), of.push_name(); }},
            {0x93, 0, [](Reader& of, auto) { of.push_name(); }},    // STACK_GLOBAL
            {'Q', 0, [](Reader& of, auto) { of.push_storage(); }},  // BINPERSID
            {'R', 0, [](Reader& of, auto) { of.call(); }},
            {'b', 0, [](Reader& of, auto) { of.build(); }}};
        const auto* const found = std::ranges::find(all, code, &Instruction::code);
        if (found == std::end(all)) {
            throw InputError(
                label_ +
                ": the pickle inside has an instruction that is not known here: " + pickle_advice);
        }
        found->follow(*this, little_endian(take(found->size), found->size));
    }

    /// Ignores the versions of a state dictionary's modules, which do not affect its tensors.
    void build() {
        pop();
        if (values_[top()].value_type != PickleType::dictionary) damaged();
    }

    void push_long(std::size_t size) {
        if (size > 8) {
            take(size);
            return push({});
        }
        std::uint64_t bits = little_endian(take(size), size);
        const bool negative = size > 0 && size < 8 && (bits >> (8 * size - 1) & 1U) != 0;
        if (negative) bits |= ~std::uint64_t{0} << (8 * size);
        push_integer(std::bit_cast<std::int64_t>(bits));
    }

    void push(PickleType value_type, std::vector<std::size_t> items) {
        push({value_type, 0, "", std::move(items)});
    }
    void push_integer(std::int64_t value) { push({PickleType::integer, value, "", {}}); }
    void push_text(std::size_t size) { push({PickleType::text, 0, std::string(take(size)), {}}); }
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
