#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attn {

/// The type of an expression: any number, an integer, or a boolean, which counts as 1 or 0.
enum class RuleType { number, whole, truth };

/// A function or an operator of rules, with all its properties.
struct RuleFunction {
    enum class Kind { called, sign, comparison, logic };

    const char* name;
    std::size_t arity;
    Kind kind;
    /// Its derivatives by x and by y: each a sum of terms in x, y and the value v, in the notation
    /// of rules; empty if it is 0.
    std::vector<const char*> by_x, by_y;
    /// Its names in torch and numpy, or an expression with `{}` for x; null if there is none.
    const char* torch;
    const char* numpy;
    double (*value)(double x, double y);
    template <class T>
    using Row = void (*)(const T* x, const T* y, bool has_one_y, T* values, std::size_t count);
    Row<float> row32;
    Row<double> row64;

    /// Computes the values for each x with its y, or with the first y. `values` may be x itself.
    template <class T>
    void row(const T* x, const T* y, bool has_one_y, T* values, std::size_t count) const {
        if constexpr (std::is_same_v<T, float>) {
            row32(x, y, has_one_y, values, count);
        } else {
            row64(x, y, has_one_y, values, count);
        }
    }
};

/// Returns all of them.
const std::vector<RuleFunction>& rule_functions();
/// Returns the function of that name, or nullptr: `-` with one part is a sign, with two a
/// difference.
const RuleFunction* find_rule_function(std::string_view name, std::size_t arity);

}  // namespace attn
