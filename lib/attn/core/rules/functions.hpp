#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attn {

/// What an expression gives: any number, a whole one, or a truth, which counts as 1 or 0.
enum class RuleType { number, whole, truth };

/// A function or an operator of rules: all that anybody asks about it.
struct RuleFunction {
    enum class Kind { called, sign, comparison, logic };

    const char* name;
    std::size_t arity;
    Kind kind;
    /// Its value by x, and by y: each a sum of terms that rules write in x, y and the value v;
    /// nothing where it does not change.
    std::vector<const char*> by_x, by_y;
    /// What Python calls it in torch and in numpy, or how it says it, with `{}` in the place of x;
    /// null where it has no function of its own.
    const char* torch;
    const char* numpy;
    double (*value)(double x, double y);
    template <class T>
    using Row = void (*)(const T* x, const T* y, bool has_one_y, T* values, std::size_t count);
    Row<float> row32;
    Row<double> row64;

    /// The values by each x with its y, or with the first y alone. They may take the place of x.
    template <class T>
    void row(const T* x, const T* y, bool has_one_y, T* values, std::size_t count) const {
        if constexpr (std::is_same_v<T, float>) {
            row32(x, y, has_one_y, values, count);
        } else {
            row64(x, y, has_one_y, values, count);
        }
    }
};

/// All of them.
const std::vector<RuleFunction>& rule_functions();
/// The one of that name, or nullptr: `-` of one part is a sign, of two a difference.
const RuleFunction* find_rule_function(std::string_view name, std::size_t arity);

}  // namespace attn
